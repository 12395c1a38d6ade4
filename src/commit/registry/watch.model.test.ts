/**
 * Whole registry, real store, virtual time: concurrent writers, slow watchers, tiny rings, restarts and
 * compaction. A watcher can rebuild the state from its events, or gets 410.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ApiError } from "#api/status.ts";
import type { WatchItem, WatchSink } from "#watch/watch-item.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { Revision } from "#store/store.ts";
import { configMap, newWorld, openRegistry, outcome, plainWrite, put } from "./testing/fixture.ts";
import type { World } from "./testing/fixture.ts";
import type { ResourceStore, ResourceWatch } from "./resource-store.ts";

/** Applies events to a copy of the state it started with, complaining about anything out of place. */
class Replica implements WatchSink {
  readonly state: Map<string, string>;
  watch: ResourceWatch | undefined;
  expired = false;
  room = 0;
  #last: number;

  constructor(state: ReadonlyMap<string, string>, revision: number) {
    this.state = new Map(state);
    this.#last = revision;
  }

  deliver(items: readonly WatchItem[]): boolean {
    if (this.room <= 0) return false;
    this.room -= items.length;
    for (const item of items) this.#apply(item);
    return true;
  }

  end(error?: Error): void {
    assert.ok(error instanceof ApiError && error.code === 410, String(error));
    this.expired = true;
  }

  #apply({ type, object, resourceVersion }: WatchItem): void {
    const revision = Number(resourceVersion);
    assert.ok(object === undefined ? revision >= this.#last : revision > this.#last, "order");
    this.#last = revision;
    if (object === undefined) return;
    const key = `${object.namespace}/${object.name}`;
    assert.equal(type === "ADDED", !this.state.has(key), `${type} ${key}`);
    assert.equal(object.resourceVersion, resourceVersion);
    if (type === "DELETED") this.state.delete(key);
    else this.state.set(key, resourceVersion);
  }
}

function stateOf(maps: ResourceStore): Map<string, string> {
  const entries = maps.peekList("").map((o) => [`${o.namespace}/${o.name}`, o.resourceVersion]);
  return new Map(entries as [string, string][]);
}

const key = fc.record({
  namespace: fc.constantFrom("a", "b"),
  name: fc.constantFrom("x", "y", "z"),
});
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant("write"), keys: fc.array(key, { maxLength: 4 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("delete"), keys: fc.array(key, { maxLength: 3 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("watch"), room: fc.nat(3) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("room"), room: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact"), back: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("time") }) },
);

interface Step {
  readonly do: string;
  readonly keys?: readonly { readonly namespace: string; readonly name: string }[];
  readonly room?: number;
  readonly back?: number;
}

interface Run {
  readonly world: World;
  current: Pick<World, "registry" | "resource">;
  maps: ResourceStore;
  readonly options: { readonly ringItemsMax: number };
  /** States by revision, for replicas to start from. */
  readonly states: Map<number, Map<string, string>>;
  replicas: Replica[];
  count: number;
}

async function take(run: Run, each: Step): Promise<void> {
  const { maps, world } = run;
  switch (each.do) {
    case "write":
      await Promise.all((each.keys ?? []).map((at) => writeOne(run, at.namespace, at.name)));
      break;
    case "delete":
      await Promise.all(
        (each.keys ?? []).map((at) => outcome(maps.delete(at.namespace, at.name, {}, plainWrite))),
      );
      break;
    case "watch":
      await startReplica(run, each.room ?? 0);
      break;
    case "room":
      for (const replica of run.replicas) giveRoom(replica, each.room ?? 0);
      break;
    case "compact":
      await world.store.compact(
        Math.max(1, run.current.registry.revision - (each.back ?? 0)) as Revision,
      );
      break;
    case "restart":
      run.current = openRegistry({ ...world, random: new FakeRandom(3) }, run.options);
      run.maps = run.current.resource("configmaps");
      break;
    default:
      await world.clock.advance(5_000);
  }
  run.states.set(run.current.registry.revision, stateOf(run.maps));
}

async function writeOne(run: Run, namespace: string, name: string): Promise<void> {
  const data = { n: String(run.count++) };
  const made = await put(run.maps, `${namespace}/${name}`, () => configMap(name, { data }), {
    createIfMissing: true,
  });
  const seen = run.maps.peek(namespace, name);
  assert.ok(
    seen === undefined || seen.revision >= Number(made.object.resourceVersion),
    "read your write",
  );
}

/** From the oldest state remembered: the watch has to come a long way. */
async function startReplica(run: Run, room: number): Promise<void> {
  const [revision, state] = [...run.states].at(-3) ?? [...run.states][0] ?? [1, new Map()];
  const replica = new Replica(state, revision);
  replica.room = room;
  const options = { allowBookmarks: true, resourceVersion: String(revision) };
  replica.watch = await run.maps.watch("", options, replica);
  run.replicas.push(replica);
}

function giveRoom(replica: Replica, room: number): void {
  replica.room = room;
  replica.watch?.resume();
}

void test("a replica fed by any watch equals the state, or is told 410, whatever happened between", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40, size: "max" }),
      fc.integer({ min: 1, max: 5 }),
      async (steps, ringItemsMax) => {
        const options = { ringItemsMax, pinnedMax: 2 };
        const world = await newWorld(options);
        const maps = world.resource("configmaps");
        const states = new Map([[1, new Map<string, string>()]]);
        const run: Run = { world, current: world, maps, options, states, replicas: [], count: 0 };
        for (const each of steps) await take(run, each);
        for (const replica of run.replicas) giveRoom(replica, Number.POSITIVE_INFINITY);
        await world.clock.advance(130_000);
        const wanted = stateOf(run.maps);
        for (const replica of run.replicas) {
          if (!replica.expired) assert.deepEqual(replica.state, wanted);
        }
      },
    ),
    { numRuns: 120 },
  );
});
