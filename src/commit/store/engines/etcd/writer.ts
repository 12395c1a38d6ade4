/**
 * The changes of one opening. Each change has the condition that the epoch is still its own, so no change of a
 * deposed opening ever takes effect.
 */
import { equalBytes } from "#base/bytes.ts";
import { CorruptionError, FencedError } from "../engine.ts";
import type { AppendBatch } from "../engine.ts";
import type { Calls } from "./calls.ts";
import type { Condition, Operation } from "./cluster.ts";
import { encodePart, partHeaderBytes } from "./parts.ts";

/** No etcd in use has a request limit below this. */
const partBytesMin = 4096;

interface WriterDeps {
  /** Calls to the log's first cluster. */
  readonly calls: Calls;
  readonly epoch: number;
  readonly held: HeldEpoch;
}

/** The epoch key with this opening's value, which is the condition of every change. */
export interface HeldEpoch extends Condition {
  readonly value: Uint8Array;
}

type Batch = Pick<AppendBatch, "buffers" | "bytes" | "lastRevision">;

/** The keys for the parts of a batch. */
interface Place {
  readonly keyOf: (index: number) => string;
  /** The key that must exist in the same cluster before part `index` is put; undefined: none. */
  readonly afterOf: (index: number) => string | undefined;
  /** The cluster of part `index`; absent: the log's first cluster. */
  readonly callsOf?: (index: number) => Calls;
  /** Settles once it is certain whether the preceding part exists; undefined: it exists. */
  readonly earlier?: Promise<void> | undefined;
  /** Called when the cluster refuses a request of that size. Throws if the batch must not be split. */
  readonly beforeCut?: (bytes: number) => void;
}

/** The bytes `from` to `until` of a batch, as its part number `index`. */
interface Part {
  readonly key: string;
  readonly calls: Calls;
  /** The key that must exist before the part is put. */
  readonly after: string | undefined;
  readonly batch: Batch;
  readonly index: number;
  readonly from: number;
  readonly until: number;
}

export class Writer {
  readonly #calls: Calls;
  readonly held: HeldEpoch;
  readonly epoch: number;
  #partBytes: number;
  /** The largest request that each cluster has accepted. */
  readonly #takenBytes = new Map<Calls, number>();

  /** `partBytes`: the assumed request size limit, lowered by the first refusal. */
  constructor({ calls, epoch, held }: WriterDeps, options: { readonly partBytes: number }) {
    this.#calls = calls;
    this.held = held;
    this.epoch = epoch;
    this.#partBytes = options.partBytes;
  }

  /** Bytes of a batch per request. */
  get partBytes(): number {
    return this.#partBytes - partHeaderBytes;
  }

  /** Whether that cluster has accepted a request of this size before. */
  takesAtOnce(bytes: number, calls: Calls): boolean {
    const takenBytes = this.#takenBytes.get(calls) ?? 0;
    return bytes + partHeaderBytes <= Math.min(takenBytes, this.#partBytes);
  }

  /**
   * Puts the parts of a batch, in order. Each part has a key that must be free; the key before it must exist.
   * @returns the number of parts.
   */
  async putParts(batch: Batch, place: Place): Promise<number> {
    const { keyOf, afterOf, callsOf = () => this.#calls } = place;
    let from = 0;
    let index = 0;
    while (from < batch.bytes) {
      const until = Math.min(batch.bytes, from + this.partBytes);
      const [key, after, calls] = [keyOf(index), afterOf(index), callsOf(index)];
      const part = { key, after, calls, batch, index, from, until };
      const placed = await this.#putPart(part, place.earlier);
      if (placed === "too-large") {
        place.beforeCut?.(until - from + partHeaderBytes);
        this.#shrink(until - from + partHeaderBytes);
      } else {
        from = placed;
        index++;
      }
    }
    return index;
  }

  /** Makes an idempotent change. Throws FencedError. */
  async change(
    operations: readonly Operation[],
    conditions: readonly Condition[] = [],
    calls: Calls = this.#calls,
  ): Promise<"changed" | "unmet"> {
    const answer = await calls.change({
      conditions: [this.held, ...conditions],
      operations,
    });
    if (answer === "too-large") throw new Error("a request without values is too large for etcd");
    if (answer === "unmet" && conditions.length === 0) throw this.#fenced();
    return answer;
  }

  /** Throws FencedError unless this opening still holds the epoch. */
  async checkHeld(calls: Calls = this.#calls): Promise<void> {
    const { key, value } = this.held;
    const found = await calls.get(key);
    if (found === undefined || !equalBytes(found, value)) {
      throw this.#fenced();
    }
  }

  /** @returns the offset up to which the batch is in the log now. */
  async #putPart(part: Part, earlier: Promise<void> | undefined): Promise<number | "too-large"> {
    const answer = await this.#tryPart(part);
    if (answer !== "unmet") return answer;
    if (earlier !== undefined) {
      // The request may have arrived before the part that it follows.
      await earlier;
      return this.#putPart(part, undefined);
    }
    const { key, after, calls } = part;
    await this.checkHeld(calls);
    if (after !== undefined && (await calls.get(after)) === undefined) throw restored(after);
    throw new CorruptionError(`${key} is taken, though epoch ${this.epoch} holds the log`);
  }

  /** "unmet": the preceding part does not exist. */
  async #tryPart(part: Part): Promise<number | "too-large" | "unmet"> {
    const { key, after, calls, until } = part;
    const value = this.#encode(part);
    const follows = after === undefined ? [] : [{ key: after, value: "any" } as const];
    const answer = await calls.change({
      conditions: [this.held, { key, value: undefined }, ...follows],
      operations: [{ kind: "put", key, value }],
    });
    if (answer === "unmet") return this.#findPart(part);
    if (answer === "too-large") return answer;
    this.#takenBytes.set(calls, Math.max(this.#takenBytes.get(calls) ?? 0, value.length));
    return until;
  }

  /** Looks for a part whose answer was lost; it may have been put before parts became smaller. */
  async #findPart(part: Part): Promise<number | "unmet"> {
    const found = await part.calls.get(part.key);
    if (found === undefined) return "unmet";
    const until = part.from + found.length - partHeaderBytes;
    const isPart = until > part.from && until <= part.batch.bytes;
    return isPart && equalBytes(found, this.#encode({ ...part, until })) ? until : "unmet";
  }

  #encode({ batch, index, from, until }: Omit<Part, "calls">): Uint8Array {
    const { buffers, bytes, lastRevision } = batch;
    const header = { epoch: this.epoch, index, isLast: until === bytes, lastRevision };
    return encodePart(header, buffers, from, until);
  }

  /** `refusedBytes`: append and checkpoint may both report the same refusal. */
  #shrink(refusedBytes: number): void {
    if (refusedBytes <= partBytesMin) {
      throw new Error(`the etcd cluster takes no request of ${refusedBytes} bytes`);
    }
    this.#partBytes = Math.min(this.#partBytes, Math.max(partBytesMin, refusedBytes >> 1));
  }

  #fenced(): FencedError {
    return new FencedError(
      `epoch ${this.epoch} no longer holds the log: another process has taken it over`,
    );
  }
}

function restored(key: string): CorruptionError {
  return new CorruptionError(
    `${key} was there and is gone: the etcd cluster was restored to an older state, or somebody deletes in the log`,
  );
}
