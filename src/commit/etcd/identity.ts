/** The header of every response, and the compact revision as etcd counts it. */
import type { Store } from "#store/store.ts";
import type { Header } from "#wire/etcd-messages.ts";

/** There is no Raft here, but clients expect a term that is not zero and never falls. */
const raftTerm = 2n;
/** An empty store is at revision 1 and was never compacted, for which etcd says -1. */
const firstRevision = 1;

export class Identity {
  readonly clusterId: bigint;
  readonly memberId: bigint;
  readonly raftTerm = raftTerm;
  /** The highest compaction at 0 or 1, which removes nothing. etcd remembers it until the next start. */
  #compactedNothing = -1;

  constructor(ids: { readonly clusterId: bigint; readonly memberId: bigint }) {
    this.clusterId = ids.clusterId;
    this.memberId = ids.memberId;
  }

  header(revision: number): Header {
    return { clusterId: this.clusterId, memberId: this.memberId, revision, raftTerm };
  }

  compactRevision(store: Store): number {
    return store.compactRevision > firstRevision ? store.compactRevision : this.#compactedNothing;
  }

  compacted(revision: number): void {
    if (revision <= firstRevision) this.#compactedNothing = revision;
  }
}
