/**
 * The engine over a log in memory: durable means "in the log". It serves tests and `up --ephemeral`, and is
 * the simplest implementation of the engine contract.
 *
 * The log is an object of its own that outlives its engines, as a directory does. Several engines may
 * open it in turn. Unlike a directory it has no lock: a later opening with a greater epoch takes it over
 * from the current one, as happens in a replicated engine.
 */
import { assert } from "#base/assert.ts";
import { concatBytes } from "#base/bytes.ts";
import { RecordReader } from "../record.ts";
import { FencedError, oneAtATime } from "./engine.ts";
import type {
  AppendBatch,
  AppendPace,
  CheckpointSource,
  Engine,
  EngineStats,
  Opened,
  PossibleCheckpoint,
  ReplaySink,
  Room,
  Tail,
  TailRead,
} from "./engine.ts";

interface LoggedBatch {
  readonly lastRevision: number;
  readonly bytes: Uint8Array;
}

interface LoggedCheckpoint {
  readonly revision: number;
  readonly chunks: readonly Uint8Array[];
}

const source = { file: "memory", offset: 0 };
const trimmed = { kind: "trimmed" } as const;

/** A log in memory. Without kept records it can be opened only once and has no followers. */
export class MemoryLog {
  readonly domain: string;
  readonly #keep: "all" | "nothing";
  #batches: LoggedBatch[] = [];
  /** Number of the first batch kept; batches are counted from 0 and never renumbered. */
  #first = 0;
  /** Head revision of the last batch that was trimmed. */
  #trimmedRevision = 0;
  #checkpoint: LoggedCheckpoint | undefined;
  #epoch = 0;
  #bytes = 0;

  constructor(domain: string, keep: "all" | "nothing") {
    this.domain = domain;
    this.#keep = keep;
  }

  get checkpointRevision(): number {
    return this.#checkpoint?.revision ?? 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  takeOver(wanted: number | "next"): number {
    const next = wanted === "next" ? this.#epoch + 1 : wanted;
    if (next <= this.#epoch) {
      throw new FencedError(`epoch ${next} may not open the log: it has seen epoch ${this.#epoch}`);
    }
    assert(this.#keep === "all" || this.#epoch === 0, "a log that keeps nothing is opened again");
    this.#epoch = next;
    return next;
  }

  replay(sink: ReplaySink): void {
    if (this.#checkpoint !== undefined) {
      sink.checkpoint(this.#checkpoint.revision);
      const of = { ...source, kind: "checkpoint" } as const;
      for (const chunk of this.#checkpoint.chunks) sink.records(chunk.slice(), of);
    }
    const of = { ...source, kind: "log" } as const;
    for (const { bytes } of this.#batches) if (bytes.length > 0) sink.records(bytes.slice(), of);
  }

  append({ epoch, lastRevision, buffers, bytes }: AppendBatch): void {
    if (epoch !== this.#epoch) {
      throw new FencedError(`epoch ${epoch} may not append, ${this.#epoch} holds the log`);
    }
    if (this.#keep === "nothing") {
      this.#first++;
      this.#trimmedRevision = lastRevision;
      return;
    }
    this.#batches.push({ lastRevision, bytes: concatBytes(buffers) });
    this.#bytes += bytes;
  }

  /** Keeps the batches of the checkpoint's own revision, because leases in them may be newer than it. */
  checkpointed(checkpoint: LoggedCheckpoint): void {
    this.#checkpoint = checkpoint;
    while ((this.#batches[0]?.lastRevision ?? checkpoint.revision) < checkpoint.revision) {
      const gone = this.#batches.shift() as LoggedBatch;
      this.#bytes -= gone.bytes.length;
      this.#first++;
      this.#trimmedRevision = gone.lastRevision;
    }
  }

  /** Number of the first batch with changes at or after `after`. */
  find(after: number): number | undefined {
    if (this.#first > 0 && after <= this.#trimmedRevision) return undefined;
    const at = this.#batches.findIndex(({ lastRevision }) => lastRevision >= after);
    return this.#first + (at === -1 ? this.#batches.length : at);
  }

  batch(number: number): Uint8Array | "end" | "trimmed" {
    if (number < this.#first) return "trimmed";
    return this.#batches[number - this.#first]?.bytes ?? "end";
  }
}

export class MemoryEngine implements Engine {
  readonly room = { kind: "ok" } as const;
  readonly pace: AppendPace = oneAtATime;
  readonly #log: MemoryLog;
  #open = false;

  constructor(log: MemoryLog) {
    this.#log = log;
  }

  lookForRoom(): Promise<Room> {
    return Promise.resolve(this.room);
  }

  async open(replay: ReplaySink, wanted: number | "next"): Promise<Opened> {
    assert(!this.#open, "engine opened twice");
    const epoch = this.#log.takeOver(wanted);
    this.#log.replay(replay);
    this.#open = true;
    return { epoch, domain: this.#log.domain };
  }

  async append(batch: AppendBatch): Promise<void> {
    if (!this.#open) throw new FencedError(`epoch ${batch.epoch} may not append: it is closed`);
    this.#log.append(batch);
  }

  wantsCheckpoint(_possible: PossibleCheckpoint): boolean {
    return false;
  }

  async checkpoint(of: CheckpointSource): Promise<void> {
    const chunks: Uint8Array[] = [];
    for (let chunk = of.next(); chunk !== undefined; chunk = of.next()) chunks.push(chunk.slice());
    this.#log.checkpointed({ revision: of.revision, chunks });
  }

  tail(after: number): Tail {
    return new MemoryTail(this.#log, after);
  }

  stats(): EngineStats {
    const { bytes, checkpointRevision } = this.#log;
    return { kind: "memory", storedBytes: bytes, logBytes: bytes, checkpointRevision };
  }

  async close(): Promise<void> {
    this.#open = false;
  }
}

class MemoryTail implements Tail {
  readonly #log: MemoryLog;
  readonly #after: number;
  /** Number of the batch to be read next; undefined before the first read. */
  #number: number | undefined;
  #offset = 0;

  constructor(log: MemoryLog, after: number) {
    this.#log = log;
    this.#after = after;
  }

  async read(bytesMax: number): Promise<TailRead> {
    for (;;) {
      this.#number ??= this.#log.find(this.#after);
      if (this.#number === undefined) return trimmed;
      const batch = this.#log.batch(this.#number);
      if (batch === "end" || batch === "trimmed") return { kind: batch };
      const bytes = this.#records(batch, bytesMax);
      if (bytes.length > 0) return { kind: "records", bytes };
    }
  }

  async close(): Promise<void> {}

  #records(batch: Uint8Array, bytesMax: number): Uint8Array {
    const reader = new RecordReader(batch);
    let at = this.#offset;
    while (at < batch.length && reader.revision(at) < this.#after) at += reader.size(at);
    let end = at;
    while (end < batch.length && (end === at || end + reader.size(end) - at <= bytesMax)) {
      end += reader.size(end);
    }
    this.#offset = end < batch.length ? end : 0;
    if (end === batch.length) this.#number = (this.#number as number) + 1;
    return batch.slice(at, end);
  }
}
