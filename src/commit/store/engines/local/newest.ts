/**
 * Stores the number of the newest segment that holds records in a file of its own. Without this file the loss of the
 * log's last segments would go unnoticed. FORMAT.md describes the file.
 *
 * N1  It never names a segment without durable records: it is written after the segment's first batch.
 * N2  No write waits for it. Until it is written, or if it cannot be, the loss of that one segment
 *     goes unnoticed, as it would without the file.
 */
import type { Disk } from "#platform/disk.ts";
import type { Log } from "#platform/log.ts";
import { CorruptionError } from "../engine.ts";
import { newestFileName } from "./files.ts";
import { readSmall, replaceFile } from "./replace-file.ts";

const pattern = /^pilothouse-store newest 1\nsegment (\d{1,16})\n$/;

interface NewestDeps {
  readonly disk: Disk;
  readonly log: Log;
}

export class NewestSegment {
  readonly #deps: NewestDeps;
  readonly #directory: string;
  #said: number;
  #saying: Promise<void> = Promise.resolve();

  /** `said`: the number read from the file. */
  constructor(deps: NewestDeps, directory: string, said: number) {
    this.#deps = deps;
    this.#directory = directory;
    this.#said = said;
  }

  /** Records that a batch of segment `number` is durable. */
  holds(number: number): void {
    if (number <= this.#said) return;
    this.#said = number;
    this.#saying = this.#saying.then(() => this.#say(number));
  }

  /** Resolves when no write of the file is in progress. */
  async settled(): Promise<void> {
    await this.#saying;
  }

  async #say(number: number): Promise<void> {
    const text = `pilothouse-store newest 1\nsegment ${number}\n`;
    try {
      const bytes = new TextEncoder().encode(text);
      await replaceFile(this.#deps.disk, this.#directory, newestFileName, bytes);
    } catch (error) {
      this.#deps.log.warn("cannot note which segment is the newest", { error: String(error) });
    }
  }
}

/** 0: the file does not exist. Throws CorruptionError when its content is not understood. */
export async function readNewest(
  disk: Disk,
  directory: string,
  names: readonly string[],
): Promise<number> {
  if (!names.includes(newestFileName)) return 0;
  const path = `${directory}/${newestFileName}`;
  const number = pattern.exec(await readSmall(disk, path))?.[1];
  if (number !== undefined) return Number(number);
  throw new CorruptionError(
    `${path}: does not name a segment; remove it if no file of the log was lost`,
  );
}
