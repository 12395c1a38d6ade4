/**
 * Who holds how much: bytes that the process keeps for a caller are charged to the caller, to a namespace
 * where there is one, and to the process, and given back when they are kept no more.
 *
 *   caller ──┐
 *   namespace┼─ Holding.take(kind, bytes) ── false: nothing was charged, the caller is refused
 *   process ─┘          give(kind, bytes), close()
 *
 * Holds  1. process = sum over kinds = sum over callers, at any time. 2. what was taken is given back once.
 *        3. no `take` brings a caller above `callerBytesMax`, a namespace above `namespaceBytesMax`, or the
 *        process above `totalBytesMax`; only `force` does, for what cannot be refused any more.
 *        4. no `take` beyond `smallBytesMax` leaves a caller with more than what was free before it, without
 *        `reservedBytes`: the first greedy caller gets half, the next half of the rest, and the reserve
 *        stays for those who hold little.
 * Bounds `accountsMax` callers and namespaces; those that come when all of them hold something share one.
 * Cost   a Map look-up per request, and additions.
 * After  Choudhury, Hahne: Dynamic queue length thresholds for shared-memory packet switches (1998).
 * Why not a fixed share per caller: with ten users it would waste most of the memory, with ten thousand it
 *        would promise more than there is.
 */
import { assert } from "#base/assert.ts";

/** Kinds of memory that is held, for metrics and messages. */
export type HeldKind =
  /** Bytes of a request, from the first one read to the end of its handler. */
  | "body"
  /** Values made from a body: text, data, the object. */
  | "object"
  /** Entries of a list while its answer is made. */
  | "snapshot"
  /** An object and its copies while a patch is applied to it. */
  | "patch"
  /** Bytes of an answer that the client has not received yet. */
  | "answer"
  /** An open watch: its selectors and its position. */
  | "watch"
  /** Frames of a stream that the client has not taken. */
  | "frames"
  /** Values that are made when they are first requested: documents, tables, schemas. */
  | "document"
  /** A socket, with the memory that the host keeps for it. The listener bounds the number of sockets. */
  | "connection";

export interface LedgerLimits {
  /** Limit of one caller: a user, or an address where no user is known. */
  readonly callerBytesMax: number;
  readonly namespaceBytesMax: number;
  readonly totalBytesMax: number;
  /** Part of the total reserved for callers that hold no more than `smallBytesMax` each. */
  readonly reservedBytes: number;
  /** A caller that holds at most this is refused only when all of the total is held. */
  readonly smallBytesMax: number;
  /** Maximum charge of one answer of shared pieces, because all its readers share the same memory. */
  readonly sharedAnswerBytesMax: number;
  readonly accountsMax: number;
}

/** Whose limit caused a refusal. */
type RefusedBy = "caller" | "namespace" | "process";

/** Bytes held by one caller or namespace, for the debug page and tests. */
interface Held {
  readonly name: string;
  readonly bytes: number;
}

interface Account {
  readonly name: string;
  /** Bytes held, without connections. */
  bytes: number;
  connectionBytes: number;
  /** Number of open holdings: an account with any is not forgotten. */
  open: number;
}

/** Share of the bytes that are not reserved. Three greedy callers in a row leave an eighth of them free. */
const tightShare = 7 / 8;

/** Name of the shared account of callers that come when there is no room for another account. */
const others = "others";

export class Ledger {
  readonly limits: LedgerLimits;
  readonly #accounts = new Map<string, Account>();
  readonly #others: Account = { name: others, bytes: 0, connectionBytes: 0, open: 0 };
  readonly #byKind = nothingHeld();
  readonly #refused: Record<RefusedBy, number> = { caller: 0, namespace: 0, process: 0 };
  #bytes = 0;
  #mostBytes = 0;

  constructor(limits: LedgerLimits) {
    this.limits = limits;
    this.#book = this.#bookOf(limits);
  }

  /** All bytes that are held now, including connections. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Maximum of bytes that were held at once. */
  get mostBytes(): number {
    return this.#mostBytes;
  }

  /** Whether little more than the reserve is free, so that answers without progress should be cut sooner. */
  get isTight(): boolean {
    const { totalBytesMax, reservedBytes } = this.limits;
    return this.#bytes - this.#byKind.connection > (totalBytesMax - reservedBytes) * tightShare;
  }

  /** Number of callers and namespaces that have an account. */
  get accounts(): number {
    return this.#accounts.size;
  }

  held(kind: HeldKind): number {
    return this.#byKind[kind];
  }

  refused(by: RefusedBy): number {
    return this.#refused[by];
  }

  heldBy(name: string): number {
    return this.#accounts.get(name)?.bytes ?? 0;
  }

  /**
   * Returns the accounts that hold most, connections included, the greatest first. It looks at every account, so it
   * is meant for a page that a human opens.
   */
  largest(count: number): readonly Held[] {
    const all = [...this.#accounts.values(), this.#others]
      .map(({ name, bytes, connectionBytes }) => ({ name, bytes: bytes + connectionBytes }))
      .filter(({ bytes }) => bytes > 0);
    return all.toSorted((a, b) => b.bytes - a.bytes).slice(0, count);
  }

  /** Opens a holding, which the caller must close. `namespace`: "" for none. */
  open(caller: string, namespace = ""): Holding {
    const ofNamespace = namespace === "" ? undefined : this.#account(`namespace:${namespace}`);
    return new LedgerHolding(this.#book, this.#account(caller), ofNamespace);
  }

  readonly #book: Book;

  #bookOf({ callerBytesMax, namespaceBytesMax, totalBytesMax, reservedBytes }: LedgerLimits): Book {
    const half = Math.floor((totalBytesMax - reservedBytes) / 2);
    return {
      refusalOf: (caller, namespace, bytes) => this.#refusalOf(caller, namespace, bytes),
      add: (kind, bytes) => this.#add(kind, bytes),
      noteRefused: (by) => void this.#refused[by]++,
      limitOf: (by) => this.#limitOf(by),
      most: Math.min(callerBytesMax, namespaceBytesMax, half),
    };
  }

  #refusalOf(
    caller: Account,
    namespace: Account | undefined,
    bytes: number,
  ): RefusedBy | undefined {
    const { callerBytesMax, namespaceBytesMax, totalBytesMax } = this.limits;
    const { reservedBytes, smallBytesMax } = this.limits;
    // Connections are left out: their number is bounded, and a crowd of quiet ones must not cause refusals of requests.
    const free = totalBytesMax - (this.#bytes - this.#byKind.connection);
    if (bytes > free) return "process";
    const own = caller.bytes + bytes;
    if (own > callerBytesMax) return "caller";
    if (own <= smallBytesMax) return undefined;
    if (own > free - reservedBytes) return "process";
    if (namespace === undefined) return undefined;
    return namespace.bytes + bytes > namespaceBytesMax ? "namespace" : undefined;
  }

  #limitOf(by: RefusedBy): number {
    const { callerBytesMax, namespaceBytesMax, totalBytesMax } = this.limits;
    switch (by) {
      case "caller":
        return callerBytesMax;
      case "namespace":
        return namespaceBytesMax;
      case "process":
        return totalBytesMax;
      default:
        return by satisfies never;
    }
  }

  #add(kind: HeldKind, bytes: number): void {
    this.#bytes += bytes;
    this.#byKind[kind] += bytes;
    if (this.#bytes > this.#mostBytes) this.#mostBytes = this.#bytes;
    assert(this.#byKind[kind] >= 0, "more was given back than was held");
  }

  #account(name: string): Account {
    const known = this.#accounts.get(name);
    if (known !== undefined) return known;
    if (this.#accounts.size >= this.limits.accountsMax && !this.#forgetSome()) return this.#others;
    const made = { name, bytes: 0, connectionBytes: 0, open: 0 };
    this.#accounts.set(name, made);
    return made;
  }

  /** Forgets the oldest account that holds nothing. Accounts that hold something are moved to the end. */
  #forgetSome(): boolean {
    let looks = looksMax;
    for (const [name, account] of this.#accounts) {
      this.#accounts.delete(name);
      if (account.open === 0) return true;
      this.#accounts.set(name, account);
      if (--looks === 0) return false;
    }
    return false;
  }
}

/** Maximum number of accounts that are looked at to find one to forget. */
const looksMax = 8;

interface Book {
  refusalOf(caller: Account, namespace: Account | undefined, bytes: number): RefusedBy | undefined;
  add(kind: HeldKind, bytes: number): void;
  noteRefused(by: RefusedBy): void;
  readonly limitOf: (by: RefusedBy) => number;
  readonly most: number;
}

/** All kinds, in the order of the metrics. */
export const heldKinds = Object.keys(nothingHeld()) as readonly HeldKind[]; // its keys are the kinds

/** Account of the memory that one request, stream or connection holds. */
export interface Holding {
  /** Charges `bytes`. @returns false when a limit is in the way: nothing was charged, and `refusal` names the limit. */
  take(kind: HeldKind, bytes: number): boolean;
  /** Charges memory that is held in any case, whatever the limits: a short answer, an accepted connection. */
  force(kind: HeldKind, bytes: number): void;
  /** Gives back bytes, at most as many as were taken of this kind. */
  give(kind: HeldKind, bytes: number): void;
  /** Gives everything back. Later calls charge nothing and are never refused. Idempotent. */
  close(): void;
  readonly bytes: number;
  /** Refusal of the last `take` that returned false. */
  readonly refusal: Refusal | undefined;
}

export interface Refusal {
  readonly by: RefusedBy;
  /** Bytes: requested (`asked`), held by the caller (`held`), and the limit that was exceeded (`limit`). */
  readonly asked: number;
  readonly held: number;
  readonly limit: number;
  /** Bytes a caller can hold when no other caller holds any: a request for more need not be retried. */
  readonly most: number;
}

/**
 * For callers of this process itself, whose objects are shared with its caches. `tools/tidy.ts` knows the
 * files that may use it.
 */
export const uncharged: Holding = {
  take: () => true,
  force: () => {},
  give: () => {},
  close: () => {},
  bytes: 0,
  refusal: undefined,
};

class LedgerHolding implements Holding {
  readonly #book: Book;
  readonly #caller: Account;
  readonly #namespace: Account | undefined;
  /** Bytes taken, by kind; made with the first charge. */
  #taken: Record<HeldKind, number> | undefined;
  #bytes = 0;
  #closed = false;
  #refusal: Refusal | undefined;

  constructor(book: Book, caller: Account, namespace: Account | undefined) {
    this.#book = book;
    this.#caller = caller;
    this.#namespace = namespace;
    caller.open++;
    if (namespace !== undefined) namespace.open++;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get refusal(): Refusal | undefined {
    return this.#refusal;
  }

  take(kind: HeldKind, bytes: number): boolean {
    if (this.#closed) return true;
    const by = this.#book.refusalOf(this.#caller, this.#namespace, bytes);
    if (by === undefined) {
      this.#charge(kind, bytes);
      return true;
    }
    this.#book.noteRefused(by);
    const { limitOf, most } = this.#book;
    this.#refusal = { by, asked: bytes, held: this.#caller.bytes, limit: limitOf(by), most };
    return false;
  }

  force(kind: HeldKind, bytes: number): void {
    if (!this.#closed) this.#charge(kind, bytes);
  }

  give(kind: HeldKind, bytes: number): void {
    if (this.#closed) return;
    assert((this.#taken?.[kind] ?? 0) >= bytes, "more was given back than was taken", { kind });
    this.#charge(kind, -bytes);
  }

  close(): void {
    if (this.#closed) return;
    if (this.#taken !== undefined) {
      for (const kind of heldKinds) {
        const bytes = this.#taken[kind];
        if (bytes > 0) this.#charge(kind, -bytes);
      }
    }
    this.#closed = true;
    this.#caller.open--;
    if (this.#namespace !== undefined) this.#namespace.open--;
    assert(this.#bytes === 0, "a closed holding holds something");
  }

  #charge(kind: HeldKind, bytes: number): void {
    this.#taken ??= nothingHeld();
    this.#taken[kind] += bytes;
    this.#bytes += bytes;
    this.#book.add(kind, bytes);
    if (kind === "connection") {
      this.#caller.connectionBytes += bytes;
      return;
    }
    this.#caller.bytes += bytes;
    if (this.#namespace !== undefined) this.#namespace.bytes += bytes;
  }
}

/** One object shape for all records. */
function nothingHeld(): Record<HeldKind, number> {
  return {
    body: 0,
    object: 0,
    snapshot: 0,
    patch: 0,
    answer: 0,
    watch: 0,
    frames: 0,
    document: 0,
    connection: 0,
  };
}
