/**
 * The client library through kills: informers on a plane with its data on disk and on a relay before it,
 * both killed (SIGKILL) and started again in turn while writers write. At the end each informer's copy,
 * and what its handlers saw, must be what the server lists.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { ConfigMap } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import { connect, type Connection } from "#cmd/connect.ts";
import { removeDirectory, startUp, temporaryDirectory, type Running } from "./harness.ts";
import { type RunningRelay, startRelay } from "./relay-harness.ts";

export interface DrillReport {
  readonly restarts: number;
  readonly relayKills: number;
  readonly writes: number;
  readonly events: number;
  /** Differences between a copy, or what its handlers saw, and the server; empty: none missed. */
  readonly missed: readonly string[];
}

const configMaps = { group: "", version: "v1", resource: "configmaps" };
const encodings = ["json", "protobuf"] as const;
const namespace = "default";
const writers = 8;
/** Acknowledged writes between two kills. */
const writesBetween = 200;
const catchUpMsMax = 60_000;
const retryMs = 20;
const prefix = "drill-";
/** Writes from an object's creation to its deletion. */
const stepsOfLife = 20;

/** By name: the version that a copy, handlers or the server has. */
type Versions = ReadonlyMap<string, string>;

/** `restarts` of the plane, and as many kills of the relay. */
export async function clientDrill(restarts: number): Promise<DrillReport> {
  const directory = temporaryDirectory("client-drill");
  const servers = await Servers.start(directory);
  const connections = await Promise.all(
    [servers.plane, servers.relay].flatMap(({ kubeconfig }) =>
      encodings.map((encoding) => connect({ kubeconfig, encoding, logLevel: "error" })),
    ),
  );
  const [direct] = connections as [Connection];
  const stop = new AbortController();
  const followers = connections.flatMap(followersOf);
  const running = connections.map(({ informers }) => informers.run(stop.signal));
  await Promise.all(followers.map(({ informer }) => informer.synced));
  const writing = new Writing(direct.client);
  for (let kill = 0; kill < 2 * restarts; kill++) {
    await writing.reached(writing.acknowledged + writesBetween);
    await (kill % 2 === 0 ? servers.restartPlane() : servers.restartRelay());
  }
  await writing.reached(writing.acknowledged + writesBetween);
  await writing.stop();
  const listed = await direct.client.list<ConfigMap>(configMaps, { namespace });
  const truth = versionsOf(listed.items);
  const missed = (await Promise.all(followers.map((each) => each.missed(truth)))).flat();
  stop.abort();
  await Promise.all(running);
  for (const connection of connections) connection.close();
  await servers.stop();
  removeDirectory(directory);
  return {
    restarts,
    relayKills: restarts,
    writes: writing.acknowledged,
    events: followers.reduce((sum, { events }) => sum + events, 0),
    missed,
  };
}

/** A list, a list as a watch, and metadata alone, in each encoding of a server. */
function followersOf({ informers, server }: Connection, at: number): readonly Follower[] {
  const forms = { whole: {}, streamed: { watchList: true, labelSelector: "of=drill" } };
  const all = { ...forms, metadata: { metadataOnly: true } };
  return Object.entries(all).map(([form, more]) => {
    const informer = informers.informer<ConfigMap>(configMaps, { namespace, ...more });
    const peer = at < encodings.length ? "plane" : "relay";
    const encoding = encodings[at % encodings.length];
    return new Follower(`${peer} ${server} ${encoding} ${form}`, informer);
  });
}

/** An informer, and the state that its handlers make of its events. */
class Follower {
  readonly informer: Informer<ConfigMap>;
  events = 0;
  readonly #name: string;
  readonly #seen = new Map<string, string>();
  readonly #faults: string[] = [];

  constructor(name: string, informer: Informer<ConfigMap>) {
    this.#name = name;
    this.informer = informer;
    informer.addHandler({
      add: (object) => this.#tell(object),
      update: (_old, object) => this.#tell(object),
      delete: (object) => this.#tell(object, true),
    });
  }

  /** What differs from `truth` when it has had time to catch up. */
  async missed(truth: Versions): Promise<readonly string[]> {
    const endMs = performance.now() + catchUpMsMax;
    while (this.#differences(truth).length > 0 && performance.now() < endMs) await pause(retryMs);
    return [...this.#faults, ...this.#differences(truth)];
  }

  #tell(object: ConfigMap, isGone = false): void {
    this.events++;
    const { name = "", resourceVersion = "" } = object.metadata ?? {};
    const before = Number(this.#seen.get(name) ?? 0);
    if (Number(resourceVersion) < before) this.#faults.push(`${this.#name}: ${name} went back`);
    if (isGone) this.#seen.delete(name);
    else this.#seen.set(name, resourceVersion);
  }

  #differences(truth: Versions): readonly string[] {
    const held = versionsOf(this.informer.list());
    const seen = new Map([...this.#seen].filter(([name]) => name.startsWith(prefix)));
    return [
      ...differences(`${this.#name}: held`, held, truth),
      ...differences(`${this.#name}: seen`, seen, truth),
    ];
  }
}

function versionsOf(objects: readonly ConfigMap[]): Versions {
  const named = objects.map(({ metadata }) => [
    metadata?.name ?? "",
    metadata?.resourceVersion ?? "",
  ]);
  return new Map(named.filter(([name = ""]) => name.startsWith(prefix)) as [string, string][]);
}

function differences(what: string, held: Versions, truth: Versions): readonly string[] {
  const names = new Set([...held.keys(), ...truth.keys()]);
  return [...names]
    .filter((name) => held.get(name) !== truth.get(name))
    .map((name) => `${what} ${name}@${held.get(name)}, server ${truth.get(name)}`);
}

/** Writers, each with an object of its own that it makes, changes and deletes; a refused write is tried again. */
class Writing {
  acknowledged = 0;
  readonly #client: Client;
  readonly #ended: Promise<unknown>;
  readonly #waits: { readonly count: number; readonly resolve: () => void }[] = [];
  #isOver = false;

  constructor(client: Client) {
    this.#client = client;
    const names = Array.from({ length: writers }, (_, at) => `${prefix}${at}`);
    this.#ended = Promise.all(names.map((name) => this.#write(name)));
  }

  /** Resolves with the `count`th acknowledged write. */
  reached(count: number): Promise<void> {
    return new Promise((resolve) => this.#waits.push({ count, resolve }));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }

  async #write(name: string): Promise<void> {
    for (let n = 0; !this.#isOver; n++) {
      try {
        await this.#step(name, n);
      } catch {
        // The plane is away, or what was cut was done: a create finds it there, a delete does not.
        await pause(retryMs);
        continue;
      }
      this.acknowledged++;
      for (const { count, resolve } of this.#waits) if (this.acknowledged >= count) resolve();
    }
  }

  async #step(name: string, n: number): Promise<void> {
    const step = n % stepsOfLife;
    const metadata = { name, labels: { of: "drill" } };
    const data = { n: String(n) };
    if (step === 0) await this.#client.create<ConfigMap>(configMaps, namespace, { metadata, data });
    else if (step === stepsOfLife - 1) await this.#client.delete(configMaps, namespace, name);
    else await this.#client.patch(configMaps, namespace, name, "merge", { data });
  }
}

/** The plane and the relay before it, which keep their ports. */
class Servers {
  plane: Running;
  relay: RunningRelay;
  readonly #directory: string;

  private constructor(directory: string, plane: Running, relay: RunningRelay) {
    this.#directory = directory;
    this.plane = plane;
    this.relay = relay;
  }

  static async start(directory: string): Promise<Servers> {
    const plane = await startPlane(directory, "0");
    return new Servers(directory, plane, await startRelayOn(directory, plane, "0"));
  }

  async restartPlane(): Promise<void> {
    await this.plane.kill();
    this.plane = await startPlane(this.#directory, new URL(this.plane.url).port);
  }

  async restartRelay(): Promise<void> {
    await this.relay.kill();
    const { port } = new URL(this.relay.url);
    this.relay = await startRelayOn(this.#directory, this.plane, port);
  }

  async stop(): Promise<void> {
    await this.relay.kill();
    await this.plane.stop();
  }
}

function startPlane(directory: string, port: string): Promise<Running> {
  const data = ["--data-dir", join(directory, "data")];
  return startUp([...data, "--port", port, "--nodes", "0"]);
}

function startRelayOn(directory: string, plane: Running, port: string): Promise<RunningRelay> {
  const args = ["--resources", "configmaps,namespaces", "--listen", `127.0.0.1:${port}`];
  const pki = join(directory, "data", "pki");
  return startRelay({ kubeconfig: plane.kubeconfig, directory, name: "relay", pki, args });
}
