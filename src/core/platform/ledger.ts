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

/** What is held, for metrics and messages. */
export type HeldKind =
  /** Bytes of a request, from the first one read to the end of its handler. */
  | "body"
  /** What was made of a body: text, data, the object. */
  | "object"
  /** Entries of a list while its answer is made. */
  | "snapshot"
  /** An object and its copies while a patch is applied. */
  | "patch"
  /** Bytes that are not with the client yet. */
  | "answer"
  /** An open stream: its selectors, its position. */
  | "watch"
  /** Frames of a stream that its client has not taken. */
  | "frames"
  /** What is made when it is first asked for: documents, tables, schemas. */
  | "document"
  /** A socket, with what the host keeps for it. Their number is bounded where they are accepted. */
  | "connection";

export interface LedgerLimits {
  /** Of one caller: a user, or an address where no user is known. */
  readonly callerBytesMax: number;
  readonly namespaceBytesMax: number;
  readonly totalBytesMax: number;
  /** Of the total, for callers that hold no more than `smallBytesMax` each. */
  readonly reservedBytes: number;
  /** A caller that holds this little is refused only when all of the total is held. */
  readonly smallBytesMax: number;
  /** What one answer of shared pieces is charged with at most: they are in memory once for all readers. */
  readonly sharedAnswerBytesMax: number;
  readonly accountsMax: number;
}

/** Whose limit a refusal is about. */
type RefusedBy = "caller" | "namespace" | "process";

/** For the debug page and tests. */
interface Held {
  readonly name: string;
  readonly bytes: number;
}

interface Account {
  readonly name: string;
  /** Without its connections. */
  bytes: number;
  connectionBytes: number;
  /** Holdings that are open: the account is not forgotten. */
  open: number;
}

/** Of what is not reserved. Three greedy callers in a row leave an eighth of it free. */
const tightShare = 7 / 8;

/** Of who comes when there is no room for another account. */
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

  /** All that is held now, connections too. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The most that was held at once. */
  get mostBytes(): number {
    return this.#mostBytes;
  }

  /** Little more than the reserve is free: what makes no progress should go sooner. */
  get isTight(): boolean {
    const { totalBytesMax, reservedBytes } = this.limits;
    return this.#bytes - this.#byKind.connection > (totalBytesMax - reservedBytes) * tightShare;
  }

  /** Callers and namespaces that are remembered. */
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

  /** Those that hold most, connections included, the greatest first. Looks at each account: for a page that a human asks for. */
  largest(count: number): readonly Held[] {
    const all = [...this.#accounts.values(), this.#others]
      .map(({ name, bytes, connectionBytes }) => ({ name, bytes: bytes + connectionBytes }))
      .filter(({ bytes }) => bytes > 0);
    return all.toSorted((a, b) => b.bytes - a.bytes).slice(0, count);
  }

  /** `namespace`: "" for none. To be closed. */
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
    // A crowd of quiet connections is bounded by their number, and must not refuse requests.
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

  /** The oldest accounts that hold nothing; those that do are passed over, and looked at again last. */
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

/** Accounts that are looked at to find one to forget. */
const looksMax = 8;

interface Book {
  refusalOf(caller: Account, namespace: Account | undefined, bytes: number): RefusedBy | undefined;
  add(kind: HeldKind, bytes: number): void;
  noteRefused(by: RefusedBy): void;
  readonly limitOf: (by: RefusedBy) => number;
  readonly most: number;
}

/** In the order of metrics. */
export const heldKinds = Object.keys(nothingHeld()) as readonly HeldKind[]; // its keys are the kinds

/** What one request, stream or connection holds. */
export interface Holding {
  /** @returns false when a limit is in the way: nothing was charged, and `refusal` says which. */
  take(kind: HeldKind, bytes: number): boolean;
  /** What is there whether charged or not: an answer of a few words, a connection that was accepted. */
  force(kind: HeldKind, bytes: number): void;
  /** At most what was taken of this kind. */
  give(kind: HeldKind, bytes: number): void;
  /** Gives everything back; later calls charge nothing, and are refused nothing. Idempotent. */
  close(): void;
  readonly bytes: number;
  /** Of the last `take` that returned false. */
  readonly refusal: Refusal | undefined;
}

export interface Refusal {
  readonly by: RefusedBy;
  /** In bytes: what was asked for, what the caller holds, and the limit that is in the way. */
  readonly asked: number;
  readonly held: number;
  readonly limit: number;
  /** What a caller can hold when nobody else holds anything: with more there is no use in coming again. */
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
  /** By kind; made with the first charge. */
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

/** One shape for all of them. */
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
