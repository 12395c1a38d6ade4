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
  /** A decimal int64; "0" is none. */
  readonly lease: string;
}

/** Half-open as etcd has it: `end` "" is the one key, "\0" everything from `key` on. */
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
  /** `revision` 0: the newest. `limit` 0: all. */
  | ({ readonly kind: "range"; readonly revision: number; readonly limit: number } & Span)
  | {
      readonly kind: "put";
      readonly key: string;
      readonly value: string;
      readonly lease: string;
      /** Keep what the key has, and fail without a key. */
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
  /** Whether the alarm of a full database is on; and off with it. */
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
  /** `ttlSeconds` of a renewal or a question; 0 or less: there is no such lease. */
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
  /** `revision`: the header's. */
  | { readonly kind: "answered"; readonly revision: number; readonly answer: Answer }
  | { readonly kind: "refused"; readonly why: Refusal }
  /** The connection was lost, or the server stopped: it may have happened, or may yet. */
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
  /** Undefined: deleted. */
  readonly kv: KeyValue | undefined;
  /** Only present when requested, and only while it is not compacted. */
  readonly previous: KeyValue | undefined;
}

export type WatchMessage =
  | {
      readonly kind: "events";
      readonly at: Moment;
      /** When the server sent it. */
      readonly sentMs: number;
      readonly revision: number;
      readonly fragment: boolean;
      readonly events: readonly Event[];
    }
  /** The watch has everything up to `revision`. */
  | { readonly kind: "progress"; readonly at: Moment; readonly revision: number }
  | { readonly kind: "compacted"; readonly at: Moment; readonly compactRevision: number }
  /** Its client asked for that. */
  | { readonly kind: "canceled"; readonly at: Moment };

/** One watch from its creation on one connection; a watcher that resumes makes another. */
export interface Watch extends Span {
  readonly id: number;
  /** Which watcher: its watches follow one another. */
  readonly watcher: string;
  readonly startRevision: number;
  readonly noPut: boolean;
  readonly noDelete: boolean;
  readonly previous: boolean;
  readonly asked: Moment;
  /** The answer to its creation; undefined: never received. */
  readonly created: { readonly at: Moment; readonly revision: number } | undefined;
  readonly messages: readonly WatchMessage[];
}

/** What a member holds that was made of a snapshot. */
export interface Restored {
  readonly revision: number;
  /** Sorted by key. */
  readonly kvs: readonly KeyValue[];
  readonly leases: readonly string[];
}

export interface Snapshot {
  readonly asked: Moment;
  /** When its last bytes arrived. */
  readonly taken: Moment;
  /** All bytes arrived, with the right hash. */
  readonly isWhole: boolean;
  /** Undefined: it was refused. */
  readonly restored: Restored | undefined;
}

export interface History {
  readonly operations: readonly Operation[];
  readonly watches: readonly Watch[];
  readonly snapshots: readonly Snapshot[];
  readonly quotaBytes: number;
  /** Nothing that was done can have filled the quota or the disk. */
  readonly isRoomy: boolean;
  /** When all faults had stopped and all clients had had time to catch up. */
  readonly quiet: Moment;
  readonly end: Moment;
}

export function inSpan({ key, end }: Span, name: string): boolean {
  if (end === "") return name === key;
  return name >= key && (end === "\0" || name < end);
}
