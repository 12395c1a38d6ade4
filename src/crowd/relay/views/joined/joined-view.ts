/**
 * A view over several mirrors: their objects joined into rows (`join-table.ts`), with an ETag, changes and events as a
 * view of one resource has them.
 *
 *   join-feed (one per input) ──► join-table ──settle──► zoned-content (bodies, digests), change-log (readers of changes)
 *
 * Holds  what it shows is the rows of one moment: objects are taken, then rows made, then shown, and readers wait for
 *        the end of it (`isUpToDate`). Equal objects give equal rows, bodies and ETags on every replica.
 * Turns  more than a few rows are made and shown in turns of the loop.
 * Cost   of a change: the rows it touches; nothing while nothing changes.
 */
import { must } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import { onNextTurn } from "#platform/pace.ts";
import type { Random } from "#platform/random.ts";
import type { PolledView } from "../polled-view.ts";
import type { Frame, ViewContent } from "../view-content.ts";
import { ChangeLog, type LogEntry } from "./change-log.ts";
import { JoinFeed, type JoinSource } from "./join-feed.ts";
import type { JoinedRow, JoinLimits, JoinPlan } from "./join-plan.ts";
import { JoinTable, type RowChange } from "./join-table.ts";
import { RowObject } from "./row-object.ts";
import { ZonedContent } from "./zoned-content.ts";

export interface JoinedForm {
  readonly contentType: string;
  readonly frame: Frame;
}

export interface JoinedSpec {
  readonly plan: JoinPlan;
  readonly form: JoinedForm;
}

interface JoinedDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Mirrors and predicates in the order of the plan's inputs. */
  readonly sources: readonly JoinSource[];
}

/** Maximum number of rows made and shown at once, without a turn of their own. */
const smallRowsMax = 16;
/** Number of rows shown per row made in a portion: showing costs less than making. */
const shownPerMade = 4;

export class JoinedView implements PolledView {
  readonly contentType: string;
  readonly #clock: Clock;
  readonly #limits: JoinLimits;
  readonly #table: JoinTable;
  readonly #content: ZonedContent;
  readonly #feeds: readonly JoinFeed[];
  readonly #followers = new Set<() => void>();
  /** Changes since the initial state. */
  readonly log: ChangeLog;
  #showing: Generator<void> | undefined;
  #isSettling = false;
  /** Whether the initial state has been shown. */
  #isFilled = false;
  #ended = false;
  #awaiting: (() => void)[] = [];

  constructor(
    { clock, random, sources }: JoinedDeps,
    { plan, form }: JoinedSpec,
    limits: JoinLimits & { readonly zonesMax: number },
  ) {
    this.#clock = clock;
    this.#limits = limits;
    this.contentType = form.contentType;
    this.#table = new JoinTable(plan, limits);
    this.#content = new ZonedContent(form.frame, clock.nowMs(), limits);
    this.log = new ChangeLog(random.uuid().replaceAll("-", ""), limits);
    const feeds: JoinFeed[] = [];
    this.#feeds = feeds;
    // A feed may deliver within its constructor, before `feeds` contains all of them; `taken` then does nothing.
    for (const [input, source] of sources.entries())
      feeds.push(this.#feed(input, source, sources.length));
    this.#taken(sources.length);
  }

  get isUpToDate(): boolean {
    return this.#isFilled && !this.#isSettling && this.#feeds.every((feed) => feed.isUpToDate);
  }

  whenUpToDate(): Promise<void> {
    return new Promise((resolve) => void this.#awaiting.push(resolve));
  }

  get ended(): boolean {
    return this.#ended;
  }

  get position(): string {
    return this.log.position();
  }

  get failures(): number {
    return this.#table.failures;
  }

  get zones(): number {
    return this.#content.zones;
  }

  get zonesRefused(): number {
    return this.#content.zonesRefused;
  }

  get waiting(): number {
    return this.#content.waiting;
  }

  get rows(): ReadonlyMap<string, JoinedRow> {
    return this.#table.rows;
  }

  content(zone: string): ViewContent {
    return this.#content.of(zone);
  }

  /** Calls `f` after each change of the rows, and at the end. @returns a function that stops the calls. */
  follow(f: () => void): () => void {
    this.#followers.add(f);
    return () => void this.#followers.delete(f);
  }

  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const feed of this.#feeds) feed.close();
    this.#goOn();
    this.#content.wake();
    for (const follower of this.#followers) follower();
  }

  #feed(input: number, source: JoinSource, inputs: number): JoinFeed {
    return new JoinFeed({
      clock: this.#clock,
      source,
      put: (key, object) => this.#table.put(input, key, object),
      taken: () => this.#taken(inputs),
      isBlocked: () => this.#isSettling,
      ended: () => this.close(),
    });
  }

  /** Called when objects have arrived. Rows are made once all inputs have their initial state. */
  #taken(inputs: number): void {
    if (this.#ended || this.#isSettling || this.#feeds.length < inputs) return;
    if (!this.#feeds.every((feed) => feed.isFilled)) return;
    this.#isSettling = true;
    if (this.#table.dirty <= smallRowsMax) this.#settle(smallRowsMax);
    else this.#settleLater();
  }

  #settleLater(): void {
    onNextTurn(this.#clock, () => {
      if (!this.#ended) this.#settle(this.#limits.rowsPerTurn);
    });
  }

  /** Makes a portion of the changed rows; once all are made, shows a portion. */
  #settle(portion: number): void {
    if (this.#showing === undefined) {
      const changes = this.#table.settle(portion);
      if (changes === undefined) return this.#settleLater();
      if (this.#isFilled) for (const change of changes) this.log.add(this.#entry(change));
      this.#showing = this.#content.apply(changes, this.#clock.nowMs());
    }
    for (let left = portion * shownPerMade; left > 0; left--) {
      if (this.#showing.next().done === true) return this.#settled();
    }
    this.#settleLater();
  }

  #entry({ before, after }: RowChange): LogEntry {
    const row = must(after ?? before, "a row that came, or went");
    const type = after === undefined ? "DELETED" : before === undefined ? "ADDED" : "MODIFIED";
    const number = this.log.end;
    return { type, object: new RowObject(row, number, this.log.position(number + 1)) };
  }

  #settled(): void {
    this.#showing = undefined;
    this.#isSettling = false;
    this.#isFilled = true;
    this.#content.tell(this.#clock.nowMs());
    for (const follower of this.#followers) follower();
    // Waiting readers continue first: objects that arrived meanwhile are taken in a later turn.
    this.#goOn();
    for (const feed of this.#feeds) feed.unblocked();
  }

  #goOn(): void {
    const awaiting = this.#awaiting;
    this.#awaiting = [];
    for (const resolve of awaiting) resolve();
  }
}
