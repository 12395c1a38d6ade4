/**
 * Measures how much room the disk has left. Puts rely on the result of the last check, so that none of them
 * waits for the disk; a put is refused only after a check of its own.
 *
 * R1  While puts are made, a check begins at least every `checkMs`, and after each eighth of the reserve
 *     that was written: a fast disk takes the whole reserve in less than a second.
 * R2  `look` answers by a check that began after the call: room made before the call counts.
 * R3  One check at a time; calls during a check share the next one. A failed check changes nothing.
 */
import type { Clock } from "#platform/clock.ts";
import type { Disk } from "#platform/disk.ts";
import type { Log } from "#platform/log.ts";
import type { Room } from "../engine.ts";

const checkMs = 1000;
const checkShare = 1 / 8;

interface LocalRoomDeps {
  readonly disk: Pick<Disk, "freeBytes">;
  readonly clock: Clock;
  readonly log: Log;
}

interface LocalRoomOptions {
  readonly directory: string;
  readonly freeBytesMin: number;
}

export class LocalRoom {
  readonly #deps: LocalRoomDeps;
  readonly #options: LocalRoomOptions;
  #found: Room = { kind: "ok" };
  #checkAtMs = 0;
  /** Bytes written since the last measurement was requested. */
  #writtenBytes = 0;
  /** The measurement that began last; it may have ended. */
  #last: Promise<unknown> = Promise.resolve();
  /** The measurement that begins after the current one, if a caller asked for it. */
  #next: Promise<Room> | undefined;

  constructor(deps: LocalRoomDeps, options: LocalRoomOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** The last measurement: while puts are made, at most `checkMs` or an eighth of the reserve old, plus its duration. */
  get known(): Room {
    const { freeBytesMin } = this.#options;
    const isMuch = freeBytesMin > 0 && this.#writtenBytes >= freeBytesMin * checkShare;
    if (isMuch || this.#deps.clock.monotonicMs() >= this.#checkAtMs) void this.look();
    return this.#found;
  }

  /** Counts bytes written to the disk. */
  wrote(bytes: number): void {
    this.#writtenBytes += bytes;
  }

  look(): Promise<Room> {
    this.#checkAtMs = this.#deps.clock.monotonicMs() + checkMs;
    this.#writtenBytes = 0;
    this.#next ??= this.#last.then(() => {
      this.#next = undefined;
      const look = this.#look();
      this.#last = look;
      return look;
    });
    return this.#next;
  }

  /** Never rejects. */
  async #look(): Promise<Room> {
    const { directory, freeBytesMin } = this.#options;
    try {
      const free = await this.#deps.disk.freeBytes(directory);
      const message = `${free} bytes are free on the disk of ${directory}, fewer than the ${freeBytesMin} kept for deletes and compaction`;
      this.#found = free < freeBytesMin ? { kind: "no-space", message } : { kind: "ok" };
    } catch (error) {
      this.#deps.log.warn("cannot see how much room the disk has", { error: String(error) });
    }
    return this.#found;
  }
}
