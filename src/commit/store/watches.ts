/**
 * Watches: cursors over the one history. A live watch stands at the commit revision and gets
 * each commit as it is published; a watch that is behind reads the history until it has caught up.
 *
 *           watch()                      caught up
 *   ─────────────────▶ behind ──────────────────────▶ live
 *                        ▲  │ needs forgotten history    │
 *         sink refused   │  ▼                            │ close()
 *          (resume())    └─────────── compacted ◀────────┘ ──▶ closed
 *
 * W1  A sink gets each commit above `after` that touches its range once, in order, with all events of
 *     its range. Or it gets `compacted`, once, and nothing afterwards.
 * W2  Nothing above the commit revision is ever delivered.
 * W3  No sink is called before `watch()` has returned, nor after `close()`.
 * W4  A watch costs its cursor only: a slow sink holds no history and no queue.
 *
 * Cost   publishing finds watches by binary search over the cut points of all ranges, so a commit
 *        costs O(log watches + watches that match).
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { Mvcc } from "./mvcc.ts";
import type { Commit, CommitSink, Revision, StoreEvent, StoreWatch } from "./store.ts";
import type { Row } from "./versions.ts";
import { WatchRanges } from "./watch-ranges.ts";

/** Maximum revisions scanned per delivered commit before the loop gets its turn. */
const scanFactor = 16;

interface Cursor {
  readonly start: string;
  readonly end: string;
  readonly sink: CommitSink;
  /** 1: the watch may be one below the compacted revision, whose own changes are kept. */
  readonly slack: 0 | 1;
  state: "live" | "behind" | "closed";
  /** The sink refused a batch; the watch waits for `resume()`. */
  blocked: boolean;
  /** Everything up to this revision was delivered; not maintained while live. */
  position: number;
  timer: Timer | undefined;
  /** Events of the commit being published. */
  pending: Commit[];
}

export interface WatchStats {
  readonly watches: number;
  readonly behind: number;
}

export class Watches {
  readonly #clock: Clock;
  readonly #mvcc: Mvcc;
  readonly #batchMax: number;
  readonly #ranges = new WatchRanges<Cursor>();
  readonly #behind = new Set<Cursor>();
  #published: number;

  constructor(
    deps: { readonly clock: Clock; readonly mvcc: Mvcc },
    options: { readonly batchCommitsMax: number },
  ) {
    this.#clock = deps.clock;
    this.#mvcc = deps.mvcc;
    this.#batchMax = options.batchCommitsMax;
    this.#published = deps.mvcc.commitRevision;
  }

  stats(): WatchStats {
    return { watches: this.#ranges.size, behind: this.#behind.size };
  }

  watch(
    range: { start: string; end: string },
    after: number,
    sink: CommitSink,
    least: "after compacted" | "from compacted" = "after compacted",
  ): StoreWatch {
    const cursor: Cursor = {
      start: range.start,
      end: range.end,
      sink,
      slack: least === "from compacted" ? 1 : 0,
      state: "behind",
      blocked: false,
      position: after,
      timer: undefined,
      pending: [],
    };
    this.#ranges.add(cursor);
    this.#behind.add(cursor);
    void Promise.resolve().then(() => this.#pump(cursor));
    const positionOf = (): Revision => this.#position(cursor) as Revision;
    return {
      get position() {
        return positionOf();
      },
      resume: () => this.#resume(cursor),
      close: () => this.#close(cursor),
    };
  }

  /** Delivers the new commits up to `revision`, which are durable, to every live watch. */
  publish(revision: number): void {
    const first = this.#published + 1;
    this.#published = revision;
    if (this.#ranges.size === 0) return;
    const touched = this.#collect(first, revision);
    for (const cursor of touched) this.#deliverLive(cursor, first - 1);
    // Watches that start at a future revision.
    for (const cursor of this.#behind) if (!cursor.blocked) this.#pump(cursor);
  }

  /** Ends the watches that need history below `compactRevision`. */
  compacted(): void {
    for (const cursor of this.#behind) this.#checkCompacted(cursor);
  }

  /** Informs live watches that they have received everything published so far. */
  tellProgress(): void {
    for (const { state, sink } of this.#ranges.all()) {
      if (state === "live") sink.progressed?.(this.#published as Revision);
    }
  }

  /** The state was replaced: ends every watch below it, because it missed changes. */
  rebased(): void {
    this.#published = this.#mvcc.commitRevision;
    for (const cursor of this.#ranges.all()) {
      if (cursor.state !== "live") continue;
      // The watch was at the previous revision, which is history now.
      cursor.state = "behind";
      cursor.position = 0;
      this.#behind.add(cursor);
    }
    this.compacted();
  }

  closeAll(): void {
    for (const cursor of this.#ranges.all()) this.#close(cursor);
  }

  #position(cursor: Cursor): number {
    return cursor.state === "live" ? this.#published : cursor.position;
  }

  #resume(cursor: Cursor): void {
    if (!cursor.blocked) return;
    cursor.blocked = false;
    this.#pump(cursor);
  }

  #close(cursor: Cursor): void {
    if (cursor.state === "closed") return;
    cursor.position = this.#position(cursor);
    cursor.state = "closed";
    cursor.timer?.cancel();
    cursor.pending = [];
    this.#behind.delete(cursor);
    this.#ranges.remove(cursor);
  }

  #collect(first: number, last: number): Cursor[] {
    const touched: Cursor[] = [];
    for (let revision = first; revision <= last; revision++) {
      const row = this.#mvcc.log.row(revision);
      if (row !== undefined) this.#collectOne(revision, row, touched);
      else this.#collectMany(revision, touched);
    }
    return touched;
  }

  /** The common case: all watchers share one Commit. */
  #collectOne(revision: number, row: Row, touched: Cursor[]): void {
    const cursors = this.#ranges.at(this.#mvcc.versions.key(row));
    if (cursors.length === 0) return;
    const events = [this.#mvcc.event(row)];
    const commit: Commit = { revision: revision as Revision, events };
    for (const cursor of cursors) {
      if (cursor.state !== "live") continue;
      if (cursor.pending.length === 0) touched.push(cursor);
      cursor.pending.push(commit);
    }
  }

  #collectMany(revision: number, touched: Cursor[]): void {
    const byCursor = new Map<Cursor, StoreEvent[]>();
    const all = this.#mvcc.log.rows(revision).map((row) => this.#mvcc.event(row));
    for (const event of all) {
      for (const cursor of this.#ranges.at(event.key)) {
        if (cursor.state !== "live") continue;
        const events = byCursor.get(cursor);
        if (events === undefined) byCursor.set(cursor, [event]);
        else events.push(event);
      }
    }
    const whole: Commit = { revision: revision as Revision, events: all };
    for (const [cursor, events] of byCursor) {
      if (cursor.pending.length === 0) touched.push(cursor);
      cursor.pending.push(events.length === all.length ? whole : { ...whole, events });
    }
  }

  #deliverLive(cursor: Cursor, positionBefore: number): void {
    const commits = cursor.pending;
    cursor.pending = [];
    if (cursor.state !== "live" || cursor.sink.deliver(commits)) return;
    if ((cursor.state as Cursor["state"]) === "closed") return;
    cursor.state = "behind";
    cursor.blocked = true;
    cursor.position = positionBefore;
    this.#behind.add(cursor);
  }

  /** One turn of catching up. */
  #pump(cursor: Cursor): void {
    if (cursor.state !== "behind" || cursor.blocked || this.#checkCompacted(cursor)) return;
    if (cursor.position > this.#published) return;
    const { commits, scanned } = this.#history(cursor);
    if (commits.length > 0 && !cursor.sink.deliver(commits)) {
      cursor.blocked = true;
      return;
    }
    cursor.position = scanned;
    // The sink may have closed the watch, which cleans up.
    if ((cursor.state as Cursor["state"]) === "closed") return;
    if (scanned === this.#published) this.#goLive(cursor);
    else this.#pumpLater(cursor);
  }

  #goLive(cursor: Cursor): void {
    cursor.state = "live";
    this.#behind.delete(cursor);
  }

  #pumpLater(cursor: Cursor): void {
    if (cursor.timer !== undefined) return;
    cursor.timer = this.#clock.after("store.watch", 0, () => {
      cursor.timer = undefined;
      this.#pump(cursor);
    });
  }

  #history(cursor: Cursor): { commits: Commit[]; scanned: number } {
    const commits: Commit[] = [];
    let scanned = cursor.position;
    const until = Math.min(this.#published, scanned + this.#batchMax * scanFactor);
    while (scanned < until && commits.length < this.#batchMax) {
      scanned++;
      const rows = this.#mvcc.log.rows(scanned).filter((row) => this.#inRange(cursor, row));
      if (rows.length === 0) continue;
      const events = rows.map((row) => this.#mvcc.event(row));
      commits.push({ revision: scanned as Revision, events });
    }
    return { commits, scanned };
  }

  #inRange(cursor: Cursor, row: Row): boolean {
    const key = this.#mvcc.versions.key(row);
    return key >= cursor.start && key < cursor.end;
  }

  #checkCompacted(cursor: Cursor): boolean {
    const { compactRevision, log } = this.#mvcc;
    if (cursor.position >= Math.max(compactRevision - cursor.slack, log.base)) return false;
    this.#close(cursor);
    cursor.sink.compacted(compactRevision as Revision);
    return true;
  }
}
