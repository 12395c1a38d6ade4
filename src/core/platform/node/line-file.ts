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
 * Bounds `bufferBytesMax` of unwritten lines; beyond it a line is dropped and counted, of the writer that holds
 *        most (line-buffer.ts).
 * Time   a failed write is tried again after 0.1 s, doubling up to 10 s. Where the path leads is looked
 *        at before a write, at most once a second, and after `reopen`.
 * Loss   what is buffered when the process is killed; `close` writes it.
 */
import { type FileHandle, open, stat } from "node:fs/promises";
import type { Clock, Timer, TimerName } from "../clock.ts";
import { asDiskError } from "./disk-error.ts";
import { LineBuffer, type LineWriter, type TakeDropped } from "./line-buffer.ts";

interface LineFileOptions {
  readonly path: string;
  /** Of a file that is made. */
  readonly mode: number;
  readonly bufferBytesMax: number;
  readonly timer: TimerName;
}

const backoffMsMin = 100;
const backoffMsMax = 10_000;
const lookEveryMs = 1_000;
/** Bytes of one write; of a small buffer a quarter, because what is being written cannot give way. */
const chunkBytes = 256 * 1024;
const newline = 0x0a;

/** Opens or makes the file. Rejects with DiskError when it cannot be written. */
export async function openLineFile(clock: Clock, options: LineFileOptions): Promise<LineFile> {
  return new LineFile(clock, options, await openToAppend(options));
}

function openToAppend({ path, mode }: LineFileOptions): Promise<FileHandle> {
  return asDiskError("append to", path, open(path, "a", mode));
}

export class LineFile {
  readonly #clock: Clock;
  readonly #options: LineFileOptions;
  #file: FileHandle;
  readonly #buffer: LineBuffer;
  /** The last byte written is not the end of a line. */
  #torn = false;
  #lookDueMs: number;
  #backoffMs = backoffMsMin;
  #running: Promise<void> | undefined;
  #retry: Timer | undefined;
  #problem: string | undefined;
  #droppedCount = 0;

  constructor(clock: Clock, options: LineFileOptions, file: FileHandle) {
    this.#clock = clock;
    this.#options = options;
    this.#file = file;
    this.#buffer = new LineBuffer(options.bufferBytesMax);
    this.#lookDueMs = clock.monotonicMs() + lookEveryMs;
  }

  /** Why the last write failed, or a line was dropped since; undefined when all is written. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get droppedCount(): number {
    return this.#droppedCount;
  }

  get pendingBytes(): number {
    return this.#buffer.bytes;
  }

  /** `line` without its end. @returns false when it was dropped; `dropped` hears of older ones that were. */
  append(line: string, writer: LineWriter, dropped?: TakeDropped): boolean {
    const kept = this.#buffer.push(Buffer.from(`${line}\n`), writer, (of) => {
      this.#countDropped();
      dropped?.(of);
    });
    if (!kept) this.#countDropped();
    else if (this.#retry === undefined) this.#start();
    return kept;
  }

  #countDropped(): void {
    this.#droppedCount++;
    this.#problem ??= "the buffer is full";
  }

  /** The path may lead to another file now: after a rotation. Tries again at once if it failed. */
  reopen(): void {
    this.#lookDueMs = 0;
    this.#tryNow();
  }

  /** Tries once more to write what is left, then closes the file. */
  async close(): Promise<void> {
    await this.#settled();
    this.#tryNow();
    await this.#settled();
    this.#retry?.cancel();
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
      // A line that came after the last look at the buffer.
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
      }
    } catch (error) {
      this.#buffer.take(0);
      this.#problem = error instanceof Error ? error.message : String(error);
      // What failed may be mended by another file at the path.
      this.#lookDueMs = 0;
      this.#retry = this.#clock.after(this.#options.timer, this.#backoffMs, () => this.#tryNow());
      this.#backoffMs = Math.min(this.#backoffMs * 2, backoffMsMax);
    }
  }

  async #writeChunk(): Promise<void> {
    const chunk = this.#buffer.chunk(Math.min(chunkBytes, this.#options.bufferBytesMax / 4));
    const { path } = this.#options;
    const { bytesWritten } = await asDiskError("append to", path, this.#file.write(chunk));
    this.#buffer.take(bytesWritten);
    if (bytesWritten > 0) this.#torn = chunk[bytesWritten - 1] !== newline;
  }

  /** Opens the file anew when the path leads to another one, or to none. */
  async #look(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#lookDueMs) return;
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
    if (this.#torn) {
      this.#buffer.dropFirst();
      this.#countDropped();
      this.#torn = false;
    }
    await old.close();
  }
}
