/** Records the clients' requests and observations as they happen. */
import type { Clock } from "#platform/clock.ts";
import type {
  History,
  Moment,
  Operation,
  Outcome,
  Request,
  Snapshot,
  Watch,
  WatchMessage,
} from "./checkers/history.ts";

export interface WatchInProgress extends Watch {
  created: Watch["created"];
  readonly messages: WatchMessage[];
}

export class Recorder {
  readonly #clock: Clock;
  readonly #operations: Operation[] = [];
  readonly #watches: WatchInProgress[] = [];
  readonly #snapshots: Snapshot[] = [];
  readonly #pending = new Map<number, Omit<Operation, "returned" | "outcome">>();
  #order = 0;
  #id = 0;
  #quiet: Moment | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  moment(): Moment {
    return { order: this.#order++, ms: this.#clock.monotonicMs() };
  }

  invoke(client: string, request: Request): number {
    const id = this.#id++;
    this.#pending.set(id, { id, client, request, invoked: this.moment() });
    return id;
  }

  return(id: number, outcome: Outcome): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    this.#operations.push({ ...pending, returned: this.moment(), outcome });
  }

  /** Drops a request that never left the client. */
  forget(id: number): void {
    this.#pending.delete(id);
  }

  watch(asked: Omit<Watch, "id" | "asked" | "created" | "messages">): WatchInProgress {
    const id = this.#watches.length;
    const watch = { ...asked, id, asked: this.moment(), created: undefined, messages: [] };
    this.#watches.push(watch);
    return watch;
  }

  snapshot(snapshot: Snapshot): void {
    this.#snapshots.push(snapshot);
  }

  /** Marks the moment when the faults have stopped and their effects are over. */
  quiet(): void {
    this.#quiet = this.moment();
  }

  history(space: Pick<History, "quotaBytes" | "isRoomy">): History {
    for (const id of this.#pending.keys()) this.return(id, { kind: "unknown" });
    const end = this.moment();
    const operations = this.#operations.toSorted((a, b) => a.id - b.id);
    const seen = { operations, watches: this.#watches, snapshots: this.#snapshots };
    return { ...space, ...seen, quiet: this.#quiet ?? end, end };
  }
}
