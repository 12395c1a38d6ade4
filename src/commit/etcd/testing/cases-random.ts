/** A sequence of random calls, determined by a seed. */
import { FakeRandom } from "#platform/testing/random.ts";
import type { Input } from "#wire/etcd-codec.ts";
import type * as m from "#wire/etcd-messages.ts";
import type { SuiteCase } from "./cases-kv.ts";
import { bytes, type Transcript } from "./transcript.ts";

const keys = ["a", "a/b", "b", "b\0", "c", "cc", "\xff"];

export function randomCase(seed: number, calls: number): SuiteCase {
  return {
    name: `${calls} random calls of seed ${seed}`,
    async run(t) {
      const course = new Course(t, seed);
      const w = t.watch();
      await w.ask({ create: { rangeEnd: "\0" } });
      const before = await t.revision();
      for (let i = 0; i < calls; i++) await course.step();
      await t.put("the end", "");
      t.say(`${(await t.revision()) - before} revisions`);
      await course.events(w.stream);
    },
  };
}

class Course {
  readonly #t: Transcript;
  readonly #prng: FakeRandom;

  constructor(t: Transcript, seed: number) {
    this.#t = t;
    this.#prng = new FakeRandom(seed);
  }

  async step(): Promise<void> {
    const dice = this.#prng.below(20);
    const t = this.#t;
    if (dice < 6) await t.put(this.#key(), String(dice), this.#putFlags());
    else if (dice < 10) await t.range(await this.#range());
    else if (dice < 12) await t.deleteRange({ ...this.#span(), prevKv: this.#yes() });
    else if (dice < 19) await t.txn(this.#txn(2));
    else await t.compact((await t.revision()) - this.#prng.below(12));
  }

  /** Events up to that of the last put, in order of arrival. */
  async events(stream: { next(): Promise<m.WatchResponse | undefined> }): Promise<void> {
    for (;;) {
      const response = await stream.next();
      for (const { type, kv, prevKv } of response?.events ?? []) {
        const held = `${kv?.createRevision}/${kv?.version}`;
        const before = prevKv === undefined ? "" : ` was ${prevKv.modRevision}`;
        this.#t.say(
          `event ${type} ${JSON.stringify(kv?.key)} @${kv?.modRevision} ${held}${before}`,
        );
      }
      const last = response?.events.at(-1);
      if (response === undefined || last?.kv?.key === "the end") return;
    }
  }

  #key(): string {
    return keys[this.#prng.below(keys.length)] as string;
  }

  #yes(): boolean {
    return this.#prng.below(2) === 0;
  }

  #span(): { readonly key: string; readonly rangeEnd: string } {
    const ends = ["", "", "\0", this.#key(), "c0"];
    return { key: this.#key(), rangeEnd: ends[this.#prng.below(ends.length)] as string };
  }

  #putFlags(): Input<m.PutRequest> {
    return { prevKv: this.#yes(), ignoreLease: this.#prng.below(5) === 0 };
  }

  async #range(): Promise<Input<m.RangeRequest>> {
    const revision = this.#yes() ? 0 : (await this.#t.revision()) - this.#prng.below(15);
    // Our stable sort leaves ties in key order, etcd's in no order; so the sort targets have no ties.
    const sort = this.#yes()
      ? {}
      : { sortOrder: this.#prng.below(3), sortTarget: this.#yes() ? 0 : 3 };
    const limit = this.#prng.below(4);
    return { ...this.#span(), revision, limit, countOnly: this.#prng.below(6) === 0, ...sort };
  }

  #txn(depth: number): Input<m.TxnRequest> {
    const compare = Array.from({ length: this.#prng.below(3) }, () => this.#compare());
    return { compare, success: this.#ops(depth), failure: this.#ops(depth) };
  }

  #compare(): Input<m.Compare> {
    const target = this.#prng.below(5);
    const number = this.#prng.below(target === 0 ? 3 : 60);
    const fields = [
      { version: number },
      { createRevision: number },
      { modRevision: number },
      { value: bytes(String(number % 6)) },
      { lease: 0n },
    ][target];
    return { ...this.#span(), target, result: this.#prng.below(4), ...fields };
  }

  #ops(depth: number): Input<m.RequestOp>[] {
    return Array.from({ length: this.#prng.below(4) }, () => this.#op(depth));
  }

  #op(depth: number): Input<m.RequestOp> {
    const dice = this.#prng.below(depth > 0 ? 10 : 9);
    if (dice < 4)
      return { put: { key: this.#key(), value: bytes(String(dice)), prevKv: this.#yes() } };
    if (dice < 7) return { range: { ...this.#span(), limit: this.#prng.below(3) } };
    if (dice < 9) return { deleteRange: { ...this.#span(), prevKv: this.#yes() } };
    return { txn: this.#txn(depth - 1) };
  }
}
