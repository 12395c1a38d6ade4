/**
 * How many connections a process has at most, and which one goes when there is one more.
 *
 *   admit ──► newcomer ──(newcomersMax others came)──► settled, without credentials
 *                └──────────── belongsTo ─────────────► of a user
 *
 * Bounds `connectionsMax` in sum. For one more the newest settled connection without credentials goes; where
 *        there is none, the newest of the user who has most, if that is more than `userMin`; else the oldest
 *        newcomer, the one that comes included. So a newcomer has the time in which `newcomersMax` others come to show its credentials,
 *        however many connections are held without any.
 *        What the process dials itself (webhooks, kubelets, aggregated servers, exec) takes room from those that come.
 * Holds  a connection counts until it leaves or is closed here.
 * Cost   constant per connection; at the bound, where nothing without credentials is left, a look at each user.
 */

/** Share of the limit of open files: when connections alone take it, the operator is warned. */
const warnShare = 0.8;

interface ConnectionLimits {
  /** Number of connections, dialed ones included, from which on the operator is warned that the host's limit is near. */
  readonly warnAt: number;
  readonly connectionsMax: number;
  readonly newcomersMax: number;
}

/** Share of the open files kept back for the store, the log, files that are read again, and own requests. */
const keptShare = 1 / 8;
const keptMin = 96;
const keptMax = 8_192;
/** Share of the connections that may be in their handshake at once. */
const newcomersShare = 1 / 4;
const newcomersMost = 1_024;

/** Returns the limits of a process that may have `openFilesMax` files open. */
export function connectionLimits(openFilesMax: number): ConnectionLimits {
  const kept = Math.min(keptMax, Math.max(keptMin, Math.ceil(openFilesMax * keptShare)));
  const connectionsMax = Math.max(1, openFilesMax - kept);
  const newcomersMax = Math.min(newcomersMost, Math.ceil(connectionsMax * newcomersShare));
  const warnAt = Math.min(connectionsMax, Math.floor(openFilesMax * warnShare));
  return { connectionsMax, newcomersMax, warnAt };
}

/** Why a connection was closed: it has shown no credentials, or its user has more connections than the others. */
export type ClosedFor = "anonymous" | "user";

export interface ConnectionAccount {
  /** Notes the user that the client's credentials name. Of several users the last one counts. */
  belongsTo(user: string): void;
  /** User of the last request; see `PeerConnection`. */
  caller: string | undefined;
  /** Notes that the connection is closed. Idempotent. */
  leave(): void;
}

/** Number of connections that a user keeps in any case; only further ones are closed for the sake of others. */
const userMin = 4;

export class ConnectionBudget {
  readonly limits: ConnectionLimits;
  readonly #newcomers = new Connections();
  readonly #settled = new Connections();
  readonly #users = new Map<string, Connections>();
  #count = 0;
  #dialedCount = 0;
  readonly #closed: Record<ClosedFor, number> = { anonymous: 0, user: 0 };

  constructor(limits: ConnectionLimits) {
    this.limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  /** Number of open connections that have shown no credentials so far. */
  get anonymousCount(): number {
    return this.#newcomers.count + this.#settled.count;
  }

  /** Number of connections of this process to others. */
  get dialedCount(): number {
    return this.#dialedCount;
  }

  /** Whether the connections have reached `ConnectionLimits.warnAt`. */
  get isNearlyFull(): boolean {
    return this.#count + this.#dialedCount >= this.limits.warnAt;
  }

  closedCount(reason: ClosedFor): number {
    return this.#closed[reason];
  }

  /** Counts a new connection. `close` is called at most once, from within this or a later `admit` or `dial`. */
  admit(close: (reason: ClosedFor) => void): ConnectionAccount {
    const isFull = this.#isFull;
    const entry = new Entry(this.#book, close);
    this.#count++;
    const hasRoom = !isFull || this.#closeSettled();
    this.#newcomers.add(entry);
    if (!hasRoom) this.#close(this.#newcomers.takeOldest(), "anonymous");
    if (this.#newcomers.count > this.limits.newcomersMax) {
      const oldest = this.#newcomers.takeOldest();
      if (oldest !== undefined) this.#settled.add(oldest);
    }
    return entry;
  }

  /**
   * This process connects to another: for one more, one that came goes as for a newcomer, but for those of users
   * with few. Who dials bounds how many. @returns what is called when it is closed; idempotent.
   */
  dial(): () => void {
    if (this.#isFull) this.#closeSettled();
    this.#dialedCount++;
    let isOpen = true;
    return () => {
      if (isOpen) this.#dialedCount--;
      isOpen = false;
    };
  }

  get #isFull(): boolean {
    return this.#count + this.#dialedCount >= this.limits.connectionsMax;
  }

  #closeSettled(): boolean {
    if (this.#close(this.#settled.takeNewest(), "anonymous")) return true;
    const [user, most] = this.#largest();
    if (most === undefined || most.count <= userMin) return false;
    const newest = most.takeNewest();
    if (most.count === 0) this.#users.delete(user);
    return this.#close(newest, "user");
  }

  #close(entry: Entry | undefined, reason: ClosedFor): boolean {
    if (entry === undefined) return false;
    this.#closed[reason]++;
    entry.leave();
    entry.close(reason);
    return true;
  }

  #largest(): readonly [string, Connections | undefined] {
    let found: readonly [string, Connections | undefined] = ["", undefined];
    for (const one of this.#users) if (one[1].count > (found[1]?.count ?? 0)) found = one;
    return found;
  }

  readonly #book: Book = {
    move: (entry, user) => {
      this.#takeOut(entry);
      const list = this.#users.get(user) ?? new Connections();
      this.#users.set(user, list);
      list.add(entry);
    },
    forget: (entry) => {
      this.#count--;
      this.#takeOut(entry);
    },
  };

  #takeOut(entry: Entry): void {
    entry.list?.delete(entry);
    const { user } = entry;
    if (user !== undefined && this.#users.get(user)?.count === 0) this.#users.delete(user);
  }
}

interface Book {
  move(entry: Entry, user: string): void;
  forget(entry: Entry): void;
}

class Entry implements ConnectionAccount {
  readonly #book: Book;
  readonly close: (reason: ClosedFor) => void;
  /** List that holds the entry. Undefined: the connection was asked to close, or has left. */
  list: Connections | undefined;
  user: string | undefined;
  caller: string | undefined;
  #hasLeft = false;

  constructor(book: Book, close: (reason: ClosedFor) => void) {
    this.#book = book;
    this.close = close;
  }

  belongsTo(user: string): void {
    if (this.list === undefined || this.user === user) return;
    this.#book.move(this, user);
    this.user = user;
  }

  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#book.forget(this);
  }
}

/** Connections by age. The Set iterates from the oldest; an array, swept now and then, gives the newest from its end. */
class Connections {
  readonly #set = new Set<Entry>();
  #byAge: Entry[] = [];

  get count(): number {
    return this.#set.size;
  }

  add(entry: Entry): void {
    entry.list = this;
    this.#set.add(entry);
    this.#byAge.push(entry);
    if (this.#byAge.length > 2 * this.#set.size + sweepAt) this.#byAge = [...this.#set];
  }

  delete(entry: Entry): void {
    if (this.#set.delete(entry)) entry.list = undefined;
  }

  takeOldest(): Entry | undefined {
    const [oldest] = this.#set;
    if (oldest !== undefined) this.delete(oldest);
    return oldest;
  }

  takeNewest(): Entry | undefined {
    for (let last = this.#byAge.pop(); last !== undefined; last = this.#byAge.pop()) {
      if (last.list !== this) continue;
      this.delete(last);
      return last;
    }
    return undefined;
  }
}

const sweepAt = 32;
