/**
 * Counts the Pods of one kind on each node, and in each domain of a topology key.
 *
 * Holds  perSlot[n] = Pods on node n, no zeros; byDomain(key)[d] = the sum over the nodes of domain d.
 * Cost   a change is O(keys in use). Sums by key are updated in place while no node's labels change, and are rebuilt by
 *        one pass over `perSlot` after that. Bounds: `keysMax` keys; sums of keys with a domain for almost every node
 *        (host names) are kept only where about as many nodes have a Pod.
 */
import { assert } from "#base/assert.ts";
import type { NodeTable } from "./node-table.ts";

/** Sums by domain, as `NodeTable.domains` numbers them. Read-only, and valid until the next change. */
export type DomainSums = Int32Array;

interface Kept {
  /** `NodeTable.staticVersion` for which the sums are right. */
  version: number;
  sums: DomainSums;
  /** By slot: domain in `version`. */
  ids: Int32Array;
}

const keysMax = 8;
/** Sums over at most this many domains are always kept. */
const domainsKept = 4_096;

export class Tally {
  readonly perSlot = new Map<number, number>();
  readonly #nodes: NodeTable;
  readonly #kept = new Map<string, Kept>();

  constructor(nodes: NodeTable) {
    this.#nodes = nodes;
  }

  add(slot: number, amount: number): void {
    const next = (this.perSlot.get(slot) ?? 0) + amount;
    if (next < 0) assert(false, "no more Pods leave a node than came", { slot, next });
    if (next === 0) this.perSlot.delete(slot);
    else this.perSlot.set(slot, next);
    for (const kept of this.#kept.values()) {
      if (kept.version !== this.#nodes.staticVersion) continue;
      const domain = kept.ids[slot] ?? -1;
      if (domain >= 0) kept.sums[domain] = (kept.sums[domain] ?? 0) + amount;
    }
  }

  byDomain(topologyKey: string): DomainSums {
    // `domains` must be called first, because it may change the numbers of domains.
    const { ids, names } = this.#nodes.domains(topologyKey);
    const version = this.#nodes.staticVersion;
    const known = this.#kept.get(topologyKey);
    if (known?.version === version) return known.sums;
    const sums = new Int32Array(names.length);
    for (const [slot, count] of this.perSlot) {
      const domain = ids[slot] ?? -1;
      if (domain >= 0) sums[domain] = (sums[domain] ?? 0) + count;
    }
    this.#kept.delete(topologyKey);
    if (sums.length <= Math.max(domainsKept, 8 * this.perSlot.size)) {
      if (this.#kept.size >= keysMax) this.#kept.clear();
      this.#kept.set(topologyKey, { version, sums, ids });
    }
    return sums;
  }
}
