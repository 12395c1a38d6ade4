/**
 * Keeps the nodes of a class of Pods in order of their score, and updates this order when nodes change. It is for Pods
 * whose plugins need only Node objects, requests and sums: a decision then processes only the changes since the class's
 * last decision, not every node.
 *
 *   node table: slots whose room changed, in order ──► judged again ──► moved to the bucket of its score
 *
 * Holds  after an update, bucket s has exactly the fitting nodes with total s. The best bucket equals the result of
 *        scoring every node. Checked by ranking.test.ts.
 * Cost   per change one verdict on room and O(1). One pass over all nodes after a change of any node's labels or
 *        taints, and after more changes than the table remembers. 8 bytes a node and class, and 4 to 8 in a bucket.
 * Bounds `bucketsMax` scores; for a class with other scores all nodes are examined.
 */
import type { NodeTable } from "./node-table.ts";
import type { PodClass, PodClasses } from "./pod-class.ts";

/** Exclusive upper bound of the ranked totals, which are integers: sums of weights times 100. */
const bucketsMax = 65_536;
const outside = -1;

interface Bucket {
  slots: Int32Array;
  size: number;
}

export class Ranking {
  readonly #nodes: NodeTable;
  readonly #classes: PodClasses;
  readonly #podClass: PodClass;
  readonly #buckets: (Bucket | undefined)[] = [];
  #bucketOf = new Int32Array(0);
  #placeOf = new Int32Array(0);
  #top = outside;
  #staticVersion = -1;
  #seen = 0;
  #isRankable = true;

  constructor(nodes: NodeTable, classes: PodClasses, podClass: PodClass) {
    this.#nodes = nodes;
    this.#classes = classes;
    this.#podClass = podClass;
  }

  /** Returns the best slots in no order, valid until the next call. Undefined: all nodes must be examined. */
  best(): Int32Array | undefined {
    if (!this.#bringUpToDate()) return undefined;
    while (this.#top >= 0 && (this.#buckets[this.#top]?.size ?? 0) === 0) this.#top--;
    const bucket = this.#buckets[this.#top];
    return bucket?.slots.subarray(0, bucket.size);
  }

  #bringUpToDate(): boolean {
    const nodes = this.#nodes;
    const { anyScore } = this.#classes.check(this.#podClass);
    if (anyScore.includes(true)) return false;
    const isKnown = this.#staticVersion === nodes.staticVersion;
    if (!isKnown || nodes.roomChanges - this.#seen > nodes.roomChangesKept) this.#rankAll();
    else {
      for (; this.#seen < nodes.roomChanges; this.#seen++) {
        this.#rank(nodes.roomChangedAt(this.#seen));
      }
    }
    return this.#isRankable;
  }

  #rankAll(): void {
    const nodes = this.#nodes;
    this.#isRankable = true;
    this.#bucketOf = new Int32Array(nodes.capacity).fill(outside);
    this.#placeOf = new Int32Array(nodes.capacity);
    this.#buckets.length = 0;
    this.#top = outside;
    for (let i = 0; i < nodes.size; i++) this.#rank(nodes.live[i] ?? 0);
    this.#staticVersion = nodes.staticVersion;
    this.#seen = nodes.roomChanges;
  }

  #rank(slot: number): void {
    const total = this.#totalOf(slot);
    const before = this.#bucketOf[slot] ?? outside;
    if (total === before) return;
    if (before >= 0) this.#leave(before, slot);
    this.#bucketOf[slot] = total;
    if (total >= 0) this.#enter(total, slot);
  }

  #totalOf(slot: number): number {
    const { room, roomGeneration, roomScore, verdict } = this.#podClass;
    if ((verdict[slot] ?? 0) >= 0) return outside;
    if (roomGeneration[slot] !== this.#nodes.roomGeneration[slot]) {
      this.#classes.judgeRoom(this.#podClass, slot);
    }
    if (room[slot] !== 1) return outside;
    const total = roomScore[slot] ?? 0;
    if (Number.isInteger(total) && total >= 0 && total < bucketsMax) return total;
    this.#isRankable = false;
    return outside;
  }

  #enter(total: number, slot: number): void {
    const bucket = (this.#buckets[total] ??= { slots: new Int32Array(4), size: 0 });
    if (bucket.size === bucket.slots.length) {
      const slots = new Int32Array(bucket.size * 2);
      slots.set(bucket.slots);
      bucket.slots = slots;
    }
    this.#placeOf[slot] = bucket.size;
    bucket.slots[bucket.size++] = slot;
    if (total > this.#top) this.#top = total;
  }

  #leave(total: number, slot: number): void {
    const bucket = this.#buckets[total];
    if (bucket === undefined) return;
    const place = this.#placeOf[slot] ?? 0;
    const last = bucket.slots[--bucket.size] ?? 0;
    bucket.slots[place] = last;
    this.#placeOf[last] = place;
  }
}
