/**
 * The interface of an engine, which makes batches durable. The store above it sequences, indexes and serves. An engine
 * is a log with checkpoints, and knows records only by their frame (record.ts), never by their meaning.
 *
 * Contract, checked by testing/engine-suite.ts on every engine that keeps anything:
 *  E1  `append` resolves only once the whole batch survives a crash; batches become durable in order.
 *  E2  After a rejected append this opening appends nothing more; concurrent appends are rejected, too.
 *  E3  `open` replays, in order, the newest whole checkpoint and then at least every record that
 *      was appended durably after that checkpoint's revision, and nothing that was never appended.
 *      A record at or below the checkpoint's revision may be replayed again. Of batches that were under way
 *      and never acknowledged, a prefix may be replayed.
 *  E4  An epoch is held by one opening. Once a later `open` has returned, an append of an earlier
 *      epoch fails with FencedError and never takes effect late. An `open` with an epoch that is not
 *      greater than all seen fails with FencedError too.
 *  E5  `tail` returns the durable records and nothing else, in order, each record once, without a gap,
 *      or it answers `trimmed`. It may be read after its engine was fenced: a deposed
 *      owner of the log follows the new one in this way.
 *  E6  One engine is one revision domain: one log, one line of revisions, one epoch. Partitions are
 *      engines side by side, which share nothing; `domain` distinguishes them, and stays the same over openings.
 */

/** `append` throws it when another opening has taken over, `open` when its epoch is not new. */
export class FencedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "FencedError";
  }
}

/** Stored data differs from what was written. The message names file, offset and remedy. */
export class CorruptionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CorruptionError";
  }
}

/** A follower needs records that are no longer kept; it has to start again with an empty state. */
export class FellBehindError extends Error {
  constructor() {
    super("the log is no longer kept from where this follower stands: it must begin anew");
    this.name = "FellBehindError";
  }
}

/** The medium gave no certain answer for so long that the caller gives up. The change may or may not have happened. */
export class LogSilentError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "LogSilentError";
  }
}

/** The current holder of a log. */
export interface LogHolder {
  /** 0: the log has never been opened. */
  readonly epoch: number;
  /** The name that the opening gave itself; may be empty. */
  readonly name: string;
}

/** Receives recovered records. Throws CorruptionError when they are inconsistent. */
export interface ReplaySink {
  /** A checkpoint follows: the state at `revision`. Called at most once, before any log records. */
  checkpoint(revision: number): void;
  /**
   * Takes whole records with right checksums, back to back, filling `bytes`. The sink owns `bytes` from then on.
   * `source` names file and offset of the first byte for error texts.
   */
  records(bytes: Uint8Array, source: RecordSource): void;
}

export interface RecordSource {
  readonly kind: "checkpoint" | "log";
  readonly file: string;
  readonly offset: number;
}

export interface Opened {
  /** The epoch of this opening; greater than that of every record replayed. */
  readonly epoch: number;
  /** Identifies the log: equal at every opening, different for every other log. */
  readonly domain: string;
}

export type TailRead =
  /** One or more whole records with right checksums, back to back. The caller owns the bytes. */
  | { readonly kind: "records"; readonly bytes: Uint8Array }
  /** Everything durable has been read; ask again after the next append. */
  | { readonly kind: "end" }
  /** The next records are no longer kept; start again with a snapshot. Final. */
  | { readonly kind: "trimmed" };

/** A follower's position in the log. It uses no resources of the engine between reads. */
export interface Tail {
  /** One read at a time. Returns at most `bytesMax` bytes, but always at least one whole record. */
  read(bytesMax: number): Promise<TailRead>;
  close(): Promise<void>;
}

export interface AppendBatch {
  readonly epoch: number;
  /** Head revision when the batch is durable. */
  readonly lastRevision: number;
  /** Whole records in order. Borrowed until the append settles, and not changed. */
  readonly buffers: readonly Uint8Array[];
  readonly bytes: number;
  readonly records: number;
}

/** Append limits and delays that suit the medium. */
export interface AppendPace {
  /** Maximum number of concurrent appends. */
  readonly appendsMax: number;
  /** A second append starts when the first takes longer than this, if `appendsMax` allows it. */
  readonly besideMs: number;
  /** Maximum time that a batch waits for callers that were just answered; 0: appends are too cheap to wait for. */
  readonly gatherMs: number;
}

/** One append at a time, started as soon as there are records. */
export const oneAtATime: AppendPace = { appendsMax: 1, besideMs: 0, gatherMs: 0 };

export type Room =
  | { readonly kind: "ok" }
  | { readonly kind: "no-space"; readonly message: string };

/** Supplies the records of a checkpoint in chunks. */
export interface RecordSupply {
  readonly revision: number;
  /** Whole records, borrowed until the next call; undefined: the end. */
  next(): Uint8Array | undefined;
}

export interface CheckpointSource extends RecordSupply {
  /** Aborted when a caller waits for the checkpoint to finish; the engine then makes no more pauses. */
  readonly hurried: AbortSignal;
  /** Whether few writes are happening, so that there is time to compact what is kept. */
  readonly quiet: boolean;
}

/** A checkpoint that could be made now. */
export interface PossibleCheckpoint {
  readonly revision: number;
  /** Approximate size in bytes. */
  readonly stateBytes: number;
  /** Whether few writes are happening; it may be long until the next chance to free log. */
  readonly quiet: boolean;
}

/** One of the clusters that hold a striped log. */
export interface StripeStats {
  readonly name: string;
  /** Number of batch parts that this opening put there, and the total time that took. */
  readonly puts: number;
  readonly putSeconds: number;
  /** Time for which all commits have been waiting for a batch on its way to this stripe; 0: none waits. */
  readonly holdsSeconds: number;
}

export interface EngineStats {
  readonly kind: string;
  /** Bytes on disk or in the medium that holds the log. */
  readonly storedBytes: number;
  /** Log bytes that the next checkpoint could free. */
  readonly logBytes: number;
  readonly checkpointRevision: number;
  /** Absent: the log is not striped. */
  readonly stripes?: readonly StripeStats[];
}

/** An engine whose log can be followed before it is taken over, so that most of the replay is done by then. */
export interface SharedEngine extends Engine {
  /**
   * Replays records that the log has gained. "all" replays what is durable at some time after the call; a further call
   * replays what was added since. "pushed" replays only what the medium sent by itself, without a request. `open`
   * continues from there. At most one call at a time. Rejects with FellBehindError.
   */
  follow(replay: ReplaySink, what: "all" | "pushed"): Promise<void>;
  /** Calls `grown` when the medium has sent more records. Calls may come late or not at all. */
  listen(grown: () => void): void;
  /** The holder as of the last `follow`. */
  readonly holder: LogHolder;
  /** Resolves if this opening held the log at some time after the call; otherwise rejects with FencedError. */
  checkHeld(): Promise<void>;
}

export interface Engine {
  /**
   * Recovers the stored state and takes the store over. `epoch` "next" takes the one after the last
   * one seen; an election passes in its own epoch, which must be greater than all seen.
   */
  open(replay: ReplaySink, epoch: number | "next"): Promise<Opened>;
  readonly pace: AppendPace;
  /** At most `pace.appendsMax` concurrent calls. They settle in the order of the calls. */
  append(batch: AppendBatch): Promise<void>;
  /**
   * Whether there was room for more at the last check. While there is none, the store asks `lookForRoom`
   * for each put, and refuses the put as `no-space` before it is sequenced; deletes and compaction continue.
   */
  readonly room: Room;
  /** Measures the free room; the measurement begins after this call. Never rejects. */
  lookForRoom(): Promise<Room>;
  /** Whether a checkpoint would free enough log to be worth writing. */
  wantsCheckpoint(possible: PossibleCheckpoint): boolean;
  /**
   * Stores a checkpoint, then trims: log records at or below its revision may be removed. Runs concurrently with
   * appends. If it rejects, the older checkpoint and all of the log are still in place.
   */
  checkpoint(source: CheckpointSource): Promise<void>;
  /**
   * Returns the durable records after `after`, and all that become durable later. Records at `after` itself are
   * repeated: a lease's grant or end takes no revision, so no number tells which were seen.
   */
  tail(after: number): Tail;
  stats(): EngineStats;
  /** Resolves when this opening learns, between appends, that a later one holds the log. */
  readonly deposed?: Promise<FencedError>;
  close(): Promise<void>;
}
