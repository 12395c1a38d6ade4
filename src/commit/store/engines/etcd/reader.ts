/**
 * Reads slots, and a checkpoint's chunks, in pages. A page holds as many keys as came to about `pageBytesMin`
 * to `pageBytesMax` the last time: etcd bounds an answer by keys only.
 */
import { must } from "#base/assert.ts";
import { equalBytes } from "#base/bytes.ts";
import { CorruptionError, type LogHolder } from "../engine.ts";
import type { Calls } from "./calls.ts";
import { only } from "./calls.ts";
import type { ClusterKey } from "./cluster.ts";
import { decodeHolder, decodePointer, type LogLayout, type Pointer } from "./layout.ts";
import { Joiner, type JoinedBatch } from "./parts.ts";

const pageBytesMin = 2 ** 20;
const pageBytesMax = 4 * pageBytesMin;
const pageKeysMax = 1024;
/** Pushed slots beyond this are dropped, and read later. */
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

/** Batches from a slot on, in order, each once. */
export class SlotReader {
  readonly #calls: Calls;
  readonly #layout: LogLayout;
  readonly #joiner = new Joiner();
  readonly #size = new PageSize();
  #page: readonly ClusterKey[] = [];
  #at = 0;
  #next: number;
  /** Slots that came without a request, one after the other. */
  #pushed: ClusterKey[] = [];
  #pushedBytes = 0;
  /** The part that was read last. */
  #last: Uint8Array | undefined;
  #isDoubted = false;
  /** As of the last page. */
  pointer: Pointer | undefined;
  /** As of the last page. */
  holder: LogHolder = { epoch: 0, name: "" };

  constructor(deps: { readonly calls: Calls; readonly layout: LogLayout }, from: number) {
    this.#calls = deps.calls;
    this.#layout = deps.layout;
    this.#next = from;
  }

  /** The slot after all that was read. */
  get next(): number {
    return this.#next;
  }

  /**
   * The log may be another one: a cluster that was restored. Nothing is taken from it before the last slot that was read
   * is found in it unchanged.
   */
  doubt(): void {
    this.#isDoubted = this.#last !== undefined;
    this.#forgetPushed();
  }

  /** Takes slots that came without a request. Those that do not follow the others are dropped. */
  push(keys: readonly ClusterKey[]): void {
    for (const one of keys) {
      const number = this.#layout.slotNumber(one.key);
      const last = this.#pushed.at(-1);
      if (last !== undefined && number !== this.#layout.slotNumber(last.key) + 1)
        this.#forgetPushed();
      if (number < this.#next || this.#pushedBytes > pushedBytesMax) continue;
      this.#pushed.push(one);
      this.#pushedBytes += one.value.length;
    }
  }

  /**
   * "end": everything was read that is durable by now, or that was pushed. "trimmed": the next slot is no longer
   * kept. "another": this is not the log that was read so far.
   */
  async read(what: "all" | "pushed" = "all"): Promise<JoinedBatch | "end" | "trimmed" | "another"> {
    if (this.#isDoubted && what === "pushed") return "end";
    if (this.#isDoubted && !(await this.#isSame())) return "another";
    for (;;) {
      while (this.#at < this.#page.length) {
        const { key, value } = this.#page[this.#at++] as ClusterKey;
        this.#checkDense(key);
        this.#next++;
        this.#last = value;
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

  /** Whether the slot that was read last is there, as it was. */
  async #isSame(): Promise<boolean> {
    const found = await this.#calls.get(this.#layout.slot(this.#next - 1));
    const isSame = found !== undefined && equalBytes(found, must(this.#last, "nothing was read"));
    this.#isDoubted = !isSame;
    return isSame;
  }

  /** The pushed slots are the next page, unless one is missing before them. */
  #takePushed(): boolean {
    const from = this.#pushed.findIndex(({ key }) => key === this.#layout.slot(this.#next));
    const page = from < 0 ? [] : this.#pushed.slice(from);
    const isBehind =
      from < 0 && this.#pushed.length > 0 && this.#isPast(this.#pushed[0] as ClusterKey);
    if (from >= 0 || isBehind) this.#forgetPushed();
    this.#page = page;
    this.#at = 0;
    return page.length > 0;
  }

  #isPast({ key }: ClusterKey): boolean {
    return this.#layout.slotNumber(key) < this.#next;
  }

  #forgetPushed(): void {
    this.#pushed = [];
    this.#pushedBytes = 0;
  }

  async #fetch(): Promise<Pointer> {
    const { pointer: key, epoch } = this.#layout;
    const slots = this.#layout.slots(this.#next, this.#size.keys);
    const [found, page = [], held] = await this.#calls.read([only(key), slots, only(epoch)]);
    const holder = held?.[0]?.value;
    if (holder !== undefined) this.holder = decodeHolder(holder, epoch);
    const pointer = decodePointer(found?.[0]?.value, key);
    this.pointer = pointer;
    this.#page = page;
    this.#at = 0;
    this.#size.saw(page);
    return pointer;
  }

  #checkDense(key: string): void {
    if (key === this.#layout.slot(this.#next)) return;
    throw new CorruptionError(`${this.#layout.slot(this.#next)} is missing before ${key}`);
  }
}

/** The records of a checkpoint. `take` gets whole records and the key that they begin at. */
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
