/** A follower's position in the log. It reads slots of all writers. */
import { RecordReader } from "../../record.ts";
import type { Tail, TailRead } from "../engine.ts";
import { decodePointer, type LogLayout } from "./layout.ts";
import { SlotReader } from "./reader.ts";
import type { Stripes } from "./stripes.ts";

interface TailDeps {
  readonly stripes: Stripes;
  readonly layout: LogLayout;
}

const nothing = new Uint8Array(0);

export class EtcdTail implements Tail {
  readonly #deps: TailDeps;
  readonly #after: number;
  /** The slot to begin at, if the log is kept from there. */
  readonly #hint: number;
  #slots: SlotReader | undefined;
  #isTrimmed = false;
  #batch: Uint8Array = nothing;
  #at = 0;

  constructor(deps: TailDeps, place: { readonly after: number; readonly hint: number }) {
    this.#deps = deps;
    this.#after = place.after;
    this.#hint = place.hint;
  }

  async read(bytesMax: number): Promise<TailRead> {
    this.#slots ??= await this.#begin();
    while (this.#at === this.#batch.length) {
      const read = this.#isTrimmed ? "trimmed" : await this.#slots.read();
      const batch = read === "another" ? "trimmed" : read;
      if (batch === "trimmed") this.#isTrimmed = true;
      if (typeof batch === "string") return { kind: batch };
      this.#batch = batch.bytes;
      this.#at = this.#firstWanted(batch.bytes);
    }
    return { kind: "records", bytes: this.#records(bytesMax) };
  }

  close(): Promise<void> {
    this.#batch = nothing;
    this.#at = 0;
    return Promise.resolve();
  }

  async #begin(): Promise<SlotReader> {
    const { stripes, layout } = this.#deps;
    const pointer = decodePointer(await stripes.home.get(layout.pointer), layout.pointer);
    if (pointer.first > 1 && this.#after <= pointer.trimmedRevision) this.#isTrimmed = true;
    return new SlotReader(this.#deps, Math.max(pointer.first, this.#hint));
  }

  #firstWanted(batch: Uint8Array): number {
    const reader = new RecordReader(batch);
    let at = 0;
    while (at < batch.length && reader.revision(at) < this.#after) at += reader.size(at);
    return at;
  }

  #records(bytesMax: number): Uint8Array {
    const reader = new RecordReader(this.#batch);
    const start = this.#at;
    let end = start + reader.size(start);
    while (end < this.#batch.length && end + reader.size(end) - start <= bytesMax) {
      end += reader.size(end);
    }
    this.#at = end;
    return this.#batch.slice(start, end);
  }
}
