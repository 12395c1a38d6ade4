/** API servers that come and go, and a crowd that writes and watches at whichever is there. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { FakeRandom } from "#platform/testing/random.ts";
import { credentialsOf, type Json, KubeHttp } from "./kube-http.ts";
import { type RunningRole, startRole } from "./role-harness.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

/** Where a crowd connects. */
export interface Reached {
  connect(): KubeHttp;
}

/** A server that comes back at its port. */
export class Server implements Reached {
  readonly #directory: string;
  readonly #args: readonly string[];
  #role: RunningRole | undefined;

  constructor(directory: string, port: number, etcd: string) {
    this.#directory = directory;
    const at = ["--data-dir", directory, "--secure-port", String(port)];
    this.#args = ["apiserver", ...at, "--etcd-servers", etcd];
  }

  async start(): Promise<void> {
    this.#role = await startRole(this.#args);
  }

  async kill(): Promise<void> {
    await this.#role?.kill();
  }

  connect(): KubeHttp {
    return new KubeHttp(credentialsOf(join(this.#directory, "kubeconfig")));
  }
}

/** Goes on at the next server when its watch is cut; never lists. */
class Watcher {
  readonly seen: string[] = [];
  resumed = -1;
  refused = 0;
  readonly #servers: readonly Reached[];
  #at: number;
  #revision: string;
  #http: KubeHttp | undefined;

  constructor(
    servers: readonly Reached[],
    at: number,
    { revision }: { readonly revision: string },
  ) {
    this.#servers = servers;
    this.#at = at;
    this.#revision = revision;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted || this.#http !== undefined) {
      this.resumed++;
      this.#http = this.#servers[this.#at++ % this.#servers.length]?.connect();
      const path = `${configMaps}?watch=true&allowWatchBookmarks=true&resourceVersion=${this.#revision}`;
      await this.#http?.watch(path, (event) => this.#see(event));
      if (signal.aborted) return;
      this.#http?.close();
      await pause(50);
    }
  }

  close(): void {
    this.#http?.close();
    this.#http = undefined;
  }

  #see({ type, object }: { readonly type: string; readonly object: Json }): void {
    if (type === "ERROR") return void this.refused++;
    this.#revision = String(object["metadata"]?.["resourceVersion"]);
    const name = String(object["metadata"]?.["name"]);
    if (type === "ADDED" && name.startsWith("w-")) this.seen.push(name);
  }
}

/** @returns the names that a server acknowledged. */
async function writeUntil(
  servers: readonly Reached[],
  writer: number,
  { signal }: AbortController,
): Promise<readonly string[]> {
  const acknowledged: string[] = [];
  let at = writer;
  let http = servers[at % servers.length]?.connect();
  for (let n = 0; !signal.aborted; n++) {
    const name = `w-${writer}-${n}`;
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
    const status = await http?.request("POST", configMaps, body).then(
      (answer) => answer.status,
      () => 0,
    );
    if (writeEveryMs > 0) await pause(writeEveryMs);
    if (status === 201) acknowledged.push(name);
    else {
      // The outcome is not known; the next name goes to the other server.
      http?.close();
      await pause(20);
      http = servers[++at % servers.length]?.connect();
    }
  }
  http?.close();
  return acknowledged;
}

async function listed(
  server: Reached | undefined,
): Promise<{ readonly names: readonly string[]; readonly revision: string }> {
  const http = server?.connect();
  const answer = await http?.request("GET", configMaps);
  http?.close();
  assert.equal(answer?.status, 200);
  const items = (answer.body["items"] ?? []) as readonly Json[];
  const names = items.map(({ metadata }) => String(metadata?.["name"]));
  return { names, revision: String(answer.body["metadata"]?.["resourceVersion"]) };
}

const toldMsMax = 20_000;

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function until(reached: () => boolean): Promise<void> {
  const end = performance.now() + toldMsMax;
  while (!reached()) {
    assert.ok(performance.now() < end, `watchers were told all within ${toldMsMax} ms`);
    await pause(25);
  }
}

const writers = Number(process.env["PILOTHOUSE_WRITERS"] ?? 4);
const watchers = Number(process.env["PILOTHOUSE_WATCHERS"] ?? 6);
/** Each write comes to every watcher: a large crowd shares one rate of writes. */
const writeEveryMs = watchers > 50 ? 10 * writers : 0;

/** Writers and watchers at all servers while `disturb` runs; then their books are compared. */
export async function runCrowd(
  servers: readonly Reached[],
  disturb: (random: FakeRandom) => Promise<void>,
  writersMin = writers,
): Promise<void> {
  const random = new FakeRandom(Number(process.env["PILOTHOUSE_SEED"] ?? 1));
  const stopped = new AbortController();
  const first = await listed(servers[0]);
  const following = Array.from({ length: watchers }, (_, at) => new Watcher(servers, at, first));
  const watching = following.map((watcher) => watcher.run(stopped.signal));
  const writing = Array.from({ length: Math.max(writers, writersMin) }, (_, at) =>
    writeUntil(servers, at, stopped),
  );
  await disturb(random);
  stopped.abort();
  const acknowledged = (await Promise.all(writing)).flat();
  assert.ok(acknowledged.length > 100, `${acknowledged.length} writes`);
  await compareCrowd(servers, acknowledged, following);
  await Promise.all(watching);
}

/** Asserts that no acknowledged write is lost, and that each watcher saw each write once, without a list. Closes them. */
async function compareCrowd(
  servers: readonly Reached[],
  acknowledged: readonly string[],
  following: readonly Watcher[],
): Promise<void> {
  const [first, ...others] = servers;
  const { names } = await listed(first);
  for (const server of others) {
    assert.deepEqual((await listed(server)).names, names, "all list the same");
  }
  const missing = acknowledged.filter((name) => !names.includes(name));
  assert.deepEqual(missing, [], "acknowledged and lost");
  const wanted = names.filter((name) => name.startsWith("w-")).toSorted();
  await until(() => following.every(({ seen }) => seen.length >= wanted.length));
  for (const watcher of following) {
    assert.deepEqual(watcher.seen.toSorted(), wanted, "each write once");
    assert.equal(watcher.refused, 0, "no watch was refused for its resourceVersion");
    watcher.close();
  }
  const resumed = following.reduce((sum, one) => sum + one.resumed, 0);
  assert.ok(resumed > 0, "watches were cut");
  console.log(
    `${acknowledged.length} writes acknowledged, ${following.length} watches resumed ${resumed} times: 0 lost, 0 twice, 0 gaps, 0 lists`,
  );
}
