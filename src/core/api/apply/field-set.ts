/**
 * Sets of field paths: the fields that a manager owns, or that a write changed. A trie, one node per path element.
 *
 * A path element is text, as fieldsV1 writes it:
 *   f:name                 a field of an object, or a key of a map
 *   k:{"name":"a"}         the element of a keyed list with these keys, in key order
 *   v:"a"                  the element of a set
 *   i:0                    an element by index; only old clients write it
 * A node is a member when the path that ends there is in the set; a set may hold both a path and paths
 * below it. Nodes are never changed, so sets share their common parts.
 * After  structured-merge-diff fieldpath/set.go.
 */
export interface FieldSet {
  readonly isMember: boolean;
  readonly children: ReadonlyMap<string, FieldSet>;
}

const noChildren: ReadonlyMap<string, FieldSet> = new Map();
export const emptySet: FieldSet = { isMember: false, children: noChildren };
export const memberOnly: FieldSet = { isMember: true, children: noChildren };

export function isEmpty(set: FieldSet): boolean {
  return !set.isMember && set.children.size === 0;
}

/** A node without its empty children. The two most common nodes are shared. */
export function setNode(
  member: boolean,
  children: Iterable<readonly [string, FieldSet]>,
): FieldSet {
  const kept = new Map<string, FieldSet>();
  for (const [element, child] of children) {
    if (!isEmpty(child)) kept.set(element, child);
  }
  if (kept.size > 0) return { isMember: member, children: kept };
  return member ? memberOnly : emptySet;
}

/** The set of one path. */
export function setOfPath(path: readonly string[]): FieldSet {
  return path.reduceRight((below, element) => setNode(false, [[element, below]]), memberOnly);
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmpty(b)) return a;
  if (isEmpty(a)) return b;
  const children = new Map(a.children);
  for (const [element, child] of b.children) {
    const own = children.get(element);
    children.set(element, own === undefined ? child : union(own, child));
  }
  return setNode(a.isMember || b.isMember, children);
}

/** Linear in the total size; a union built set by set would be copied once per set. */
export function unionAll(sets: readonly FieldSet[]): FieldSet {
  const [first = emptySet, ...more] = sets;
  if (more.length === 0) return first;
  const nodes = new Map<string, FieldSet[]>();
  for (const set of sets) {
    for (const [element, child] of set.children) {
      const same = nodes.get(element);
      if (same === undefined) nodes.set(element, [child]);
      else same.push(child);
    }
  }
  const isMember = sets.some((set) => set.isMember);
  return setNode(
    isMember,
    [...nodes].map(([element, same]) => [element, unionAll(same)]),
  );
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return emptySet;
  const shared: [string, FieldSet][] = [];
  for (const [element, child] of a.children) {
    const other = b.children.get(element);
    if (other !== undefined) shared.push([element, intersection(child, other)]);
  }
  return setNode(a.isMember && b.isMember, shared);
}

/** The paths of `a` that are not in `b`; a path below one of `b` stays. `a` itself if all stay. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return a;
  let changed = a.isMember && b.isMember;
  const children: [string, FieldSet][] = [];
  for (const [element, child] of a.children) {
    const other = b.children.get(element);
    const rest = other === undefined ? child : difference(child, other);
    changed ||= rest !== child;
    children.push([element, rest]);
  }
  return changed ? setNode(a.isMember && !b.isMember, children) : a;
}

/** The paths of `a` that are neither in `b` nor below a path of `b`. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return a;
  if (b.isMember) return emptySet;
  const children = [...a.children].map(([element, child]): [string, FieldSet] => {
    const other = b.children.get(element);
    return [element, other === undefined ? child : recursiveDifference(child, other)];
  });
  return setNode(a.isMember, children);
}

export function setsEqual(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.isMember !== b.isMember || a.children.size !== b.children.size) return false;
  for (const [element, child] of a.children) {
    const other = b.children.get(element);
    if (other === undefined || !setsEqual(child, other)) return false;
  }
  return true;
}

/** The paths below `element`, without this common prefix. */
export function below(set: FieldSet, element: string): FieldSet {
  return set.children.get(element) ?? emptySet;
}

const kindOrder = ["f", "k", "v", "i"] as const;

/** The elements of a node: fields, then keys, then values, then indices; each ordered by text. */
export function sortedElements(set: FieldSet): readonly string[] {
  const elements = [...set.children.keys()];
  if (isSorted(elements)) return elements;
  // Without a comparison function, sorting texts is many times faster.
  elements.sort();
  const first = elements[0]?.charAt(0);
  if (first === elements.at(-1)?.charAt(0)) return elements;
  return kindOrder.flatMap((kind) => elements.filter((element) => element.startsWith(kind)));
}

/** Whether the elements are of one kind and in order. */
function isSorted(elements: readonly string[]): boolean {
  const kind = elements[0]?.charAt(0) ?? "";
  return elements.every(
    (element, at) => element.startsWith(kind) && (at === 0 || (elements[at - 1] ?? "") < element),
  );
}

/** Number of paths in the set. */
export function countPaths(set: FieldSet): number {
  let count = set.isMember ? 1 : 0;
  for (const child of set.children.values()) count += countPaths(child);
  return count;
}

/** The first `max` paths in element order; paths of a node come before those below it. */
export function pathsOf(set: FieldSet, max = Number.POSITIVE_INFINITY): string[][] {
  const paths: string[][] = [];
  collectPaths(set, [], paths, max);
  return paths;
}

function collectPaths(set: FieldSet, path: string[], paths: string[][], max: number): void {
  const elements = sortedElements(set);
  for (const element of elements) {
    if (paths.length >= max) return;
    if (set.children.get(element)?.isMember === true) paths.push([...path, element]);
  }
  for (const element of elements) {
    if (paths.length >= max) return;
    path.push(element);
    collectPaths(below(set, element), path, paths, max);
    path.pop();
  }
}
