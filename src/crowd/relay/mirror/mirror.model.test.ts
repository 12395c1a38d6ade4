/**
 * The guarantees of a watch, on caches that a relay feeds from an upstream whose streams are cut,
 * repeated, delayed, reordered, and whose history is compacted - against the upstream's own history.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Pace } from "#platform/pace.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { MemoPool } from "#forms/memo-pool.ts";
import { everything, TestSink } from "#watch/testing/feed.ts";
import type { WatchItem } from "#watch/watch-item.ts";
import { relayLimits } from "../limits.ts";
import { Mirror } from "./mirror.ts";
import { type FakeEvent, FakeUpstream, podKind } from "../testing/fake-upstream.ts";
import { Upstream } from "./upstream.ts";
import { objectsForm } from "../views/view-form.ts";
import { View } from "../views/view.ts";

const limits = {
  ...relayLimits,
  pageObjects: 3,
  listStepsPerTurn: 2,
  flushMs: 0,
  ringItemsMax: 1000,
};
/** fast-check prints the seed of a run that fails; thousands of runs are a command of their own. */
const numRuns = Number(process.env["PILOTHOUSE_RUNS"] ?? 40);

class Replica {
  readonly clock = new FakeClock();
  readonly fake: FakeUpstream;
  readonly mirror: Mirror;
  readonly upstream: Upstream;
  readonly stopping = new AbortController();
  readonly running: Promise<void>;

  constructor(fake: FakeUpstream, seed: number) {
    const { clock } = this;
    this.fake = fake;
    this.mirror = new Mirror(
      { clock, memos: new MemoPool({ bytesMax: 1 << 20 }) },
      podKind,
      limits,
    );
    const deps = {
      clock,
      log: silentLog,
      random: new FakeRandom(seed),
      http: fake,
      headers: () => ({}),
    };
    this.upstream = new Upstream(deps, this.mirror, limits);
    this.running = this.upstream.run(this.stopping.signal);
  }

  /** Ends the faults: everything is sent, and lost events are fetched again. */
  async converge(): Promise<void> {
    this.fake.down = false;
    for (let round = 0; round < 6; round++) {
      await this.clock.advance(60_000);
      this.fake.bookmark();
      this.fake.deliver(10_000);
      await this.clock.advance(1);
    }
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.fake.close();
    await this.clock.advance(100_000);
    await this.running;
  }
}

type Label = string | undefined;
type State = Map<string, { label: Label; revision: string }>;

/** A client's local copy: its earlier state plus the watch items since. */
function replay(state: State, items: readonly WatchItem[]): State {
  for (const { type, object } of items) {
    if (object === undefined) continue;
    const key = `${object.namespace}/${object.name}`;
    if (type === "DELETED") state.delete(key);
    else state.set(key, { label: object.labels["v"], revision: object.resourceVersion });
  }
  return state;
}

function truth(fake: FakeUpstream, revision: number): State {
  const state: State = new Map();
  for (const [key, object] of fake.stateAt(revision)) {
    state.set(key, { label: object.label, revision: String(object.revision) });
  }
  return state;
}

function held(mirror: Mirror): State {
  const state: State = new Map();
  mirror.cache.state.scan("", "\xff", (object) => {
    state.set(object.key, { label: object.labels["v"], revision: object.resourceVersion });
    return true;
  });
  return state;
}

type Command =
  | { readonly kind: "write"; readonly keys: readonly number[]; readonly label: Label }
  | {
      readonly kind:
        | "skip"
        | "enqueue"
        | "bookmark"
        | "compact"
        | "watch"
        | "swap"
        | "verify"
        | "told";
    }
  | { readonly kind: "deliver"; readonly count: number; readonly torn: boolean }
  | { readonly kind: "repeat"; readonly count: number }
  | { readonly kind: "cut"; readonly clean: boolean }
  | { readonly kind: "down"; readonly down: boolean }
  | { readonly kind: "time"; readonly ms: number };

const key = fc.integer({ min: 0, max: 7 });
const label = fc.option(fc.constantFrom("1", "2", "3"), { nil: undefined });
const calm: fc.Arbitrary<Command>[] = [
  fc.record({
    kind: fc.constant("write" as const),
    // Of several objects: as events expire.
    keys: fc.array(key, { minLength: 1, maxLength: 3 }),
    label,
  }),
  fc.record({
    kind: fc.constant("write" as const),
    keys: fc.array(key, { minLength: 1, maxLength: 1 }),
    label,
  }),
  fc.record({
    kind: fc.constantFrom(
      "skip" as const,
      "enqueue" as const,
      "bookmark" as const,
      "watch" as const,
      "told" as const,
    ),
  }),
  fc.record({
    kind: fc.constant("deliver" as const),
    count: fc.integer({ min: 1, max: 9 }),
    torn: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("repeat" as const), count: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant("cut" as const), clean: fc.boolean() }),
  fc.record({ kind: fc.constant("down" as const), down: fc.boolean() }),
  fc.record({ kind: fc.constant("time" as const), ms: fc.constantFrom(0, 10, 1000, 60_000) }),
];
const wild: fc.Arbitrary<Command>[] = [
  ...calm,
  fc.record({ kind: fc.constantFrom("compact" as const, "verify" as const) }),
];
const broken: fc.Arbitrary<Command>[] = [
  ...wild,
  fc.record({ kind: fc.constant("swap" as const) }),
];

interface Watcher {
  readonly sink: TestSink;
  readonly start: number;
  /** It began at a revision of which more might have been on its way. */
  readonly open: boolean;
  /** What a list beside the start of the watch showed. */
  readonly listed: State;
  /** The parts of a split revision that the relay had not received by then. */
  readonly unheard: readonly FakeEvent[];
}

async function run(replica: Replica, command: Command, watchers: Watcher[]): Promise<void> {
  const { fake, mirror, upstream } = replica;
  switch (command.kind) {
    case "write":
      fake.write(
        ...[...new Set(command.keys)].map((k) => [`ns${k % 2}/p${k}`, command.label] as const),
      );
      return;
    case "skip":
      return fake.skip();
    case "enqueue":
      return fake.enqueue();
    case "bookmark":
      return fake.bookmark();
    case "compact":
      return fake.compact();
    case "told":
      return mirror.bookmark(0, 1);
    case "swap":
      return fake.swap();
    case "deliver":
      return fake.deliver(command.count, command.torn);
    case "repeat":
      return fake.repeat(command.count);
    case "cut":
      fake.cut(command.clean);
      return replica.clock.advance(0);
    case "down":
      fake.down = command.down;
      return;
    case "time":
      // A frame may be late, but not forever: beyond the overlap the loss cannot be detected.
      if (command.ms >= limits.overlapMs) fake.deliver(10_000);
      return replica.clock.advance(command.ms);
    case "watch": {
      if (!mirror.ready) return;
      const sink = new TestSink();
      const after = mirror.proven;
      mirror.cache.watch({ predicate: everything, bookmarks: true, start: { after } }, sink);
      const listed = held(mirror);
      const unheard = fake.events.filter(
        (event) => event.revision === after && !shows(listed, event),
      );
      const open = mirror.open && after === mirror.revision;
      watchers.push({ sink, start: after, open, listed, unheard });
      return;
    }
    case "verify": {
      if (!mirror.ready || fake.down) return;
      const listing = await upstream.list(replica.stopping.signal);
      // Taken in several turns of the loop: events and other commands come in between.
      void mirror.verify(listing.objects, listing.revision);
      return;
    }
    default:
      command satisfies never;
  }
}

/** Whether a list of this state has the change in it already. */
function shows(listed: State, { key, revision, type }: FakeEvent): boolean {
  const there = listed.get(key);
  if (there === undefined) return type === "DELETED";
  return Number(there.revision) >= revision;
}

function isOf({ object, resourceVersion }: WatchItem, event: FakeEvent): boolean {
  const key = `${object?.namespace}/${object?.name}`;
  return key === event.key && resourceVersion === String(event.revision);
}

function checkOrder(items: readonly WatchItem[], strict: boolean): void {
  const seen = new Map<string, number>();
  let bookmark = 0;
  let last = 0;
  for (const { type, object, resourceVersion } of items) {
    const revision = Number(resourceVersion);
    if (type === "BOOKMARK") {
      assert.ok(revision >= last || !strict, `bookmark ${revision} after ${last}`);
      bookmark = revision;
      continue;
    }
    assert.ok(object !== undefined);
    const at = `${type} ${object.namespace}/${object.name}@${revision}`;
    assert.ok(revision > (seen.get(`${object.namespace}/${object.name}`) ?? 0), `${at} again`);
    seen.set(`${object.namespace}/${object.name}`, revision);
    if (!strict) continue;
    assert.ok(revision >= last, `${at} after ${last}`);
    assert.ok(revision > bookmark, `${at} after a bookmark at ${bookmark}`);
    last = revision;
  }
}

function property(
  commands: fc.Arbitrary<Command>[],
  check: (replica: Replica, watchers: readonly Watcher[]) => void,
) {
  return fc.asyncProperty(
    fc.array(fc.oneof(...commands), { minLength: 5, maxLength: 40 }),
    fc.integer({ min: 1, max: 1 << 30 }),
    async (list, seed) => {
      const replica = new Replica(new FakeUpstream(), seed);
      const watchers: Watcher[] = [];
      await replica.clock.advance(1);
      for (const command of list) await run(replica, command, watchers);
      await replica.converge();
      check(replica, watchers);
      await replica.stop();
    },
  );
}

function checkConverged({ fake, mirror }: Replica, watchers: readonly Watcher[]): void {
  const end = truth(fake, fake.revision);
  const state = held(mirror);
  assert.deepEqual(
    new Map([...state].sort()),
    new Map([...end].sort()),
    "the mirror is the upstream",
  );
  assert.equal(mirror.revision, fake.revision);
  for (const { sink, start, open, listed } of watchers) {
    if (sink.ended) {
      assert.ok(open && mirror.refusal(start) !== undefined, `sent away, begun at ${start}`);
      continue;
    }
    const copy = replay(listed, sink.items);
    assert.deepEqual(
      new Map([...copy].sort()),
      new Map([...end].sort()),
      `a watcher since ${start}`,
    );
  }
}

/** A client with the true state at r, from any replica, may resume here at r, or gets 410. */
function checkResume({ fake, mirror }: Replica): void {
  const end = truth(fake, fake.revision);
  for (let r = 1; r <= fake.revision; r++) {
    if (mirror.refusal(r) !== undefined) continue;
    const sink = new TestSink();
    const start = { after: r };
    mirror.cache.watch({ predicate: everything, bookmarks: false, start }, sink).close();
    const copy = replay(truth(fake, r), sink.items);
    assert.deepEqual(
      new Map([...copy].sort()),
      new Map([...end].sort()),
      `a client resuming at ${r}`,
    );
  }
}

void describe("a mirror whose upstream keeps its order", () => {
  void it("gives every event once, in order, without another list, however streams are cut or repeated", async () => {
    await fc.assert(
      property(calm, (replica, watchers) => {
        checkConverged(replica, watchers);
        checkResume(replica);
        assert.equal(replica.upstream.counts.lists <= 1 + replica.upstream.counts.failures, true);
        assert.equal(replica.mirror.counts.reconciled, 0, "cuts do not relist");
        for (const { sink, start, unheard } of watchers) {
          checkOrder(sink.items, true);
          // Parts of a split revision are delivered again to a watch that starts there.
          const again = replica.fake.events.filter(
            (event) => event.revision === start && !unheard.includes(event),
          );
          const seen = sink.items.filter(
            (item) => item.type !== "BOOKMARK" && !again.some((event) => isOf(item, event)),
          );
          const later = replica.fake.events.filter((event) => event.revision > start);
          const wanted = [...unheard, ...later];
          assert.deepEqual(
            seen.map(
              (item) =>
                `${item.type} ${item.object?.namespace}/${item.object?.name}@${item.resourceVersion}`,
            ),
            wanted.map((event) => `${event.type} ${event.key}@${event.revision}`),
          );
        }
      }),
      { numRuns },
    );
  });

  void it("takes the difference after a compaction, and tells nobody 410 but who would miss something", async () => {
    await fc.assert(
      property(wild, (replica, watchers) => {
        checkConverged(replica, watchers);
        checkResume(replica);
        for (const { sink } of watchers) checkOrder(sink.items, true);
      }),
      { numRuns },
    );
  });
});

void describe("a mirror whose upstream breaks its order", () => {
  void it("finds out, and ends up with the truth without sending anybody away", async () => {
    await fc.assert(
      property(broken, (replica, watchers) => {
        checkConverged(replica, watchers);
        for (const { sink } of watchers) checkOrder(sink.items, false);
      }),
      { numRuns },
    );
  });
});

void describe("two replicas", () => {
  void it("agree on the digest and the bytes of a view, whatever happened to their streams", async () => {
    const commands = fc.array(fc.oneof(...wild), { minLength: 5, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(commands, commands, async (first, second) => {
        const bodies: string[] = [];
        const packed: string[] = [];
        const etags: string[] = [];
        for (const disturbance of [first, second]) {
          const replica = new Replica(new FakeUpstream(), 7);
          await replica.clock.advance(1);
          const { clock, mirror } = replica;
          const spec = { predicate: everything, form: objectsForm(podKind), zone: undefined };
          const view = new View({ clock, mirror }, spec, relayLimits);
          for (const command of disturbance) {
            if (command.kind !== "write") await run(replica, command, []);
          }
          // Both get the same writes; only the faults between them differed.
          replica.fake.revision = 1000;
          for (let k = 0; k < 6; k++) replica.fake.write([`ns/p${k}`, String(k)]);
          replica.fake.write(["ns/p2", undefined]);
          await replica.converge();
          const content = view.content("");
          etags.push(content.etag);
          bodies.push(Buffer.concat(await content.body.plain(new Pace(clock))).toString());
          packed.push(Buffer.from(await content.body.packed("gzip")).toString("hex"));
          assert.equal(content.count, 5);
          await replica.stop();
        }
        assert.equal(etags[0], etags[1]);
        assert.equal(bodies[0], bodies[1]);
        assert.equal(packed[0], packed[1]);
        assert.ok(bodies[0]?.includes('"big":9007199254740993'), "no number is rounded");
      }),
      { numRuns: Math.ceil(numRuns / 3) },
    );
  });
});
