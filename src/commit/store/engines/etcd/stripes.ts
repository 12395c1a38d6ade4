/**
 * The clusters of one log. The first one has epoch, pointer and checkpoints; slots lie in all of them
 * (stripe-table.ts). With one cluster this is just that cluster: no further keys are written or read.
 *
 *   opening   epoch in the first cluster (takeover.ts) ─▶ fence: the same epoch in every other one ─▶ the unbroken run is read
 *             ─▶ bury: slots behind it are removed everywhere ─▶ adopt: clusters that are new get slots from here on ─▶ write
 *
 * S1  A change in a stripe has the condition that the epoch there is the writer's own. Once `fence` has resolved, nothing
 *     of an earlier opening happens in any stripe.
 * S2  Nothing is written after the unbroken run before the slots behind it were removed, so no reader finds those
 *     later.
 * S3  Of two openings the first cluster decides: what another one holds there is all that can be durable.
 */
import { must } from "#base/assert.ts";
import { equalBytes } from "#base/bytes.ts";
import { CorruptionError, FencedError } from "../engine.ts";
import { only, type Calls } from "./calls.ts";
import type { ClusterKey } from "./cluster.ts";
import {
  decodeEpoch,
  decodeFormat,
  decodeStripe,
  encodeStripe,
  encodeStripedFormat,
  isStripe,
  type LogLayout,
} from "./layout.ts";
import * as tables from "./stripe-table.ts";
import { deadSlotsMax, oneStripe, stripesMax, type StripeTable } from "./stripe-table.ts";
import type { HeldEpoch, Writer } from "./writer.ts";

/** The clusters given do not fit the log. */
class StripesError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "StripesError";
  }
}

/** Receives the slots that a cluster pushes. */
type PushedSink = Parameters<Calls["watch"]>[1];

export class Stripes {
  readonly home: Calls;
  readonly #given: readonly Calls[];
  readonly #layout: LogLayout;
  /** The given clusters by stripe number. */
  #numbers: ReadonlyMap<number, Calls>;
  #table: StripeTable = oneStripe;
  /** The table's stored value in the first cluster. */
  #value: Uint8Array | undefined;

  constructor(given: readonly Calls[], layout: LogLayout) {
    this.#given = given;
    this.#layout = layout;
    this.home = must(given[0], "a log has a cluster");
    this.#numbers = new Map([[0, this.home]]);
  }

  /** Whether all slots are in the first cluster. */
  get isPlain(): boolean {
    return tables.isPlain(this.#table);
  }

  /** The cluster that holds a slot. */
  of(slot: number): Calls {
    return this.#numbered(tables.stripeOf(this.#table, slot));
  }

  stripeOf(slot: number): number {
    return tables.stripeOf(this.#table, slot);
  }

  /** The key before `slot` in the same stripe. */
  before(slot: number): string | undefined {
    const before = tables.slotBefore(this.#table, slot);
    return before === undefined ? undefined : this.#layout.slot(before);
  }

  /** The first slot that is not removed when the log begins at `first`: a put checks that its predecessor exists. */
  keptFrom(first: number): number {
    return this.isPlain ? first : Math.max(1, first - deadSlotsMax);
  }

  /** All stripes that the log has or had. */
  get all(): readonly Calls[] {
    return tables.stripesFrom(this.#table, 0).map((stripe) => this.#numbered(stripe));
  }

  watch(sink: PushedSink): { close(): void } {
    const watches = this.#given.map((calls) => calls.watch(this.#layout.slotPrefix, sink));
    return { close: () => watches.forEach((watch) => watch.close()) };
  }

  /** Adopts the first cluster's table. @returns whether it changed. Rejects when one of its stripes was not given. */
  async refresh(value: Uint8Array | undefined): Promise<boolean> {
    if (isSame(value, this.#value)) return false;
    const table = tables.decodeTable(value, this.#layout.stripes);
    await this.#identify();
    for (const stripe of tables.stripesFrom(table, 0)) this.#numbered(stripe);
    this.#table = table;
    this.#value = value;
    return true;
  }

  /** Reads the unbroken run of about `limit` slots from `from` on. Every stripe is read after the call began. */
  async read(from: number, limit: number): Promise<readonly ClusterKey[]> {
    const stripes = tables.stripesFrom(this.#table, from);
    const each = Math.ceil(limit / stripes.length) + 1;
    const found = new Map<number, ReadonlyMap<number, ClusterKey>>();
    const ask = async (stripe: number): Promise<void> => {
      const [keys = []] = await this.#numbered(stripe).read([this.#layout.slots(from, each)]);
      found.set(stripe, new Map(keys.map((one) => [this.#layout.slotNumber(one.key), one])));
    };
    await Promise.all(stripes.map(ask));
    return tables.unbrokenRun(this.#table, from, found);
  }

  /** Rejects unless the first cluster is stripe 0 of the log and every stripe was given. */
  async check(): Promise<void> {
    const { format: key, stripes } = this.#layout;
    const [format, table] = await this.home.read([only(key), only(stripes)]);
    const value = format?.[0]?.value;
    if (value !== undefined) decodeFormat(value, key);
    await this.refresh(table?.[0]?.value);
  }

  /** Writes the epoch taken in the first cluster to every stripe. Rejects with FencedError. */
  async fence(epoch: number, held: HeldEpoch): Promise<void> {
    await this.check();
    const others = this.all.filter((calls) => calls !== this.home);
    await Promise.all(others.map((calls) => fenceOne(calls, epoch, held)));
  }

  /** Removes the slots behind the unbroken run, which ends before `next`. */
  async bury(next: number, writer: Writer): Promise<void> {
    if (this.isPlain) return;
    const dead = await Promise.all(this.all.map((calls) => this.#dead(calls, next)));
    const start = this.#layout.slot(next);
    const end = this.#layout.slot(next + deadSlotsMax);
    const bury = this.all.filter((_, at) => dead[at] === true);
    await Promise.all(
      bury.map((calls) => writer.change([{ kind: "delete", start, end }], [], calls)),
    );
  }

  /** Adds given clusters that have no slots yet, from slot `from` on. `kept`: the first slot kept. */
  async adopt(from: number, kept: number, domain: string, writer: Writer): Promise<void> {
    if (this.#given.length === 1) return;
    await this.#identify();
    const known = new Set(tables.stripesFrom(this.#table, from).map((one) => this.#numbered(one)));
    const added = this.#given.filter((calls) => !known.has(calls));
    if (added.length === 0) return;
    if (this.#given.length > stripesMax) throw tooMany(this.#given.length);
    const numbers: number[] = [];
    let next = Math.max(...this.#numbers.keys(), ...tables.stripesFrom(this.#table, 0)) + 1;
    for (const calls of added) {
      const number = this.#numberOf(calls) ?? next++;
      await this.#prepare(calls, number, domain);
      await fenceOne(calls, writer.epoch, writer.held);
      numbers.push(number);
    }
    await this.#identify();
    await this.#extend(numbers, { from, kept: this.keptFrom(kept) }, domain, writer);
  }

  async #extend(
    added: readonly number[],
    at: { readonly from: number; readonly kept: number },
    domain: string,
    writer: Writer,
  ): Promise<void> {
    const { stripes: key, format } = this.#layout;
    const value = tables.encodeTable(tables.extendTable(this.#table, added, at));
    // Prevents versions that do not know stripes from opening this log.
    const mark = { kind: "put", key: format, value: encodeStripedFormat(domain) } as const;
    const operations = [{ kind: "put", key, value } as const, mark];
    const answer = await writer.change(operations, [{ key, value: this.#value }]);
    const stored = await this.home.get(key);
    if (answer === "unmet" && !isSame(stored, value)) {
      await writer.checkHeld();
      throw new FencedError(`${key} was changed by another`);
    }
    await this.refresh(stored);
  }

  /** @returns whether slots exist behind the run. */
  async #dead(calls: Calls, next: number): Promise<boolean> {
    const [keys = []] = await calls.read([this.#layout.slots(next, deadSlotsMax + 1)]);
    const last = keys.at(-1)?.key;
    if (last === undefined) return false;
    if (this.#layout.slotNumber(last) < next + deadSlotsMax) return true;
    throw new CorruptionError(
      `${this.#layout.slot(next)} is missing in ${this.of(next).name}, and ${calls.name} has ${last}: the former was restored to an older state, or somebody deletes in the log`,
    );
  }

  /** Makes a cluster a stripe of this log, if it is empty or was prepared as this stripe before. */
  async #prepare(calls: Calls, number: number, domain: string): Promise<void> {
    const { format: key, prefix } = this.#layout;
    const all = { start: prefix, end: `${prefix.slice(0, -1)}0`, limit: 1 };
    const value = encodeStripe(domain, number);
    const [found, others] = await calls.read([only(key), all]);
    if (isSame(found?.[0]?.value, value)) return;
    const other = others?.[0]?.key;
    if (other !== undefined) throw new StripesError(`${other} is there already, in ${calls.name}`);
    const operations = [{ kind: "put", key, value } as const];
    await calls.change({ conditions: [{ key, value: undefined }], operations });
    if (isSame(await calls.get(key), value)) return;
    throw new FencedError(`another opening made ${calls.name} a stripe`);
  }

  /** Finds out the stripe number of each cluster. */
  async #identify(): Promise<void> {
    const { format } = this.#layout;
    const values = await Promise.all(this.#given.map((calls) => calls.get(format)));
    const numbers = new Map([[0, this.home]]);
    for (const [at, value] of values.entries()) {
      const calls = must(this.#given[at], "a cluster that was asked");
      if (at === 0 || value === undefined) continue;
      if (!isStripe(value)) throw noStripe(calls);
      const number = decodeStripe(value, format, values[0]);
      const other = numbers.get(number);
      if (other !== undefined) throw named(calls, other);
      numbers.set(number, calls);
    }
    this.#numbers = numbers;
  }

  #numberOf(calls: Calls): number | undefined {
    return [...this.#numbers].find(([, one]) => one === calls)?.[0];
  }

  #numbered(stripe: number): Calls {
    const calls = this.#numbers.get(stripe);
    if (calls !== undefined) return calls;
    throw new StripesError(
      `the log has a stripe ${stripe} that was not named: name each of its etcd clusters with an --etcd-servers of its own`,
    );
  }
}

/** Fences a stripe other than the first; an opening with a later epoch may have fenced it already. */
async function fenceOne(calls: Calls, epoch: number, { key, value }: HeldEpoch): Promise<void> {
  for (;;) {
    const seen = await calls.get(key);
    if (isSame(seen, value)) return;
    if (seen !== undefined && decodeEpoch(seen, key) >= epoch) {
      throw new FencedError(`epoch ${epoch} came after a later one in ${calls.name}`);
    }
    const operations = [{ kind: "put", key, value } as const];
    await calls.change({ conditions: [{ key, value: seen }], operations });
  }
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalBytes(a, b);
}

function noStripe(calls: Calls): StripesError {
  return new StripesError(
    `${calls.name} is the first cluster of a log: name it in the first --etcd-servers, and every cluster once`,
  );
}

function named(calls: Calls, other: Calls): StripesError {
  return new StripesError(
    `${calls.name} and ${other.name} are the same stripe: name each cluster once`,
  );
}

function tooMany(count: number): StripesError {
  return new StripesError(`a log has at most ${stripesMax} stripes, and ${count} were named`);
}
