/**
 * What makes batches durable. The store above it sequences, indexes and serves; an engine is a log
 * with checkpoints, and knows records only by their frame (record.ts), never by their meaning.
 *
 * Contract, checked by testing/engine-suite.ts on every engine that keeps anything:
 *  E1  `append` resolves only once the whole batch survives a crash; batches become durable in order.
 *  E2  After a rejected append nothing is appended any more by this opening; those under way beside it are rejected, too.
 *  E3  `open` replays, in order, the newest whole checkpoint and then at least every record that
 *      was appended durably after that checkpoint's revision - and nothing that was never appended.
 *      A record at or below the checkpoint's revision may come again; of batches that were under way
 *      and never acknowledged a prefix may come.
 *  E4  An epoch is held by one opening. Once a later `open` has returned, an append of an earlier
 *      epoch fails with FencedError and never lands late. An `open` with an epoch that is not
 *      greater than all seen fails with FencedError too.
 *  E5  `tail` returns the durable records and nothing else, in order, each record once, without a gap,
 *      or it answers `trimmed`. It may be read after its engine was fenced: that is how a deposed
 *      owner of the log follows the new one.
 *  E6  One engine is one revision domain: one log, one line of revisions, one epoch. Partitions are
 *      engines side by side, which share nothing; `domain` tells them apart, and stays over openings.
 */

/** Thrown by `append` when another opening has taken over, by `open` when its epoch is not new. */
export class FencedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "FencedError";
  }
}

/** Stored data is not what was written: says which file, which offset, and what to do. */
export class CorruptionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CorruptionError";
  }
}

/** Thrown by a follower that needs what is no longer kept: begin anew, with an empty state. */
export class FellBehindError extends Error {
  constructor() {
    super("the log is no longer kept from where this follower stands: it must begin anew");
    this.name = "FellBehindError";
  }
}

/** The medium gave no certain answer for so long that the caller gives up. A change may have happened, or not. */
export class LogSilentError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "LogSilentError";
  }
}

/** Who holds a log. */
export interface LogHolder {
  /** 0: nobody ever opened it. */
  readonly epoch: number;
  /** As the opening called itself; may be empty. */
  readonly name: string;
}

/** Takes recovered records. Throws CorruptionError when they do not add up. */
export interface ReplaySink {
  /** A checkpoint follows: the state at `revision`. At most once, before any log records. */
  checkpoint(revision: number): void;
  /**
   * Whole records with right checksums, back to back, filling `bytes`. Given.
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
  /** This opening's; greater than that of every record replayed. */
  readonly epoch: number;
  /** Names the log: the same at every opening, another for every other log. */
  readonly domain: string;
}

export type TailRead =
  /** Whole records with right checksums, back to back, at least one. Given. */
  | { readonly kind: "records"; readonly bytes: Uint8Array }
  /** All that is durable by now has been read: ask again after the next append. */
  | { readonly kind: "end" }
  /** What was wanted next is no longer kept: begin anew with a snapshot. For good. */
  | { readonly kind: "trimmed" };

/** A follower's place in the log: it costs the engine nothing until it is read. */
export interface Tail {
  /** One at a time. At most `bytesMax` bytes, but always one whole record. */
  read(bytesMax: number): Promise<TailRead>;
  close(): Promise<void>;
}

export interface AppendBatch {
  readonly epoch: number;
  /** Head revision once the batch is durable. */
  readonly lastRevision: number;
  /** Whole records, in order. Borrowed until the append settles; never changed. */
  readonly buffers: readonly Uint8Array[];
  readonly bytes: number;
  readonly records: number;
}

/** What suits the medium. */
export interface AppendPace {
  /** So many appends may be under way at once. */
  readonly appendsMax: number;
  /** An append goes beside another one that takes longer than this; if `appendsMax` allows it. */
  readonly besideMs: number;
  /** How long a batch may wait for callers that were just answered; 0: an append costs too little for that. */
  readonly gatherMs: number;
}

/** One append at a time, as soon as there is something to append. */
export const oneAtATime: AppendPace = { appendsMax: 1, besideMs: 0, gatherMs: 0 };

export type Room =
  | { readonly kind: "ok" }
  | { readonly kind: "no-space"; readonly message: string };

/** Hands out the records of a checkpoint in chunks; the last one ends it. */
export interface RecordSupply {
  readonly revision: number;
  /** Whole records, borrowed until the next call; undefined: that was all. */
  next(): Uint8Array | undefined;
}

export interface CheckpointSource extends RecordSupply {
  /** Aborted when a caller waits for the checkpoint's end: from then on the engine does not pause. */
  readonly hurried: AbortSignal;
  /** Little is being written: there is time to make what is kept small. */
  readonly quiet: boolean;
}

/** A checkpoint that could be made now. */
export interface PossibleCheckpoint {
  readonly revision: number;
  /** About how many bytes it would be. */
  readonly stateBytes: number;
  /** Little is being written: this may be the last chance for long to free what a busy time left. */
  readonly quiet: boolean;
}

/** One of the clusters that a log is spread over. */
export interface StripeStats {
  readonly name: string;
  /** Parts of batches put there by this opening, and how long that took in sum. */
  readonly puts: number;
  readonly putSeconds: number;
  /** Everything waits for a batch that is on its way to this stripe: for so long. 0: nothing does. */
  readonly holdsSeconds: number;
}

export interface EngineStats {
  readonly kind: string;
  /** Bytes on disk, or in the medium that holds the log. */
  readonly storedBytes: number;
  /** Log bytes that the next checkpoint at `lastCheckpointRevision`'s successor could free. */
  readonly logBytes: number;
  readonly checkpointRevision: number;
  /** Absent: the log lies in one place. */
  readonly stripes?: readonly StripeStats[];
}

/** An engine whose log may be followed before it is taken over: by then most of the replay is done. */
export interface SharedEngine extends Engine {
  /**
   * "all" replays what is durable at some time after the call; a further call, what was added since. "pushed" replays
   * only what the medium sent by itself, without a request. `open` goes on from there. One at a time. Rejects
   * with FellBehindError.
   */
  follow(replay: ReplaySink, what: "all" | "pushed"): Promise<void>;
  /** Calls `grown` when the medium has sent more. Some of these calls come late or never. */
  listen(grown: () => void): void;
  /** As of the last `follow`. */
  readonly holder: LogHolder;
  /** Resolves if this opening held the log at some time after the call, and else rejects with FencedError. */
  checkHeld(): Promise<void>;
}

export interface Engine {
  /**
   * Recovers what is stored and takes the store over. `epoch` "next" takes the one after the last
   * one seen; an election hands in its own, which must be greater than all seen.
   */
  open(replay: ReplaySink, epoch: number | "next"): Promise<Opened>;
  readonly pace: AppendPace;
  /** At most `pace.appendsMax` at once. They settle in the order of the calls. */
  append(batch: AppendBatch): Promise<void>;
  /**
   * Whether there was room for more when it was last looked at. While not, the store asks `lookForRoom`
   * about each put, and refuses it as `no-space` before it is sequenced; deletes and compaction go on.
   */
  readonly room: Room;
  /** Whether there is room, by a look that began after this call. Never rejects. */
  lookForRoom(): Promise<Room>;
  /** Whether a checkpoint would free enough log to be worth its writing. */
  wantsCheckpoint(possible: PossibleCheckpoint): boolean;
  /**
   * Stores a checkpoint, then trims: log records at or below its revision may go. Runs beside
   * appends. Rejecting leaves the older checkpoint and all of the log in place.
   */
  checkpoint(source: CheckpointSource): Promise<void>;
  /**
   * The durable records after `after`, and all that become durable later. Records at `after` itself are
   * repeated: a lease's grant or end takes no revision, so no number says which were seen.
   */
  tail(after: number): Tail;
  stats(): EngineStats;
  /** Resolves when this opening finds out, between appends, that a later one holds the log. */
  readonly deposed?: Promise<FencedError>;
  close(): Promise<void>;
}
