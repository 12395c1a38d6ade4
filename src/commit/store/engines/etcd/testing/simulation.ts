/**
 * Writers that contend for one log: each opens it, appends batches and makes checkpoints until it is deposed
 * or crashes, and another one comes. The acknowledgements are compared with the contents of the log.
 */
import { silentLog } from "#platform/log.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { RecordKind, RecordReader, recordSize, recordSpace, writeRecord } from "../../../record.ts";
import type { AppendBatch, CheckpointSource, ReplaySink } from "../../engine.ts";
import type { Change, LogCluster } from "../cluster.ts";
import { EtcdEngine } from "../engine.ts";
import { decodeEpoch, decodePointer, LogLayout } from "../layout.ts";
import { ModelChunks } from "./model-chunks.ts";
import { Lives } from "./lives.ts";
import { ModelCluster } from "./model-cluster.ts";
import { Network, type Life } from "./network.ts";

const layout = new LogLayout("/log/");
const options = {
  prefix: layout.prefix,
  partBytes: 8192,
  segmentBytes: 6000,
  checkpointLogBytes: 0,
  name: "",
  pace: { appendsMax: 4, besideMs: 5, gatherMs: 2 },
  giveUpMs: 2000,
  lookMs: 500,
};
/** Request size limits of the members: some are below the first part size, and in some runs they differ. */
const requestBytesMax = [6000, 7000, 10_000] as const;
/** A batch has one to three parts. */
const bodyBytes = 1000;
const faultySteps = 800;
const calmStepsMax = 3000;
const calmAppends = 5;
const livesAtOnce = 3;

/** Plants a bug between engine and cluster. `stripe` 0: the log's first cluster. */
export type Plant = (cluster: LogCluster, model: ModelCluster, stripe: number) => LogCluster;

interface Outcome {
  readonly problems: readonly string[];
  readonly acknowledged: number;
  readonly epochs: number;
  readonly checkpoints: number;
  /** Maximum number of concurrent appends seen. */
  readonly mostBeside: number;
}

export async function simulate(
  seed: number,
  plant: Plant = (cluster) => cluster,
  stripes: number = 1,
): Promise<Outcome> {
  const simulation = new Simulation(seed, plant, stripes);
  return simulation.run();
}

class Simulation {
  readonly #random: FakeRandom;
  readonly #model = new ModelCluster({ requestBytesMax: requestBytesMax[0] });
  /** The stripes other than the first. */
  readonly #others: readonly ModelCluster[];
  /** Number of stripes given to a process that starts; it grows over time. */
  #named: number;
  readonly #network: Network;
  readonly #plant: Plant;
  /** Chance of a start per thousand steps: from one long life with several checkpoints to many takeovers. */
  readonly #startChance: number;
  readonly #problems: string[] = [];
  /** Acknowledged writes by revision, with the epoch of each. */
  readonly #acknowledged = new Map<number, { readonly text: string; readonly epoch: number }>();
  readonly #lives = new Lives(this.#problems, (life) => this.#live(life));
  /** The last epoch that the cluster held. */
  #epoch = 0;
  #checkpointRevision = 0;
  #epochs = 0;
  #checkpoints = 0;
  #appends = 0;
  readonly #outside = new ModelChunks();
  /** Whether checkpoints are stored outside of etcd. */
  readonly #hasOutside: boolean;
  #mostBeside = 0;

  constructor(seed: number, plant: Plant, stripes: number) {
    this.#random = new FakeRandom(seed);
    this.#plant = plant;
    const [requestBytes] = requestBytesMax;
    const other = (): ModelCluster => new ModelCluster({ requestBytesMax: requestBytes });
    this.#others = Array.from({ length: stripes - 1 }, other);
    this.#named = stripes > 1 ? this.#random.below(stripes) : 0;
    this.#hasOutside = this.#random.chance(0.4);
    this.#startChance = this.#random.pick([1, 10, 20, 60]);
    this.#network = new Network(this.#model, this.#random);
    this.#model.requestBytesMax = this.#random.pick(requestBytesMax);
    if (this.#random.chance(0.3)) {
      this.#network.onRequest = () => {
        this.#model.requestBytesMax = this.#random.pick(requestBytesMax);
      };
    }
    this.#model.onChange = (change) => this.#checkChange(change);
    for (const model of this.#others) {
      model.onChange = (change) => this.#checkStripe(model, change);
    }
  }

  async run(): Promise<Outcome> {
    for (let step = 0; step < faultySteps; step++) {
      this.#disturb();
      await this.#network.step();
    }
    this.#named = this.#others.length;
    this.#network.hasFaults = false;
    this.#network.onRequest = () => undefined;
    this.#outside.hasFaults = false;
    for (const life of this.#lives.all) this.#lives.crash(life);
    this.#appends = 0;
    this.#lives.start();
    // Bounded, because an owner checks its epoch at intervals and steps never run out.
    for (let step = 0; step < calmStepsMax && this.#appends < calmAppends; step++) {
      await this.#network.step();
    }
    if (this.#appends < calmAppends) this.#problems.push("no progress once faults stopped");
    for (const life of this.#lives.all) this.#lives.crash(life);
    await this.#readAll();
    const { size: acknowledged } = this.#acknowledged;
    const [epochs, checkpoints] = [this.#epochs, this.#checkpoints];
    const mostBeside = this.#mostBeside;
    return { problems: this.#problems, acknowledged, epochs, checkpoints, mostBeside };
  }

  #disturb(): void {
    const chance = this.#random.below(1000);
    const isAlone = this.#lives.all.size === 0;
    if (this.#named < this.#others.length && this.#random.chance(0.005)) this.#named++;
    if (isAlone || (chance < this.#startChance && this.#lives.all.size < livesAtOnce))
      this.#lives.start();
    const one = this.#random.pick([...this.#lives.all]);
    if (chance >= 1000 - Math.ceil(this.#startChance / 4)) this.#lives.crash(one);
    else if (chance >= 970 && chance < 980) one.pausedSteps = this.#random.below(60);
  }

  async #live(life: Life): Promise<void> {
    const engine = this.#engineOf(life);
    const state = new State();
    const { epoch } = await engine.open(state, "next");
    this.#epochs++;
    this.#checkState(life.name, state, epoch);
    const underWay: Promise<void>[] = [];
    for (let isCheckpointing = false; !life.isCrashed;) {
      const revision = state.head - this.#random.below(3);
      const isNewer = revision > Math.max(1, engine.stats().checkpointRevision);
      if (!isCheckpointing && isNewer && this.#random.chance(0.5)) {
        isCheckpointing = true;
        engine
          .checkpoint(state.checkpointAt(revision))
          .then(() => this.#checkpoints++)
          .catch((error: unknown) => this.#lives.failed(life, error))
          .finally(() => (isCheckpointing = false));
      }
      const added = state.next(1 + this.#random.below(12), `${life.name} in ${epoch}`);
      const appended = engine
        .append(batchOf(epoch, added))
        .then(() => this.#acknowledge(life.name, epoch, state, added));
      appended.catch(() => undefined);
      underWay.push(appended);
      this.#mostBeside = Math.max(this.#mostBeside, underWay.length);
      while (underWay.length > this.#random.below(options.pace.appendsMax)) await underWay.shift();
    }
  }

  #acknowledge(
    name: string,
    epoch: number,
    state: State,
    added: ReadonlyMap<number, string>,
  ): void {
    for (const [revision, text] of added) {
      if (revision !== state.head + 1) {
        this.#problems.push(`${name}: ${revision} was acknowledged after ${state.head}`);
      }
      state.texts.set(revision, text);
      if (this.#acknowledged.has(revision)) {
        this.#problems.push(`${name}: revision ${revision} was acknowledged twice`);
      }
      this.#acknowledged.set(revision, { text, epoch });
    }
    this.#appends++;
  }

  #engineOf(life: Life): EtcdEngine {
    const cluster = this.#plant(this.#network.cluster(life), this.#model, 0);
    const stripes = this.#others
      .slice(0, this.#named)
      .map((model, at) => this.#plant(this.#network.cluster(life, model), model, at + 1));
    const clock = this.#network.clock(life);
    const random = this.#random.fork();
    const chunks = this.#hasOutside ? this.#outside.store(clock, this.#random.fork()) : undefined;
    return new EtcdEngine({ cluster, stripes, clock, random, chunks, log: silentLog }, options);
  }

  async #readAll(): Promise<void> {
    const life = { name: "reader", isCrashed: false, pausedSteps: 0 };
    const state = new State();
    let isOpen = false;
    this.#engineOf(life)
      .open(state, "next")
      .then(() => (isOpen = true))
      .catch((error: unknown) => this.#problems.push(`reader: ${String(error)}`));
    for (let step = 0; step < calmStepsMax && !isOpen; step++) await this.#network.step();
    this.#checkState("reader", state, Number.POSITIVE_INFINITY);
  }

  /** A later epoch may write while this opening still reads; its writes may be missing here. */
  #checkState(name: string, { texts, head }: State, until: number): void {
    for (let revision = 2; revision <= head; revision++) {
      if (!texts.has(revision)) this.#problems.push(`${name}: revision ${revision} is missing`);
    }
    for (const [revision, { text, epoch }] of this.#acknowledged) {
      const found = texts.get(revision);
      if (found === text || epoch >= until) continue;
      this.#problems.push(`${name}: ${revision} was acknowledged as ${text}, and is ${found}`);
    }
  }

  /** Checks every change of the cluster by any writer. */
  #checkChange({ operations }: Change): void {
    const stored = this.#model.get(layout.pointer);
    const { first, revision, id, chunks, place } = decodePointer(stored, layout.pointer);
    const found =
      place === undefined
        ? this.#model.count(layout.chunks(id, 0, 0))
        : this.#outside.count(place, id);
    if (found !== chunks) {
      this.#problems.push(`the checkpoint at ${revision} has lost chunks`);
    }
    if (revision < this.#checkpointRevision) {
      this.#problems.push(`a checkpoint at ${revision} followed ${this.#checkpointRevision}`);
    }
    this.#checkpointRevision = revision;
    for (const one of operations) {
      if (one.kind === "put") {
        if (one.key === layout.epoch) this.#checkEpoch(one.value);
        if (one.key.startsWith("/log/slot/")) {
          this.#checkSlot(this.#model, one.key, one.value);
          this.#checkDense(one.key, first);
        }
      } else if (this.#isTooFar(one, first)) {
        this.#problems.push(`slots up to ${one.end} were deleted, and ${first} is the first`);
      }
    }
  }

  /** A new holder removes what lies behind the unbroken run; the acknowledged writes check that. */
  #isTooFar(one: { readonly start: string; readonly end: string }, first: number): boolean {
    if (!one.start.startsWith("/log/slot/")) return false;
    const isTrim = this.#others.length === 0 || layout.slotNumber(one.start) < first;
    return isTrim && layout.slotNumber(one.end) > first;
  }

  /** Checks every change of a stripe other than the first. */
  #checkStripe(model: ModelCluster, { operations }: Change): void {
    for (const one of operations) {
      if (one.kind === "put" && one.key.startsWith("/log/slot/")) {
        this.#checkSlot(model, one.key, one.value);
      }
    }
  }

  #checkEpoch(value: Uint8Array): void {
    const epoch = decodeEpoch(value, layout.epoch);
    if (epoch <= this.#epoch) this.#problems.push(`epoch ${this.#epoch} was followed by ${epoch}`);
    this.#epoch = epoch;
  }

  #checkSlot(model: ModelCluster, key: string, value: Uint8Array): void {
    const held = decodeEpoch(model.get(layout.epoch) as Uint8Array, layout.epoch);
    const epoch = new DataView(value.buffer, value.byteOffset).getUint32(4, true);
    if (epoch !== held) this.#problems.push(`${key} of epoch ${epoch}, while ${held} held the log`);
  }

  #checkDense(key: string, first: number): void {
    if (this.#others.length > 0) return;
    const number = layout.slotNumber(key);
    const isDense = number <= first || this.#model.get(layout.slot(number - 1)) !== undefined;
    if (!isDense) this.#problems.push(`${key} came before the slot before it`);
  }
}

/** The state of a writer: the text put at each revision. */
class State implements ReplaySink {
  readonly texts = new Map<number, string>();
  /** The last revision assigned. */
  #next = 0;

  get head(): number {
    return this.texts.size === 0 ? 1 : Math.max(...this.texts.keys());
  }

  checkpoint(): void {
    this.texts.clear();
  }

  records(bytes: Uint8Array): void {
    const reader = new RecordReader(bytes);
    for (let at = 0; at < bytes.length; at += reader.size(at)) {
      this.texts.set(reader.revision(at), new TextDecoder().decode(reader.body(at)).trimEnd());
    }
  }

  next(count: number, text: string): ReadonlyMap<number, string> {
    const head = Math.max(this.head, this.#next);
    this.#next = head + count;
    return new Map(Array.from({ length: count }, (_, i) => [head + 1 + i, `${text}, ${i}`]));
  }

  checkpointAt(revision: number): CheckpointSource {
    const records = [...this.texts]
      .filter(([at]) => at <= revision)
      .map(([at, text]) => record({ epoch: 0, revision: at, batchOffset: 0 }, text));
    return {
      revision,
      next: () => records.shift(),
      quiet: false,
      hurried: new AbortController().signal,
    };
  }
}

function batchOf(epoch: number, added: ReadonlyMap<number, string>): AppendBatch {
  const buffers: Uint8Array[] = [];
  let bytes = 0;
  let lastRevision = 0;
  for (const [revision, text] of added) {
    const one = record({ epoch, revision, batchOffset: bytes }, text.padEnd(bodyBytes));
    buffers.push(one);
    bytes += one.length;
    lastRevision = revision;
  }
  return { epoch, lastRevision, buffers, bytes, records: buffers.length };
}

function record(
  at: { readonly epoch: number; readonly revision: number; readonly batchOffset: number },
  text: string,
): Uint8Array {
  const body = new TextEncoder().encode(text);
  const bytes = new Uint8Array(recordSize(1, body.length));
  const rest = { kind: RecordKind.put, createRevision: at.revision, version: 1, lease: 0n };
  writeRecord(recordSpace(bytes), 0, { ...at, ...rest }, "k", body);
  return bytes;
}
