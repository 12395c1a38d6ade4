/**
 * Reads slots, and a checkpoint's chunks, in pages. A page asks for as many keys as came to about `pageBytesMin`
 * to `pageBytesMax` the last time, because etcd bounds an answer by keys only.
 */
import { equalBytes } from "#base/bytes.ts";
import { CorruptionError, type LogHolder } from "../engine.ts";
import type { Calls } from "./calls.ts";
import { only } from "./calls.ts";
import type { ClusterKey, KeyRange } from "./cluster.ts";
import { decodeHolder, decodePointer, type LogLayout, type Pointer } from "./layout.ts";
import { Joiner, type JoinedBatch, partEpoch } from "./parts.ts";
import type { Stripes } from "./stripes.ts";

const pageBytesMin = 2 ** 20;
const pageBytesMax = 4 * pageBytesMin;
const pageKeysMax = 1024;
/** Pushed slots beyond this size are dropped and read later. */
const pushedBytesMax = 2 * pageBytesMax;

class PageSize {
  keys = 4;

  saw(page: readonly ClusterKey[]): void {
    let bytes = 0;
    for (const { value } of page) bytes += value.length;
    if (bytes > pageBytesMax) this.keys = Math.max(1, this.keys >> 1);
    else if (bytes < pageBytesMin && page.length === this.keys) {
      this.keys = Math.min(pageKeysMax, this.keys * 2);
    }
  }
}

/** Reads batches from a slot on, in order, each once. */
export class SlotReader {
  readonly #stripes: Stripes;
  readonly #layout: LogLayout;
  readonly #joiner = new Joiner();
  readonly #size = new PageSize();
  #page: readonly ClusterKey[] = [];
  #at = 0;
  #next: number;
  /** Slots pushed by the watch, by number. */
  readonly #pushed = new Map<number, ClusterKey>();
  #pushedBytes = 0;
  /** The part read last from each stripe. */
  readonly #lasts = new Map<number, ClusterKey>();
  /** Epoch of the part read last. */
  #epoch = 0;
  #isDoubted = false;
  /** The pointer as of the last page. */
  pointer: Pointer | undefined;
  /** The holder as of the last page. */
  holder: LogHolder = { epoch: 0, name: "" };

  constructor(deps: { readonly stripes: Stripes; readonly layout: LogLayout }, from: number) {
    this.#stripes = deps.stripes;
    this.#layout = deps.layout;
    this.#next = from;
  }

  /** The slot after everything read so far. */
  get next(): number {
    return this.#next;
  }

  /**
   * Notes that this may be another log, because the cluster was restored. The reader then takes nothing from it until
   * it has found the last slot that it read unchanged, in every stripe.
   */
  doubt(): void {
    this.#isDoubted = this.#lasts.size > 0;
    this.#forgetPushed();
  }

  /** Takes slots pushed by the watch of any stripe. */
  push(keys: readonly ClusterKey[]): void {
    for (const one of keys) {
      const number = this.#layout.slotNumber(one.key);
      if (number < this.#next || this.#pushedBytes > pushedBytesMax) continue;
      this.#pushedBytes += one.value.length - (this.#pushed.get(number)?.value.length ?? 0);
      this.#pushed.set(number, one);
    }
  }

  /**
   * Returns the next batch. "end": everything was read that is durable by now, or that was pushed. "trimmed": the next
   * slot is no longer kept. "another": this is not the log that was read so far.
   */
  async read(what: "all" | "pushed" = "all"): Promise<JoinedBatch | "end" | "trimmed" | "another"> {
    if (this.#isDoubted && what === "pushed") return "end";
    if (this.#isDoubted && !(await this.#isSame())) return "another";
    for (;;) {
      while (this.#at < this.#page.length) {
        const { key, value } = this.#page[this.#at++] as ClusterKey;
        this.#checkDense(key);
        this.#lasts.set(this.#stripes.stripeOf(this.#next), { key, value });
        this.#next++;
        this.#epoch = partEpoch(value);
        const joined = this.#joiner.take(key, value);
        if (joined !== undefined) return joined;
      }
      if (this.#takePushed()) continue;
      if (what === "pushed") return "end";
      const pointer = await this.#fetch();
      if (this.#next < pointer.first) {
        this.#page = [];
        return "trimmed";
      }
      if (this.#page.length === 0) return "end";
    }
  }

  /** Whether the slot read last from each stripe still has the same content. */
  async #isSame(): Promise<boolean> {
    const isAsItWas = async ({ key, value }: ClusterKey): Promise<boolean> => {
      const found = await this.#stripes.of(this.#layout.slotNumber(key)).get(key);
      return found !== undefined && equalBytes(found, value);
    };
    const same = await Promise.all([...this.#lasts.values()].map(isAsItWas));
    this.#isDoubted = same.includes(false);
    return !this.#isDoubted;
  }

  /** Uses the pushed slots as the next page, up to the first missing one. */
  #takePushed(): boolean {
    const page: ClusterKey[] = [];
    let epoch = this.#epoch;
    for (let number = this.#next; ; number++) {
      const one = this.#pushed.get(number);
      // A slot of an earlier epoch was removed before this run continued (stripe-table.ts).
      if (one === undefined || partEpoch(one.value) < epoch) break;
      epoch = partEpoch(one.value);
      page.push(one);
    }
    this.#forgetBefore(this.#next + page.length);
    this.#page = page;
    this.#at = 0;
    return page.length > 0;
  }

  #forgetBefore(next: number): void {
    for (const [number, { value }] of this.#pushed) {
      if (number >= next) continue;
      this.#pushed.delete(number);
      this.#pushedBytes -= value.length;
    }
  }

  #forgetPushed(): void {
    this.#pushed.clear();
    this.#pushedBytes = 0;
  }

  async #fetch(): Promise<Pointer> {
    const { pointer: key, epoch, stripes: table } = this.#layout;
    const keys = [only(key), only(epoch), only(table)];
    for (;;) {
      const [page, [found, held, stripes]] = await this.#fetchPage(keys);
      if (await this.#stripes.refresh(stripes?.[0]?.value)) continue;
      const holder = held?.[0]?.value;
      if (holder !== undefined) this.holder = decodeHolder(holder, epoch);
      const pointer = decodePointer(found?.[0]?.value, key);
      this.pointer = pointer;
      this.#page = page;
      this.#at = 0;
      this.#size.saw(page);
      return pointer;
    }
  }

  /**
   * Fetches a page of slots, and small keys of the first cluster, which are of the page's revision or of a later time.
   * So a missing slot was not durable when this was called, or the pointer says that it is no longer kept.
   */
  async #fetchPage(
    keys: readonly KeyRange[],
  ): Promise<readonly [readonly ClusterKey[], readonly (readonly ClusterKey[])[]]> {
    const { home, isPlain } = this.#stripes;
    if (!isPlain) {
      const page = await this.#stripes.read(this.#next, this.#size.keys);
      return [page, await home.read(keys)];
    }
    const slots = this.#layout.slots(this.#next, this.#size.keys);
    const [page = [], ...small] = await home.read([slots, ...keys]);
    return [page, small];
  }

  #checkDense(key: string): void {
    if (key === this.#layout.slot(this.#next)) return;
    throw new CorruptionError(`${this.#layout.slot(this.#next)} is missing before ${key}`);
  }
}

/** Reads the records of a checkpoint. `take` gets whole records and the key of their chunk. */
export async function readCheckpoint(
  deps: { readonly calls: Calls; readonly layout: LogLayout },
  { id, chunks }: Pointer,
  take: (bytes: Uint8Array, key: string) => void,
): Promise<void> {
  const { calls, layout } = deps;
  const joiner = new Joiner();
  const size = new PageSize();
  for (let next = 0; next < chunks;) {
    const [page = []] = await calls.read([layout.chunks(id, next, size.keys)]);
    size.saw(page);
    if (page.length === 0) throw missingChunk(layout.chunk(id, next));
    for (const { key, value } of page) {
      if (key !== layout.chunk(id, next)) throw missingChunk(layout.chunk(id, next));
      next++;
      const joined = joiner.take(key, value);
      if (joined !== undefined) take(joined.bytes, joined.firstKey);
    }
  }
  if (joiner.hasPart) throw missingChunk(layout.chunk(id, chunks));
}

function missingChunk(key: string): CorruptionError {
  return new CorruptionError(`${key} is missing: the checkpoint is not whole`);
}
