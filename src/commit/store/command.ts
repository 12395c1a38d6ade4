/**
 * Input and output of a turn of the store: commands, decisions, and effects.
 *
 * All are plain data, except a transaction's function. `commit.ts` shows how they are processed.
 */
import type { EndingLease } from "./leases.ts";
import type { DeleteResult, Guard, Key, LeaseId, PutResult, WriteRefused } from "./store.ts";
import type { Transaction } from "./transaction.ts";

export interface PutCommand {
  readonly kind: "put";
  readonly key: Key;
  /** Borrowed until the command is answered. */
  readonly value: Uint8Array;
  readonly guard: Guard | undefined;
  readonly lease: LeaseId;
}

export interface DeleteCommand {
  readonly kind: "delete";
  readonly key: Key;
  readonly guard: Guard | undefined;
}

/** Runs `run` on the newest state and commits its changes as one revision. */
export interface TransactCommand<Result> {
  readonly kind: "transact";
  readonly run: (transaction: Transaction) => Result;
  /** If set, a transaction that puts anything is refused with this: the disk is full. */
  readonly noSpace: WriteRefused | undefined;
}

export interface GrantLeaseCommand {
  readonly kind: "grant-lease";
  readonly id: bigint;
  readonly ttlMs: number;
}

/** Ends a lease and deletes its keys, sorted, in one revision; without keys there is no revision. */
export interface EndLeaseCommand {
  readonly kind: "end-lease";
  readonly id: bigint;
}

interface CompactCommand {
  readonly kind: "compact";
  readonly revision: number;
}

/** The first record of an opening; all later records belong to this epoch. */
interface EpochCommand {
  readonly kind: "epoch";
}

/** Changes nothing; its answer means that everything submitted before it is durable. */
interface BarrierCommand {
  readonly kind: "barrier";
}

export type Command =
  | PutCommand
  | DeleteCommand
  | TransactCommand<unknown>
  | GrantLeaseCommand
  | EndLeaseCommand
  | CompactCommand
  | EpochCommand
  | BarrierCommand;

export type Stopped = Extract<WriteRefused, { readonly kind: "stopped" }>;

type TransactResult<Result> =
  | { readonly kind: "done"; readonly answer: Result }
  /** The transaction's function threw; nothing was changed. */
  | { readonly kind: "threw"; readonly error: unknown }
  | WriteRefused;

/** `isThere`: the lease existed before the command. */
type LeaseResult = { readonly kind: "lease"; readonly isThere: boolean } | Stopped;

type DurableResult = { readonly kind: "durable" } | Stopped;

export type Answer =
  | PutResult
  | DeleteResult
  | TransactResult<unknown>
  | LeaseResult
  | DurableResult;

/** Submits a command; the type of the answer depends on the command. */
export interface Submit {
  (command: PutCommand): Promise<PutResult>;
  (command: DeleteCommand): Promise<DeleteResult>;
  <Result>(command: TransactCommand<Result>): Promise<TransactResult<Result>>;
  (command: GrantLeaseCommand | EndLeaseCommand): Promise<LeaseResult>;
  (command: CompactCommand | EpochCommand | BarrierCommand): Promise<DurableResult>;
}

/** The lowest revision that must be durable first; "all": everything sequenced so far. */
export type After = number | "all";

export interface Decision {
  readonly answer: Answer;
  /**
   * What must be durable before the caller gets the answer. "all" if the answer depends on a lease: the
   * grant and the end of a lease may have no revision of their own.
   */
  readonly after: After;
  /** Carried out when the batch is durable. */
  readonly effect: Effect | undefined;
}

/** An effect of a durable command outside of the sequenced state. */
export type Effect =
  /** The lease's time starts. */
  | { readonly kind: "lease-granted"; readonly id: bigint }
  | { readonly kind: "lease-ended"; readonly lease: EndingLease }
  /** History below `revision` may be pruned. */
  | { readonly kind: "compacted"; readonly revision: number };
