/**
 * Measures the cost of the cache without sockets: loading, dispatch to many watchers, lists, reads of past states.
 * Run: node src/crowd/watch/dispatch.bench.ts [objects] [watchers]
 */
import type { AnyObject } from "#api/object.ts";
import { parseFieldSelector } from "#api/selectors/field-selector.ts";
import { parseLabelSelector } from "#api/selectors/label-selector.ts";
import { plainFieldValue } from "#api/selectors/selectable-fields.ts";
import type { Clock } from "#platform/clock.ts";
import { WatchCache } from "./cache.ts";
import { noHistory } from "./history.ts";
import { MemoPool } from "#forms/memo-pool.ts";
import { encodeObject, wireJson } from "#forms/object-bytes.ts";
import { compilePredicate } from "./predicate.ts";
import type { ObjectSource } from "#forms/shared-object.ts";
import { SharedObject } from "#forms/shared-object.ts";
import { testDelivery } from "./testing/feed.ts";
import type { WatchSink } from "./watch-item.ts";

const objectCount = Number(process.argv[2] ?? 50_000);
const watcherCount = Number(process.argv[3] ?? 5_000);
const nodeCount = 1_000;
const filler = "x".repeat(2_000);

const source: ObjectSource = {
  fieldValue: plainFieldValue,
  memos: new MemoPool({ bytesMax: 64 << 20 }),
  freeze: false,
};

function podBytes(i: number, node: string): Uint8Array {
  const object: AnyObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `pod-${i}`, namespace: `ns-${i % 100}`, labels: { app: `a${i % 50}` } },
    spec: { nodeName: node, filler },
  };
  return encodeObject(object);
}

function keyOf(i: number): string {
  return `ns-${i % 100}/pod-${i}`;
}

function timed(label: string, count: number, run: () => void): void {
  const start = performance.now();
  run();
  const ms = performance.now() - start;
  const each = ((ms * 1000) / count).toFixed(3);
  console.log(`${label.padEnd(58)} ${ms.toFixed(1).padStart(8)} ms ${each.padStart(9)} µs each`);
}

class CountingSink implements WatchSink {
  delivered = 0;
  deliver(items: readonly unknown[]): boolean {
    this.delivered += items.length;
    return true;
  }
  end(): void {}
}

const values = Array.from({ length: objectCount }, (_, i) => podBytes(i, `node-${i % nodeCount}`));
const order = values.map((_, i) => i).toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
const empty = new Uint8Array();
/** No delivery policy of this benchmark uses a timer. */
const clock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: () => ({ cancel() {} }),
};
let cache = new WatchCache({ clock, history: noHistory }, { objects: [], revision: 1 }, options());
let revision = 1;

function options(): ConstructorParameters<typeof WatchCache>[2] {
  return {
    ringItemsMax: 8192,
    ringBytesMax: 16 << 20,
    pinnedMax: 16,
    indexedField: "spec.nodeName",
    delivery: testDelivery,
  };
}

timed(`load ${objectCount} objects`, objectCount, () => {
  const objects = order.map((i) => new SharedObject(source, keyOf(i), values[i] ?? empty, 1));
  cache = new WatchCache({ clock, history: noHistory }, { objects, revision: 1 }, options());
});

function update(count: number): void {
  for (let n = 0; n < count; n++) {
    const i = (n * 7919) % objectCount;
    const next = new SharedObject(source, keyOf(i), values[i] ?? empty, ++revision);
    cache.apply(revision, [{ key: next.key, next }]);
  }
}

timed("apply, no watcher", 20_000, () => {
  for (let n = 0; n < 20_000; n++) {
    update(1);
    cache.dispatch();
  }
});

const sink = new CountingSink();
for (let w = 0; w < watcherCount; w++) {
  const fields = parseFieldSelector(`spec.nodeName=node-${w % nodeCount}`);
  const predicate = compilePredicate({ namespace: "", namespaced: true, fields });
  cache.watch({ predicate, bookmarks: false, start: { after: revision } }, sink);
}
timed(`apply, ${watcherCount} watchers by spec.nodeName (parses each)`, 5_000, () => {
  for (let n = 0; n < 5_000; n++) {
    update(1);
    cache.dispatch();
  }
});

const wide = Array.from({ length: watcherCount }, () => {
  const predicate = compilePredicate({ namespace: "", namespaced: true });
  return cache.watch({ predicate, bookmarks: false, start: { after: revision } }, sink);
});
for (const batch of [1, 16]) {
  const before = sink.delivered;
  const rounds = 100;
  const start = performance.now();
  for (let n = 0; n < rounds; n++) {
    update(batch);
    cache.dispatch();
  }
  const seconds = (performance.now() - start) / 1000;
  const rate = (sink.delivered - before) / seconds / 1e6;
  console.log(
    `${watcherCount} watchers of all, ${batch} events per dispatch: ${rate.toFixed(1)} M deliveries/s`,
  );
}
for (const cursor of wide) cursor.close();

for (const round of ["cold", "warm"]) {
  timed(`wire JSON of 10,000 objects, ${round}`, 10_000, () => {
    let bytes = 0;
    let left = 10_000;
    cache.state.scan("", "\xff", (object) => {
      bytes += wireJson(object.value, object.revision).length;
      return --left > 0;
    });
  });
}

timed("state 2,000 events ago", 2_000, () => void cache.state.snapshotAt(revision - 2_000));
timed("first write after a snapshot", 1, () => update(1));

/** The cost of an event must not depend on the number of watchers of other nodes or label values. */
const selectiveCounts = [100, 1_000, 10_000];
const selectiveEvents = 10_000;

function selective(by: string, count: number): void {
  const pods = 10_000;
  const objects = Array.from({ length: pods }, (_, i) => podOf(i, 1));
  objects.sort((a, b) => (a.key < b.key ? -1 : 1));
  const own = new WatchCache({ clock, history: noHistory }, { objects, revision: 1 }, options());
  const sink = new CountingSink();
  for (let w = 0; w < count; w++) {
    const predicate = compilePredicate({
      namespace: "",
      namespaced: true,
      fields: parseFieldSelector(by === "node" ? `spec.nodeName=node-${w}` : ""),
      labels: parseLabelSelector(by === "label" ? `job=job-${w}` : ""),
    });
    own.watch({ predicate, bookmarks: false, start: { after: 1 } }, sink);
  }
  // Every event concerns one watcher; the others only add load. Parsing costs the same for any number
  // of watchers, so it is done beforehand.
  const busy = Math.min(...selectiveCounts);
  const rounds = [0, 1, 2].map((round) => {
    const events = Array.from({ length: selectiveEvents }, (_, n) =>
      podOf(n % busy, 2 + n + round * selectiveEvents),
    );
    for (const object of [...objects, ...events]) object.field("spec.nodeName");
    const before = process.cpuUsage();
    for (const next of events) {
      own.apply(next.revision, [{ key: next.key, next }]);
      own.dispatch();
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / selectiveEvents;
  });
  const median = rounds.toSorted((a, b) => a - b)[1] ?? 0;
  console.log(
    `${count} watchers of one ${by} each: ${median.toFixed(2)} CPU µs per event, ${sink.delivered} deliveries`,
  );
}

/** A pod on its own node with its own label; small, so that all pods stay parsed. */
function podOf(i: number, at: number): SharedObject {
  const object: AnyObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `pod-${i}`, namespace: `ns-${i % 100}`, labels: { job: `job-${i}` } },
    spec: { nodeName: `node-${i}` },
  };
  return new SharedObject(source, keyOf(i), encodeObject(object), at);
}

selective("node", 1);
for (const by of ["node", "label"]) {
  for (const count of selectiveCounts) selective(by, count);
}
