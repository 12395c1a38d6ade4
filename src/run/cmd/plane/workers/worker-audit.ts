/**
 * Audit events of one thread on their way to the sinks, which the first thread holds: those of a turn of the loop share
 * a message, and all threads' events are stored in the order in which they arrive there.
 *
 * Bounds events that are not stored yet: `waitingMax`; beyond it, where nobody waits for them, they are lost and counted.
 */
import type { StagedEvent } from "#server/audit/event.ts";
import type { AuditBackend, TakeLost } from "#server/audit/trail.ts";
import type { ForwardedEvent, StoredEvent } from "./messages.ts";
import type { AuditTexts } from "./plan.ts";

/** Maximum number of waiting events. There are at most as many as requests that wait for their event. */
const waitingMax = 100_000;

interface Waiting {
  readonly lost: TakeLost;
  readonly resolve: (isStored: boolean) => void;
}

export class WorkerAudit implements AuditBackend {
  readonly #post: (events: readonly ForwardedEvent[]) => void;
  readonly #texts: AuditTexts;
  readonly #waiting = new Map<number, Waiting>();
  #events: ForwardedEvent[] = [];
  #lastId = 0;
  #problem = "";

  constructor(texts: AuditTexts, post: (events: readonly ForwardedEvent[]) => void) {
    this.#texts = texts;
    this.#post = post;
  }

  take(event: StagedEvent, lost: TakeLost): boolean | Promise<boolean> {
    const { isAwaited, legacy, truncated } = this.#texts;
    if (!isAwaited && this.#waiting.size >= waitingMax) {
      lost("buffered", event.writer.isStranger);
      return true;
    }
    const { stage, level, writer } = event;
    const id = ++this.#lastId;
    this.#send({
      id,
      stage,
      level,
      writer,
      json: event.json(),
      truncatedJson: truncated ? event.truncatedJson() : "",
      legacy: legacy ? event.legacy() : "",
    });
    const stored = new Promise<boolean>((resolve) => this.#waiting.set(id, { lost, resolve }));
    return isAwaited ? stored : true;
  }

  stored(events: readonly StoredEvent[], problem: string): void {
    this.#problem = problem;
    for (const { id, isStored, lost } of events) {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      for (const [plugin, ofStranger] of lost) waiting?.lost(plugin, ofStranger);
      waiting?.resolve(isStored);
    }
  }

  problem(): string | undefined {
    return this.#problem === "" ? undefined : this.#problem;
  }

  #send(event: ForwardedEvent): void {
    if (this.#events.push(event) > 1) return;
    setImmediate(() => {
      const events = this.#events;
      this.#events = [];
      this.#post(events);
    });
  }
}
