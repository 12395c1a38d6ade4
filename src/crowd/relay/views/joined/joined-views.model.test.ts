/**
 * Joined views at the door of relays whose streams are held back, cut and compacted, and that are started anew: at every
 * moment their rows are a join of what their mirrors hold; a reader that goes from replica to replica by changes alone
 * ends with the cluster's routes; and replicas agree on ETag and body.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AnyObject } from "#api/object.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { printRoute } from "#skipper/eskip-print.ts";
import { standardOptions } from "#skipper/options.ts";
import { naiveRoutes } from "#skipper/testing/naive-routes.ts";
import { relayLimits } from "../../limits.ts";
import { collectionPath } from "../../mirror/mirrored-kind.ts";
import { createRelay, type Relay } from "../../relay.ts";
import { ClusterTransport, FakeCluster } from "../../testing/fake-cluster.ts";
import { plainGet, relayDeps } from "../../testing/relay-fixture.ts";
import { bodyOf } from "../../testing/relay-world.ts";
import { type Choice, chosenKey, chosenObject, routedKinds } from "../../testing/routed-objects.ts";
import { parseViewFile } from "../view-definition.ts";

const paths = routedKinds.map(collectionPath);
const [services, slices, ingresses] = routedKinds;
const [shipped, declared] = parseViewFile(`
views:
  - {name: routes, shipped: skipper-routes}
  - name: declared
    resource: services
    joins:
      - {as: slices, resource: endpointslices, label: kubernetes.io/service-name}
      - {as: ingresses, resource: ingresses, field: ".spec.rules[*].http.paths[*].backend.service.name"}
    text: "{.metadata.namespace}/{.metadata.name}: {.joins.slices[*].metadata.name} {.joins.ingresses[*].metadata.name}"
`);
const numRuns = Number(process.env["PILOTHOUSE_RUNS"] ?? 12);

class Replica {
  readonly clock = new FakeClock();
  /** Not that of the other replica. */
  readonly #random: FakeRandom;
  readonly #cluster: FakeCluster;
  transport: ClusterTransport;
  relay: Relay;

  constructor(cluster: FakeCluster, seed: number) {
    this.#random = new FakeRandom(seed);
    this.#cluster = cluster;
    this.transport = new ClusterTransport(cluster);
    this.relay = this.#start();
  }

  async restart(): Promise<void> {
    await this.stop();
    this.transport = new ClusterTransport(this.#cluster);
    this.relay = this.#start();
    await this.clock.advance(1);
  }

  async stop(): Promise<void> {
    const stopped = this.relay.stop();
    this.transport.cut();
    await this.clock.advance(100_000);
    await stopped;
  }

  /** Ends the faults: everything is sent, and lost events are fetched again. */
  async converge(): Promise<void> {
    this.transport.down = false;
    for (let round = 0; round < 4; round++) {
      await this.clock.advance(60_000);
      this.transport.deliver();
      await this.clock.advance(1);
    }
  }

  async get(target: string): ReturnType<typeof bodyOf> {
    const answer = this.relay.handler(plainGet(target));
    await this.clock.advance(500);
    return bodyOf(await answer);
  }

  /** What its mirrors hold. */
  objects(): readonly AnyObject[] {
    const objects: AnyObject[] = [];
    for (const { mirror } of this.relay.resources) {
      mirror.flush();
      mirror.cache.state.scan("", "\xff", ({ object }) => {
        objects.push(object);
        return true;
      });
    }
    return objects;
  }

  #start(): Relay {
    assert(shipped !== undefined && declared !== undefined);
    const deps = { ...relayDeps(this.clock, this.transport), random: this.#random };
    return createRelay(deps, {
      resources: routedKinds,
      views: [
        { definition: shipped, kind: services, joined: routedKinds.slice(1) },
        { definition: declared, kind: services, joined: [slices, ingresses] },
      ],
      consistency: "cache",
      limits: { ...relayLimits, flushMs: 0, rowsPerTurn: 2, joinedChangesMax: 40 },
    });
  }
}

/** A naive join of everything. */
const oracles: Readonly<Record<string, (objects: readonly AnyObject[]) => readonly string[]>> = {
  routes: linesOf,
  declared: declaredLines,
};

function declaredLines(objects: readonly AnyObject[]): readonly string[] {
  const sorted = objects.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  const names = (kind: string, service: AnyObject, isFound: (one: AnyObject) => boolean): string =>
    sorted
      .filter((one) => one.kind === kind && namespaceOf(one) === namespaceOf(service))
      .filter(isFound)
      .map(nameOf)
      .join(" ");
  const lines = sorted
    .filter(({ kind }) => kind === "Service")
    .map((service) => {
      const name = nameOf(service);
      const bySlice = names(
        "EndpointSlice",
        service,
        ({ metadata }) => metadata?.labels?.["kubernetes.io/service-name"] === name,
      );
      const byIngress = names("Ingress", service, (one) =>
        JSON.stringify(one["spec"]).includes(`"service":{"name":"${name}"`),
      );
      return `${placeOf(service)}: ${bySlice} ${byIngress}\n`;
    });
  return lines.sort();
}

function namespaceOf({ metadata }: AnyObject): string {
  return metadata?.namespace ?? "";
}

function nameOf({ metadata }: AnyObject): string {
  return metadata?.name ?? "";
}

function placeOf(object: AnyObject): string {
  return `${namespaceOf(object)}/${nameOf(object)}`;
}

function linesOf(objects: readonly unknown[]): readonly string[] {
  return naiveRoutes(objects, standardOptions).map((route) => printRoute(route, { zones: false }));
}

/** A reader that keeps rows by name. */
class Reader {
  readonly rows = new Map<string, string>();
  #position = "";

  get lines(): readonly string[] {
    return [...this.rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  }

  async read(replica: Replica): Promise<void> {
    const target = this.#position === "" ? "" : `?since=${this.#position}`;
    const answer = await replica.get(`/views/routes${target}`);
    if (answer.status === 503) return;
    if (answer.status === 410) {
      this.#position = "";
      return this.read(replica);
    }
    assert.equal(answer.status, 200, answer.text);
    if (target === "") this.rows.clear();
    this.#take(target === "" ? wholeOf(answer.text) : (JSON.parse(answer.text) as Changes));
    this.#position = String(answer.headers["x-revision"]);
  }

  #take({ items, deleted }: Changes): void {
    for (const { name } of deleted) this.rows.delete(name);
    for (const { name, text } of items) this.rows.set(name, text);
  }
}

interface Changes {
  readonly items: readonly { readonly name: string; readonly text: string }[];
  readonly deleted: readonly { readonly name: string }[];
}

function wholeOf(text: string): Changes {
  const lines = text.split("\n").filter((line) => line !== "");
  return {
    items: lines.map((line) => ({ name: line.split(":")[0] ?? "", text: `${line}\n` })),
    deleted: [],
  };
}

type Command =
  | { readonly do: "put" | "delete"; readonly choice: Choice }
  | { readonly do: "deliver"; readonly at: number; readonly path: number; readonly count: number }
  | { readonly do: "cut"; readonly at: number; readonly path: number }
  | { readonly do: "compact" | "restart" | "read" | "look"; readonly at: number }
  | { readonly do: "down"; readonly at: number; readonly isDown: boolean }
  | { readonly do: "time"; readonly at: number; readonly ms: number };

const at = fc.integer({ min: 0, max: 1 });
const path = fc.integer({ min: 0, max: 3 });
const choice = fc.record({
  kind: fc.integer({ min: 0, max: 3 }),
  which: fc.integer({ min: 0, max: 4 }),
  variant: fc.integer({ min: 0, max: 5 }),
});
const command: fc.Arbitrary<Command> = fc.oneof(
  { arbitrary: fc.record({ do: fc.constant("put" as const), choice }), weight: 8 },
  { arbitrary: fc.record({ do: fc.constant("delete" as const), choice }), weight: 2 },
  {
    arbitrary: fc.record({
      do: fc.constant("deliver" as const),
      at,
      path,
      count: fc.integer({ min: 1, max: 4 }),
    }),
    weight: 8,
  },
  { arbitrary: fc.record({ do: fc.constant("cut" as const), at, path }), weight: 1 },
  {
    arbitrary: fc.record({ do: fc.constantFrom("read" as const, "look" as const), at }),
    weight: 5,
  },
  {
    arbitrary: fc.record({ do: fc.constantFrom("compact" as const, "restart" as const), at }),
    weight: 1,
  },
  {
    arbitrary: fc.record({ do: fc.constant("down" as const), at, isDown: fc.boolean() }),
    weight: 1,
  },
  {
    arbitrary: fc.record({
      do: fc.constant("time" as const),
      at,
      ms: fc.constantFrom(0, 10, 4_000),
    }),
    weight: 2,
  },
);

async function run(
  one: Command,
  cluster: FakeCluster,
  replicas: readonly Replica[],
  reader: Reader,
): Promise<void> {
  if ("choice" in one) {
    const path = paths[one.choice.kind] ?? "";
    if (one.do === "put") cluster.put(path, chosenObject(one.choice));
    else cluster.remove(path, chosenKey(one.choice));
    return;
  }
  const replica = replicas[one.at];
  assert(replica !== undefined);
  switch (one.do) {
    case "deliver":
      replica.transport.deliver(paths[one.path], one.count);
      return replica.clock.advance(1);
    case "cut":
      replica.transport.cut(paths[one.path]);
      return replica.clock.advance(1);
    case "compact":
      replica.transport.compacted = cluster.revision;
      return;
    case "restart":
      return replica.restart();
    case "down":
      replica.transport.down = one.isDown;
      return;
    case "time":
      return replica.clock.advance(one.ms);
    case "read":
      return reader.read(replica);
    case "look":
      return look(replica);
    default:
      one satisfies never;
  }
}

/** What is served is a join of what is mirrored at that moment. */
async function look(replica: Replica): Promise<void> {
  for (const [name, oracle] of Object.entries(oracles)) {
    const answer = replica.relay.handler(plainGet(`/views/${name}`));
    await replica.clock.advance(0);
    // Nothing is delivered meanwhile, so the mirrors are as the view was.
    await replica.clock.advance(500);
    const { status, text } = await bodyOf(await answer);
    if (status === 503) continue;
    assert.equal(text, oracle(replica.objects()).join(""), name);
  }
}

/** Both serve the cluster's state, with one ETag. */
async function agree(cluster: FakeCluster, replicas: readonly Replica[]): Promise<void> {
  for (const [name, oracle] of Object.entries(oracles)) {
    const end = oracle(cluster.objects()).join("");
    const [a, b] = await Promise.all(replicas.map((replica) => replica.get(`/views/${name}`)));
    assert.equal(a?.text, end, `the first replica's ${name}`);
    assert.equal(b?.text, end, `the second replica's ${name}`);
    assert.equal(a?.headers["etag"], b?.headers["etag"], name);
  }
}

void describe("joined views of two replicas", () => {
  void it("are a join of what is mirrored, and of the cluster in the end, whatever happens to the streams", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { minLength: 60, maxLength: 150, size: "max" }),
        async (commands) => {
          const cluster = new FakeCluster();
          const replicas = [new Replica(cluster, 3), new Replica(cluster, 4)];
          const reader = new Reader();
          for (const { clock } of replicas) await clock.advance(1);
          for (const one of commands) await run(one, cluster, replicas, reader);
          for (const replica of replicas) await replica.converge();
          await agree(cluster, replicas);
          const end = linesOf(cluster.objects());
          for (const replica of replicas) {
            await reader.read(replica);
            assert.deepEqual(reader.lines, end, "a reader by changes");
          }
          for (const replica of replicas) await replica.stop();
        },
      ),
      { numRuns },
    );
  });
});
