/**
 * The alarms of a store directory, in its file ALARMS: a line that identifies the format, then one line per
 * alarm. It is written to a temporary file, synced and renamed, so it is always either the old or the new one.
 * A missing file means no alarms.
 */
import { Buffer } from "node:buffer";
import type { Disk } from "#platform/disk.ts";
import { CorruptionError } from "#store/engines/engine.ts";
import { alarmsFileName } from "#store/engines/local/files.ts";
import { readSmall, replaceFile } from "#store/engines/local/replace-file.ts";
import { AlarmType } from "#wire/etcd-messages.ts";
import { alarmName, type Alarm, type AlarmMemory } from "./alarms.ts";

const firstLine = "pilothouse-store alarms 1";

export class AlarmFile implements AlarmMemory {
  readonly #disk: Disk;
  readonly #directory: string;

  constructor(disk: Disk, directory: string) {
    this.#disk = disk;
    this.#directory = directory;
  }

  /** Rejects with CorruptionError when the file is not understood. */
  async load(): Promise<readonly Alarm[]> {
    const names = await this.#disk.list(this.#directory);
    if (!names.includes(alarmsFileName)) return [];
    return parse(await readSmall(this.#disk, this.#path), this.#path);
  }

  async save(alarms: readonly Alarm[]): Promise<void> {
    await replaceFile(this.#disk, this.#directory, alarmsFileName, Buffer.from(print(alarms)));
  }

  get #path(): string {
    return `${this.#directory}/${alarmsFileName}`;
  }
}

function print(alarms: readonly Alarm[]): string {
  const lines = alarms.map(({ memberId, alarm }) => `${memberId} ${alarmName(alarm)}\n`);
  return `${firstLine}\n${lines.join("")}`;
}

function parse(text: string, path: string): readonly Alarm[] {
  const [first, ...lines] = text.split("\n");
  const alarms = lines.slice(0, -1).map((line) => {
    const match = /^(\d{1,20}) (NOSPACE|CORRUPT)$/.exec(line);
    const alarm = match?.[2] === "NOSPACE" ? AlarmType.noSpace : AlarmType.corrupt;
    return match === null ? undefined : { memberId: BigInt(match[1] as string), alarm };
  });
  const whole = alarms.filter((alarm) => alarm !== undefined);
  if (first === firstLine && lines.at(-1) === "" && whole.length === alarms.length) return whole;
  throw new CorruptionError(`${path}: not a file of alarms; remove it, and no alarm is armed`);
}
