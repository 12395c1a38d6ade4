/**
 * Writes audit events as lines to a file or to standard output: as JSON, or in upstream's older format of one line of
 * text.
 *
 * Modes  blocking (default): an answer is sent when its event is in the file. While the disk refuses writes, events
 *        wait in the buffer and are tried again, and answers are sent without them. blocking-strict: a request whose
 *        first event cannot be written is refused. batch: answers do not wait for their events.
 * Bounds the buffer (#platform/node/line-buffer.ts). In the blocking modes it is full only while the disk refuses
 *        writes.
 */
import type { Log } from "#platform/log.ts";
import type { LineFile } from "#platform/node/line-file.ts";
import type { StagedEvent } from "./event.ts";
import type { AuditBackend, TakeLost } from "./trail.ts";
import { type TruncateLimits, truncated } from "./truncate.ts";

export const auditModes = ["batch", "blocking", "blocking-strict"] as const;
export type AuditMode = (typeof auditModes)[number];

interface LogBackendOptions {
  readonly mode: AuditMode;
  readonly format: "json" | "legacy";
  /** Absent: events are not truncated. */
  readonly truncate?: TruncateLimits;
  /** Path of the file, for messages. */
  readonly path: string;
}

export class LogBackend implements AuditBackend {
  readonly #file: LineFile;
  readonly #log: Log;
  readonly #options: LogBackendOptions;
  #isFailing = false;

  constructor(deps: { readonly file: LineFile; readonly log: Log }, options: LogBackendOptions) {
    this.#file = deps.file;
    this.#log = deps.log;
    this.#options = options;
  }

  take(event: StagedEvent, lost: TakeLost): boolean | Promise<boolean> {
    const json = truncated(event, this.#options.truncate, lost);
    if (json === undefined) return true;
    const { format, mode } = this.#options;
    const line =
      format === "json"
        ? `{"kind":"Event","apiVersion":"audit.k8s.io/v1",${json}}`
        : event.legacy();
    if (mode === "batch") {
      this.#append(line, event, lost, undefined);
      return true;
    }
    const room = this.#file.whenRoom(line.length);
    return room === undefined
      ? this.#store(line, event, lost)
      : this.#storeAfter(room, line, event, lost);
  }

  async #storeAfter(
    room: Promise<void>,
    line: string,
    event: StagedEvent,
    lost: TakeLost,
  ): Promise<boolean> {
    for (let next: typeof room | undefined = room; next !== undefined;) {
      await next;
      next = this.#file.whenRoom(line.length);
    }
    return this.#store(line, event, lost);
  }

  #store(line: string, event: StagedEvent, lost: TakeLost): Promise<boolean> {
    const isStrict = this.#options.mode === "blocking-strict";
    return new Promise((resolve) => {
      this.#append(line, event, lost, (isWritten) => resolve(isWritten || !isStrict));
    });
  }

  #append(
    line: string,
    { writer }: StagedEvent,
    lost: TakeLost,
    written: ((isWritten: boolean) => void) | undefined,
  ): void {
    const plugin = this.#options.mode === "batch" ? "buffered" : "log";
    const lose = (of: StagedEvent["writer"]): void => lost(plugin, of.isStranger);
    if (!this.#file.append(line, writer, lose, written)) lose(writer);
    this.#tell();
  }

  /** Logs a failure once when it begins and once when it ends. */
  #tell(): void {
    const { problem, droppedCount } = this.#file;
    if ((problem !== undefined) === this.#isFailing) return;
    this.#isFailing = !this.#isFailing;
    const { path } = this.#options;
    if (this.#isFailing) this.#log.error("audit log cannot be written", { path, error: problem });
    else this.#log.warn("audit log is written again", { path, droppedCount });
  }

  problem(): string | undefined {
    this.#tell();
    return this.#file.problem;
  }
}
