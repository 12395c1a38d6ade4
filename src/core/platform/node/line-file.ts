/**
 * A file that lines are appended to, for a log whose writers must not wait for the disk.
 *
 *   append ──► buffer ──(one write at a time)──► file
 *                │                                │ error: the bytes stay; the next try follows a backoff
 *                └ full: a line is dropped        └ path leads elsewhere (removed, rotated): opened again
 *
 * Holds  lines reach a file whole and in order, or not at all. Of a write that the host took in part the
 *        rest follows first, unless the file was exchanged meanwhile: then that line is lost, and counted.
 *        `append` neither throws nor waits.
 * Waits  `written` is called when a line is in the file, or when a write failed: for writers that wait after all.
 * Size   with `rotation` a file that would grow beyond it is renamed and followed by a new one (line-rotation.ts).
 * Bounds `bufferBytesMax` of unwritten lines; beyond it a line is dropped and counted, of the writer that holds
 *        most (line-buffer.ts).
 * Time   a failed write is tried again after 0.1 s, doubling up to 10 s. Where the path leads is looked
 *        at before a write, at most once a second, and after `reopen`.
 * Loss   what is buffered when the process is killed; `close` writes it.
 */
import { type FileHandle, open, stat } from "node:fs/promises";
import type { Clock, Timer, TimerName } from "../clock.ts";
import { asDiskError } from "./disk-error.ts";
import { LineBuffer, type LineWriter, type TakeDropped, type TakeWritten } from "./line-buffer.ts";
import { type LineRotation, rotate } from "./line-rotation.ts";

interface LineFileOptions {
  readonly path: string;
  /** Mode of a new file. */
  readonly mode: number;
  readonly bufferBytesMax: number;
  /** Maximum number of buffered lines. Absent: as many as fit into the bytes. */
  readonly bufferLinesMax?: number;
  readonly timer: TimerName;
  /** Absent: the file grows, and other programs may rotate it. */
  readonly rotation?: LineRotation;
}

/** Destination of the lines: a file, or a stream without a path. */
interface LineTarget {
  write(chunk: Buffer): Promise<{ readonly bytesWritten: number }>;
  stat(): Promise<{ readonly ino: number; readonly dev: number; readonly size: number }>;
  close(): Promise<void>;
}

const backoffMsMin = 100;
const backoffMsMax = 10_000;
const lookEveryMs = 1_000;
/** Bytes of one write. A small buffer writes a quarter at a time, because lines being written cannot give way. */
const chunkBytes = 256 * 1024;
const newline = 0x0a;

/** Opens or creates the file. Rejects with DiskError when it cannot be written. */
export async function openLineFile(clock: Clock, options: LineFileOptions): Promise<LineFile> {
  const file = await openToAppend(options);
  return new LineFile(clock, options, file, (await file.stat()).size);
}

type StreamOptions = Pick<LineFileOptions, "bufferBytesMax" | "bufferLinesMax" | "timer">;

/** Writes to standard output instead, which is never rotated and never closed. */
export function openLineStream(
  clock: Clock,
  options: StreamOptions,
  stream: NodeJS.WritableStream,
): LineFile {
  const nowhere = { ino: 0, dev: 0, size: 0 };
  const target: LineTarget = {
    write: (chunk) =>
      new Promise((resolve, reject) => {
        stream.write(chunk, (error) =>
          error ? reject(error) : resolve({ bytesWritten: chunk.length }),
        );
      }),
    stat: () => Promise.resolve(nowhere),
    close: () => Promise.resolve(),
  };
  return new LineFile(clock, { ...options, path: "", mode: 0 }, target, 0);
}

function openToAppend({ path, mode }: LineFileOptions): Promise<FileHandle> {
  return asDiskError("append to", path, open(path, "a", mode));
}

export class LineFile {
  readonly #clock: Clock;
  readonly #options: LineFileOptions;
  #file: LineTarget;
  #fileBytes: number;
  /** Settles when old files of the last rotation have been packed and removed. */
  #tidied: Promise<void> = Promise.resolve();
  readonly #buffer: LineBuffer;
  /** Whether the last byte written is not the end of a line. */
  #torn = false;
  #lookDueMs: number;
  #backoffMs = backoffMsMin;
  #running: Promise<void> | undefined;
  /** Called when a chunk has been written or has failed. */
  #roomWaiters: (() => void)[] = [];
  #retry: Timer | undefined;
  #problem: string | undefined;
  #droppedCount = 0;

  constructor(clock: Clock, options: LineFileOptions, file: LineTarget, fileBytes: number) {
    this.#clock = clock;
    this.#options = options;
    this.#file = file;
    this.#fileBytes = fileBytes;
    this.#buffer = new LineBuffer(options.bufferBytesMax, options.bufferLinesMax);
    this.#lookDueMs = clock.monotonicMs() + lookEveryMs;
  }

  /** Why the last write failed, or that a line was dropped since; undefined when all is well. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get droppedCount(): number {
    return this.#droppedCount;
  }

  get pendingBytes(): number {
    return this.#buffer.bytes;
  }

  /** `line`: without a newline. @returns false when the line was dropped. `dropped` is called for older lines dropped for it. */
  append(line: string, writer: LineWriter, dropped?: TakeDropped, written?: TakeWritten): boolean {
    const isFailing = this.#retry !== undefined;
    const takeDropped = (of: LineWriter): void => {
      this.#countDropped();
      dropped?.(of);
    };
    const told = isFailing ? undefined : written;
    const kept = this.#buffer.push(Buffer.from(`${line}\n`), writer, takeDropped, told);
    if (isFailing || !kept) written?.(false);
    if (!kept) this.#countDropped();
    else if (this.#retry === undefined) this.#start();
    return kept;
  }

  /** Resolves when there may be room. Undefined when a line of this length fits, and while writes fail. */
  whenRoom(length: number): Promise<void> | undefined {
    const { bufferBytesMax } = this.#options;
    const isEmpty = this.#buffer.bytes === 0;
    if (this.#retry !== undefined || isEmpty) return undefined;
    if (this.#buffer.bytes + 3 * length + 1 <= bufferBytesMax) return undefined;
    return new Promise((resolve) => this.#roomWaiters.push(resolve));
  }

  #tellRoom(): void {
    const waiters = this.#roomWaiters;
    this.#roomWaiters = [];
    for (const waiter of waiters) waiter();
  }

  #countDropped(): void {
    this.#droppedCount++;
    this.#problem ??= "the buffer is full";
  }

  /** Looks again where the path leads, as after a rotation by another program. Retries a failed write at once. */
  reopen(): void {
    this.#lookDueMs = 0;
    this.#tryNow();
  }

  /** Tries once more to write the remaining lines, then closes the file. */
  async close(): Promise<void> {
    await this.#settled();
    this.#tryNow();
    await this.#settled();
    this.#retry?.cancel();
    await this.#tidied;
    await this.#file.close();
  }

  async #settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  #tryNow(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#start();
  }

  #start(): void {
    if (this.#buffer.bytes === 0) return;
    this.#running ??= this.#write().finally(() => {
      this.#running = undefined;
      // A line may have come after the last look at the buffer.
      if (this.#buffer.bytes > 0 && this.#retry === undefined) this.#start();
    });
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    try {
      while (this.#buffer.bytes > 0) {
        await this.#look();
        await this.#writeChunk();
        this.#problem = undefined;
        this.#backoffMs = backoffMsMin;
        this.#tellRoom();
      }
    } catch (error) {
      this.#buffer.take(0);
      this.#problem = error instanceof Error ? error.message : String(error);
      // Another file at the path may resolve the failure, so the path is looked at before the next write.
      this.#lookDueMs = 0;
      this.#retry = this.#clock.after(this.#options.timer, this.#backoffMs, () => this.#tryNow());
      this.#backoffMs = Math.min(this.#backoffMs * 2, backoffMsMax);
      this.#buffer.tellFailed();
      this.#tellRoom();
    }
  }

  async #writeChunk(): Promise<void> {
    const chunk = this.#buffer.chunk(Math.min(chunkBytes, this.#options.bufferBytesMax / 4));
    const { path } = this.#options;
    await this.#rotate(chunk.length);
    const { bytesWritten } = await asDiskError("append to", path, this.#file.write(chunk));
    this.#fileBytes += bytesWritten;
    this.#buffer.take(bytesWritten);
    if (bytesWritten > 0) this.#torn = chunk[bytesWritten - 1] !== newline;
  }

  /** Rotates the file, so that it never grows beyond its maximum size, except by a single chunk. */
  async #rotate(bytes: number): Promise<void> {
    const { path, rotation } = this.#options;
    if (rotation === undefined || this.#torn || this.#fileBytes === 0) return;
    if (this.#fileBytes + bytes <= rotation.bytesMax) return;
    await this.#tidied;
    const rotated = rotate(path, rotation, this.#clock.nowMs());
    this.#tidied = (await asDiskError("rotate", path, rotated)).tidied;
    await this.#exchange(await openToAppend(this.#options));
  }

  /** Opens the file anew when the path leads to another file, or to none. */
  async #look(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#lookDueMs || this.#options.path === "") return;
    const [there, own] = await Promise.all([
      stat(this.#options.path).catch(() => undefined),
      this.#file.stat(),
    ]);
    if (there === undefined || there.ino !== own.ino || there.dev !== own.dev) {
      await this.#exchange(await openToAppend(this.#options));
    }
    this.#lookDueMs = nowMs + lookEveryMs;
  }

  async #exchange(next: FileHandle): Promise<void> {
    const old = this.#file;
    this.#file = next;
    this.#fileBytes = (await next.stat()).size;
    if (this.#torn) {
      this.#buffer.dropFirst();
      this.#countDropped();
      this.#torn = false;
    }
    await old.close();
  }
}
