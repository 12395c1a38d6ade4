/**
 * Sorted map from string keys (code-unit order) to values: a B+ tree with linked leaves.
 *
 * Holds   keys rise strictly along the chain of leaves; all leaves lie at one depth; every node but
 *         the root is at least a quarter full (`nodeMin`), so depth <= log16(n) + 1.
 * Cost    get, set, delete O(log n); a scan touches its first leaf by search, the rest by links.
 *         About 18 bytes a key when filled in order, 24 on average otherwise, keys themselves apart.
 * Why     a sorted array moves n pointers per insert; a red-black tree costs an object per key.
 * Rule    a scan's callback must not change the tree.
 *
 * Loading: between `beginLoading` and `endLoading` keys are only got and set, in a hash table; then
 * all are sorted and laid out at once, in a third of the time for keys in random order.
 *
 * The position of the last search is kept: a get followed by a set of the same key searches once, and
 * keys added in order search once per leaf.
 */
import { assert } from "./assert.ts";
import { keyOrder } from "./key-order.ts";
import { KeyTable } from "./key-table.ts";

/** Maximum number of keys per node: the key array is one 512-byte run. 64 measured best of 16..256 here. */
const nodeMax = 64;
const nodeMin = 16;
/** Number of keys in a loaded node. The spare room lets the first insertions avoid splitting every leaf. */
const loadedFill = 56;

interface Leaf<V> {
  readonly leaf: true;
  readonly keys: string[];
  readonly values: V[];
  next: Leaf<V> | undefined;
}

/** children[i] holds keys < keys[i]; children[i + 1] holds keys >= keys[i]. */
interface Inner<V> {
  readonly leaf: false;
  readonly keys: string[];
  readonly children: Node<V>[];
}

type Node<V> = Leaf<V> | Inner<V>;

/** Result of a split for the parent: the new right sibling and its least key. */
interface Split<V> {
  readonly key: string;
  readonly right: Node<V>;
}

export class BTree<V> {
  #root: Node<V> = newLeaf<V>();
  #size = 0;
  /** Leaf that has `#foundKey`, or would take it. Undefined after the tree has changed its shape. */
  #foundLeaf: Leaf<V> | undefined;
  #foundAt = 0;
  #foundKey = "";
  #loading: KeyTable<V> | undefined;

  get size(): number {
    return this.#loading?.size ?? this.#size;
  }

  /** Begins loading an empty tree. Until `endLoading` only `get`, `set`, `has`, `size` and `clear` may be called. */
  beginLoading(): void {
    assert(this.#size === 0, "loading into a tree that is not empty");
    this.#loading = new KeyTable();
  }

  /** Builds the tree from the keys set since `beginLoading`. No effect when `beginLoading` was not called. */
  endLoading(): void {
    if (this.#loading === undefined) return;
    const { keys, values } = this.#loading;
    this.#loading = undefined;
    this.#foundLeaf = undefined;
    this.#size = keys.length;
    this.#root = builtOf(buildLeaves(keys, values));
  }

  get(key: string): V | undefined {
    if (this.#loading !== undefined) return this.#loading.get(key);
    const leaf = this.#find(key);
    const at = this.#foundAt;
    return leaf.keys[at] === key ? leaf.values[at] : undefined;
  }

  has(key: string): boolean {
    if (this.#loading !== undefined) return this.#loading.get(key) !== undefined;
    return this.#find(key).keys[this.#foundAt] === key;
  }

  /** Sets the value of `key`. @returns the replaced value, if there was one. */
  set(key: string, value: V): V | undefined {
    if (this.#loading !== undefined) return this.#loading.set(key, value);
    const leaf = this.#find(key);
    const at = this.#foundAt;
    if (leaf.keys[at] === key) {
      const replaced = leaf.values[at];
      leaf.values[at] = value;
      return replaced;
    }
    if (leaf.keys.length < nodeMax) this.#addToLeaf(leaf, at, key, value);
    else this.#addSplitting(key, value);
    return undefined;
  }

  #addSplitting(key: string, value: V): void {
    this.#foundLeaf = undefined;
    const split = this.#insert(this.#root, key, value);
    if (split !== undefined) {
      this.#root = { leaf: false, keys: [split.key], children: [this.#root, split.right] };
    }
  }
  /** Deletes `key`. @returns whether the key existed. */
  delete(key: string): boolean {
    assert(this.#loading === undefined, "delete while loading");
    const sizeBefore = this.#size;
    this.#foundLeaf = undefined;
    this.#remove(this.#root, key);
    if (!this.#root.leaf && this.#root.children.length === 1) {
      this.#root = this.#root.children[0] as Node<V>;
    }
    return this.#size < sizeBefore;
  }

  clear(): void {
    this.#root = newLeaf<V>();
    this.#size = 0;
    this.#foundLeaf = undefined;
    if (this.#loading !== undefined) this.#loading = new KeyTable();
  }

  /** Visits keys in [start, end) in order until `visit` returns false. `end` absent: up to the last key. */
  scan(
    start: string,
    end: string | undefined,
    visit: (key: string, value: V) => boolean | void,
  ): void {
    let leaf: Leaf<V> | undefined = this.#leafOf(start);
    let at = lowerBound(leaf.keys, start);
    for (; leaf !== undefined; leaf = leaf.next, at = 0) {
      for (; at < leaf.keys.length; at++) {
        const key = leaf.keys[at] as string;
        if (end !== undefined && key >= end) return;
        if (visit(key, leaf.values[at] as V) === false) return;
      }
    }
  }

  /** Returns entries from `start` in order; for tests and cold paths (a generator step costs ~30 ns). */
  *entries(start: string = ""): Generator<[string, V]> {
    let leaf: Leaf<V> | undefined = this.#leafOf(start);
    let at = lowerBound(leaf.keys, start);
    for (; leaf !== undefined; leaf = leaf.next, at = 0) {
      for (; at < leaf.keys.length; at++) yield [leaf.keys[at] as string, leaf.values[at] as V];
    }
  }

  /** Throws AssertionError when an invariant of the header is broken. O(n); for tests. */
  check(): void {
    const leaves: Leaf<V>[] = [];
    checkNode(this.#root, undefined, undefined, true, leaves);
    let count = 0;
    leaves.forEach((leaf, i) => {
      assert(leaf.next === leaves[i + 1], "leaf chain is broken", { leaf: i });
      count += leaf.keys.length;
    });
    assert(count === this.#size, "size is wrong", { count, size: this.#size });
  }

  /** Returns the leaf that has `key`, or would take it, and sets `#foundAt` to the key's place there. */
  #find(key: string): Leaf<V> {
    let leaf = this.#foundLeaf;
    if (leaf === undefined || key !== this.#foundKey) {
      // A key behind the last key of the last leaf can only be in this leaf.
      if (leaf !== undefined && leaf.next === undefined && key > lastKey(leaf)) {
        this.#foundAt = leaf.keys.length;
      } else {
        leaf = this.#leafOf(key);
        this.#foundLeaf = leaf;
        this.#foundAt = lowerBound(leaf.keys, key);
      }
      this.#foundKey = key;
    }
    return leaf;
  }

  #leafOf(key: string): Leaf<V> {
    assert(this.#loading === undefined, "a look at the order while loading");
    let node = this.#root;
    while (!node.leaf) node = node.children[upperBound(node.keys, key)] as Node<V>;
    return node;
  }

  /** Adds a key that does not exist yet. */
  #insert(node: Node<V>, key: string, value: V): Split<V> | undefined {
    if (node.leaf) {
      this.#addToLeaf(node, lowerBound(node.keys, key), key, value);
      return node.keys.length > nodeMax ? splitLeaf(node) : undefined;
    }
    const at = upperBound(node.keys, key);
    const split = this.#insert(node.children[at] as Node<V>, key, value);
    if (split === undefined) return undefined;
    node.keys.splice(at, 0, split.key);
    node.children.splice(at + 1, 0, split.right);
    return node.children.length > nodeMax ? splitInner(node) : undefined;
  }

  #addToLeaf(leaf: Leaf<V>, at: number, key: string, value: V): void {
    this.#size++;
    insertAt(leaf.keys, at, key);
    insertAt(leaf.values, at, value);
  }

  #remove(node: Node<V>, key: string): void {
    if (!node.leaf) {
      const at = upperBound(node.keys, key);
      const child = node.children[at] as Node<V>;
      this.#remove(child, key);
      if (fill(child) < nodeMin) mend(node, at);
      return;
    }
    const at = lowerBound(node.keys, key);
    if (node.keys[at] !== key) return;
    node.keys.splice(at, 1);
    node.values.splice(at, 1);
    this.#size--;
  }
}

/** Builds leaves with the keys in order, and chains them. */
function buildLeaves<V>(keys: readonly string[], values: readonly V[]): Leaf<V>[] {
  const order = keyOrder(keys);
  const leaves: Leaf<V>[] = [];
  for (const [start, end] of parts(keys.length)) {
    const leaf = newLeaf<V>();
    for (let i = start; i < end; i++) {
      leaf.keys.push(keys[order[i] as number] as string);
      leaf.values.push(values[order[i] as number] as V);
    }
    const before = leaves.at(-1);
    if (before !== undefined) before.next = leaf;
    leaves.push(leaf);
  }
  return leaves.length === 0 ? [newLeaf<V>()] : leaves;
}

/** Builds the levels of inner nodes above the leaves, up to the root, and returns the root. */
function builtOf<V>(leaves: readonly Node<V>[]): Node<V> {
  let level = leaves.map((node) => ({ node, least: node.keys[0] ?? "" }));
  while (level.length > 1) {
    level = parts(level.length).map(([start, end]) => {
      const children = level.slice(start, end);
      const keys = children.slice(1).map(({ least }) => least);
      const node: Node<V> = { leaf: false, keys, children: children.map((child) => child.node) };
      return { node, least: (children[0] as (typeof children)[0]).least };
    });
  }
  return (level[0] as (typeof level)[0]).node;
}

/** Cuts [0, count) into parts of about `loadedFill`, none below `nodeMin` unless it is the only one. */
function parts(count: number): [number, number][] {
  const many = Math.ceil(count / loadedFill);
  return Array.from({ length: many }, (_, i) => [
    Math.floor((i * count) / many),
    Math.floor(((i + 1) * count) / many),
  ]);
}

function newLeaf<V>(): Leaf<V> {
  return { leaf: true, keys: [], values: [], next: undefined };
}

/** Inserts as `splice(at, 0, item)` would, in a tenth of the time for a node's few items. */
function insertAt<T>(items: T[], at: number, item: T): void {
  items.push(item);
  for (let i = items.length - 1; i > at; i--) items[i] = items[i - 1] as T;
  items[at] = item;
}

function lastKey<V>(leaf: Leaf<V>): string {
  return leaf.keys[leaf.keys.length - 1] ?? "";
}

function fill<V>(node: Node<V>): number {
  return node.leaf ? node.keys.length : node.children.length;
}

/** Returns the first index whose key is >= `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the first index whose key is > `key`. */
function upperBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] as string) <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Splits a leaf. The last leaf is split near its end, so that keys added in order leave full leaves behind. */
function splitLeaf<V>(leaf: Leaf<V>): Split<V> {
  return splitLeafAt(leaf, leaf.next === undefined ? nodeMax - nodeMin + 1 : leaf.keys.length >> 1);
}

function splitLeafAt<V>(leaf: Leaf<V>, at: number): Split<V> {
  const right: Leaf<V> = {
    leaf: true,
    keys: leaf.keys.splice(at),
    values: leaf.values.splice(at),
    next: leaf.next,
  };
  leaf.next = right;
  return { key: right.keys[0] as string, right };
}

function splitInner<V>(node: Inner<V>): Split<V> {
  const at = node.children.length >> 1;
  const right: Inner<V> = {
    leaf: false,
    keys: node.keys.splice(at),
    children: node.children.splice(at),
  };
  // The key between the halves moves up to the parent, where it separates them; neither half keeps it.
  return { key: node.keys.pop() as string, right };
}

/** Joins child `at` of `parent`, which is too empty, with a neighbour, and splits the result if it is too full. */
function mend<V>(parent: Inner<V>, at: number): void {
  if (parent.children.length < 2) return;
  const leftAt = at > 0 ? at - 1 : 0;
  const left = parent.children[leftAt] as Node<V>;
  const right = parent.children[leftAt + 1] as Node<V>;
  const between = parent.keys[leftAt] as string;
  mendJoin(left, right, between);
  parent.keys.splice(leftAt, 1);
  parent.children.splice(leftAt + 1, 1);
  if (fill(left) <= nodeMax) return;
  const split = left.leaf ? splitLeafAt(left, left.keys.length >> 1) : splitInner(left);
  parent.keys.splice(leftAt, 0, split.key);
  parent.children.splice(leftAt + 1, 0, split.right);
}

function mendJoin<V>(left: Node<V>, right: Node<V>, between: string): void {
  if (left.leaf && right.leaf) {
    left.keys.push(...right.keys);
    left.values.push(...right.values);
    left.next = right.next;
    return;
  }
  assert(!left.leaf && !right.leaf, "siblings at different depths");
  left.keys.push(between, ...right.keys);
  left.children.push(...right.children);
}

function checkNode<V>(
  node: Node<V>,
  low: string | undefined,
  high: string | undefined,
  root: boolean,
  leaves: Leaf<V>[],
): number {
  node.keys.forEach((key, i) => {
    assert(i === 0 || (node.keys[i - 1] as string) < key, "keys out of order", { key });
    assert((low === undefined || key >= low) && (high === undefined || key < high), "key strays", {
      key,
    });
  });
  assert(root || fill(node) >= nodeMin, "node too empty", { fill: fill(node) });
  assert(fill(node) <= nodeMax, "node too full", { fill: fill(node) });
  if (node.leaf) {
    leaves.push(node);
    return 0;
  }
  const depths = node.children.map((child, i) =>
    checkNode(child, node.keys[i - 1] ?? low, node.keys[i] ?? high, false, leaves),
  );
  assert(
    depths.every((d) => d === depths[0]),
    "leaves at different depths",
  );
  return (depths[0] as number) + 1;
}
