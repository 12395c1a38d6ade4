/**
 * The requests and observations of clients as plain data: the checkers' only input.
 *
 * Every moment has an `order`, counted over the whole run: A came before B exactly when its order is
 * lower. `ms` is simulated time, for what is promised in seconds.
 */
export interface Moment {
  readonly order: number;
  readonly ms: number;
}

export interface KeyValue {
  readonly key: string;
  readonly value: string;
  readonly create: number;
  readonly mod: number;
  readonly version: number;
  /** A decimal int64; "0": no lease. */
  readonly lease: string;
}

/** A half-open range as in etcd: `end` "" selects the one key, "\0" every key from `key` on. */
export interface Span {
  readonly key: string;
  readonly end: string;
}

type CompareTarget = "version" | "create" | "mod" | "value" | "lease";

export interface Compare extends Span {
  readonly target: CompareTarget;
  readonly result: "equal" | "greater" | "less" | "notEqual";
  readonly operand: string;
}

export type KvRequest =
  /** `revision` 0: the newest one. `limit` 0: no limit. */
  | ({ readonly kind: "range"; readonly revision: number; readonly limit: number } & Span)
  | {
      readonly kind: "put";
      readonly key: string;
      readonly value: string;
      readonly lease: string;
      /** Keeps the key's current value or lease, and fails if the key does not exist. */
      readonly ignore: "none" | "value" | "lease";
    }
  | ({ readonly kind: "delete" } & Span)
  | {
      readonly kind: "txn";
      readonly compares: readonly Compare[];
      readonly success: readonly KvRequest[];
      readonly failure: readonly KvRequest[];
    };

export type Request =
  | KvRequest
  | { readonly kind: "compact"; readonly revision: number }
  | { readonly kind: "grant"; readonly lease: string; readonly ttlSeconds: number }
  | { readonly kind: "revoke"; readonly lease: string }
  | { readonly kind: "renew"; readonly lease: string }
  | { readonly kind: "remaining"; readonly lease: string }
  | { readonly kind: "leases" }
  /** `alarms` asks whether the alarm of a full database is on; `disarm` turns it off. */
  | { readonly kind: "alarms" }
  | { readonly kind: "disarm" };

export type Answer =
  | {
      readonly kind: "range";
      readonly kvs: readonly KeyValue[];
      readonly count: number;
      readonly more: boolean;
    }
  | { readonly kind: "put"; readonly previous: KeyValue | undefined }
  | { readonly kind: "delete"; readonly previous: readonly KeyValue[] }
  | { readonly kind: "txn"; readonly succeeded: boolean; readonly answers: readonly Answer[] }
  | { readonly kind: "done" }
  /** `ttlSeconds` of a renewal or a query; for 0 or less the lease does not exist. */
  | {
      readonly kind: "lease";
      readonly ttlSeconds: number;
      readonly grantedSeconds: number;
      readonly keys: readonly string[];
    }
  | { readonly kind: "alarms"; readonly armed: boolean }
  | { readonly kind: "leases"; readonly leases: readonly string[] };

export type Refusal =
  | "compacted"
  | "future"
  | "lease not found"
  | "lease exists"
  | "key not found"
  | "no space"
  | "too many leases";

export type Outcome =
  /** `revision`: revision in the header of the answer. */
  | { readonly kind: "answered"; readonly revision: number; readonly answer: Answer }
  | { readonly kind: "refused"; readonly why: Refusal }
  /** The connection was lost, or the server stopped. The operation may have taken effect, or may still do so. */
  | { readonly kind: "unknown" };

export interface Operation {
  readonly id: number;
  readonly client: string;
  readonly request: Request;
  readonly invoked: Moment;
  readonly returned: Moment;
  readonly outcome: Outcome;
}

export interface Event {
  readonly revision: number;
  readonly key: string;
  /** Undefined: the key was deleted. */
  readonly kv: KeyValue | undefined;
  /** Present only if requested and not yet compacted. */
  readonly previous: KeyValue | undefined;
}

export type WatchMessage =
  | {
      readonly kind: "events";
      readonly at: Moment;
      /** Time when the server sent the message. */
      readonly sentMs: number;
      readonly revision: number;
      readonly fragment: boolean;
      readonly events: readonly Event[];
    }
  /** The watch has received all events up to `revision`. */
  | { readonly kind: "progress"; readonly at: Moment; readonly revision: number }
  | { readonly kind: "compacted"; readonly at: Moment; readonly compactRevision: number }
  /** The client requested the cancellation. */
  | { readonly kind: "canceled"; readonly at: Moment };

/** One watch on one connection, from its creation on. A watcher that resumes makes another watch. */
export interface Watch extends Span {
  readonly id: number;
  /** Name of the watcher. Its watches follow one another. */
  readonly watcher: string;
  readonly startRevision: number;
  readonly noPut: boolean;
  readonly noDelete: boolean;
  readonly previous: boolean;
  readonly asked: Moment;
  /** Answer to the creation. Undefined: it was never received. */
  readonly created: { readonly at: Moment; readonly revision: number } | undefined;
  readonly messages: readonly WatchMessage[];
}

/** Contents of a member that was restored from a snapshot. */
export interface Restored {
  readonly revision: number;
  /** Sorted by key. */
  readonly kvs: readonly KeyValue[];
  readonly leases: readonly string[];
}

export interface Snapshot {
  readonly asked: Moment;
  /** Moment when the last bytes arrived. */
  readonly taken: Moment;
  /** Whether all bytes arrived, with the right hash. */
  readonly isWhole: boolean;
  /** Undefined: the restore was refused. */
  readonly restored: Restored | undefined;
}

export interface History {
  readonly operations: readonly Operation[];
  readonly watches: readonly Watch[];
  readonly snapshots: readonly Snapshot[];
  readonly quotaBytes: number;
  /** Whether no operation of the run can have filled the quota or the disk. */
  readonly isRoomy: boolean;
  /** Moment when all faults had stopped and all clients had had time to catch up. */
  readonly quiet: Moment;
  readonly end: Moment;
}

export function inSpan({ key, end }: Span, name: string): boolean {
  if (end === "") return name === key;
  return name >= key && (end === "\0" || name < end);
}
