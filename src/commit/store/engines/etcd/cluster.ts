/**
 * The engine's interface to an etcd cluster: two calls, each with an honest answer. It opens no sockets:
 * tests have a model (`testing/model-cluster.ts`).
 *
 * Holds  a change happens whole or not at all, at one revision; a read is linearizable and of one revision.
 *        "uncertain" means that nothing is known: the change may have happened, may happen later, and may
 *        happen twice. Every other answer is certain.
 * Keys are printable ASCII. Values are bytes: borrowed as arguments, owned by the caller as results.
 */

/** Keys with start <= key < end, in key order. */
export interface KeyRange {
  readonly start: string;
  readonly end: string;
  readonly limit: number;
}

export interface ClusterKey {
  readonly key: string;
  readonly value: Uint8Array;
}

/** Holds if the key has this value, or any value; undefined: if the key does not exist. */
export interface Condition {
  readonly key: string;
  readonly value: Uint8Array | "any" | undefined;
}

export type Operation =
  | { readonly kind: "put"; readonly key: string; readonly value: Uint8Array }
  | { readonly kind: "delete"; readonly start: string; readonly end: string };

/** All operations are carried out if all conditions hold, otherwise none. */
export interface Change {
  readonly conditions: readonly Condition[];
  readonly operations: readonly Operation[];
}

/** Failures that leave the outcome certain or known to be uncertain. */
type Unanswered =
  | { readonly kind: "uncertain"; readonly message: string }
  /** Permanent: no permission, the server is not etcd, or its data is corrupt. */
  | { readonly kind: "refused"; readonly message: string };

export type ReadAnswer =
  /** One list per range, in the order of the ranges. */
  { readonly kind: "read"; readonly lists: readonly (readonly ClusterKey[])[] } | Unanswered;

export type ChangeAnswer =
  | { readonly kind: "changed" }
  /** A condition did not hold. */
  | { readonly kind: "unmet" }
  /** The request exceeds the cluster's size limit. */
  | { readonly kind: "too-large" }
  /** The cluster's quota is used up. */
  | { readonly kind: "no-space"; readonly message: string }
  | Unanswered;

/** Calls never reject. Each is answered within its own deadline. */
export interface LogCluster {
  /** Used in error texts. Absent: it is the only cluster. */
  readonly name?: string;
  read(ranges: readonly KeyRange[]): Promise<ReadAnswer>;
  change(change: Change): Promise<ChangeAnswer>;
  /**
   * Reports keys below `prefix` as they are put, in order, from some time after the call on. Some may be missed or come
   * twice, so this saves reads but cannot replace them.
   */
  watch(prefix: string, sink: KeySink): { close(): void };
}

export interface KeySink {
  pushed(keys: readonly ClusterKey[]): void;
  /** The connection broke. The next connection may reach a cluster restored to an older state. */
  broke(): void;
}
