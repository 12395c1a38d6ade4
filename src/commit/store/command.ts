/**
 * What goes into a turn of the store and what comes out: commands, decisions, and effects.
 *
 * All are plain data but for a transaction's function. See `commit.ts` for the way they take.
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

/** Runs `run` against the newest state, and makes what it changed one revision. */
export interface TransactCommand<Result> {
  readonly kind: "transact";
  readonly run: (transaction: Transaction) => Result;
  /** Refuses the transaction if it puts: the disk has no room. */
  readonly noSpace: WriteRefused | undefined;
}

export interface GrantLeaseCommand {
  readonly kind: "grant-lease";
  readonly id: bigint;
  readonly ttlMs: number;
}

/** Ends a lease and deletes its keys, sorted, in one revision; in none when it has no keys. */
export interface EndLeaseCommand {
  readonly kind: "end-lease";
  readonly id: bigint;
}

interface CompactCommand {
  readonly kind: "compact";
  readonly revision: number;
}

/** The first record of an opening: from here on the log is of this epoch. */
interface EpochCommand {
  readonly kind: "epoch";
}

/** Changes nothing. Its answer says that everything submitted before it is durable. */
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

/** `isThere`: there was a lease of that id before the command. */
type LeaseResult = { readonly kind: "lease"; readonly isThere: boolean } | Stopped;

type DurableResult = { readonly kind: "durable" } | Stopped;

export type Answer =
  | PutResult
  | DeleteResult
  | TransactResult<unknown>
  | LeaseResult
  | DurableResult;

/** Each command has its own answer. */
export interface Submit {
  (command: PutCommand): Promise<PutResult>;
  (command: DeleteCommand): Promise<DeleteResult>;
  <Result>(command: TransactCommand<Result>): Promise<TransactResult<Result>>;
  (command: GrantLeaseCommand | EndLeaseCommand): Promise<LeaseResult>;
  (command: CompactCommand | EpochCommand | BarrierCommand): Promise<DurableResult>;
}

/** The lowest revision that must be durable; "all": everything that is sequenced by now. */
export type After = number | "all";

export interface Decision {
  readonly answer: Answer;
  /**
   * What must be durable before the caller gets the answer. "all" where it depends on a lease: the
   * grant and the end of a lease may have no revision of their own.
   */
  readonly after: After;
  /** Carried out when the batch is durable. */
  readonly effect: Effect | undefined;
}

/** What a durable command changes outside of the state that was sequenced. */
export type Effect =
  /** The lease's time starts. */
  | { readonly kind: "lease-granted"; readonly id: bigint }
  | { readonly kind: "lease-ended"; readonly lease: EndingLease }
  /** History below `revision` may be forgotten. */
  | { readonly kind: "compacted"; readonly revision: number };
