/**
 * Replicas over one log in a model cluster. Each follows the log, reads, and has a watch; some take the log over and
 * write. At the end the answers of all writers, readers and watchers are compared.
 */
import { silentLog } from "#platform/log.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { FellBehindError } from "../engines/engine.ts";
import { EtcdEngine } from "../engines/etcd/engine.ts";
import type { LogCluster } from "../engines/etcd/cluster.ts";
import { Lives } from "../engines/etcd/testing/lives.ts";
import { ModelCluster } from "../engines/etcd/testing/model-cluster.ts";
import { Network, type Life } from "../engines/etcd/testing/network.ts";
import { openReplica, type Replica } from "../replica.ts";
import type { Key, Revision } from "../store.ts";
import { bytes, key, smallOptions, TestSink } from "./fixture.ts";

const options = {
  ...smallOptions,
  prefix: "/log/",
  name: "",
  partBytes: 4000,
  segmentBytes: 2000,
  checkpointLogBytes: 3000,
  pace: { appendsMax: 4, besideMs: 5, gatherMs: 2 },
  giveUpMs: 2000,
  lookMs: 500,
};
const faultySteps = 900;
const calmStepsMax = 3000;
const calmWrites = 3;
const replicasAtOnce = 3;
const keys = 6;

/** `stripe` 0: the log's first cluster. */
export type Plant = (cluster: LogCluster, stripe: number) => LogCluster;

interface Outcome {
  readonly problems: readonly string[];
  readonly writes: number;
  readonly takeovers: number;
  readonly reads: number;
  /** Number of replicas whose watch continued across their own takeover. */
  readonly watchedOver: number;
}

export function simulateReplicas(
  seed: number,
  plant: Plant = (one) => one,
  stripes: number = 1,
): Promise<Outcome> {
  return new Simulation(seed, plant, stripes).run();
}

/** A replica and the commits that its watch of all keys received. */
interface Watched {
  readonly name: string;
  readonly from: number;
  readonly sink: TestSink;
  tookOver: boolean;
}

class Simulation {
  readonly #random: FakeRandom;
  readonly #plant: Plant;
  readonly #model = new ModelCluster({ requestBytesMax: 8000 });
  /** The stripes other than the first. */
  readonly #others: readonly ModelCluster[];
  readonly #network: Network;
  readonly #problems: string[] = [];
  readonly #lives = new Lives(this.#problems, (life) => this.#live(life));
  readonly #watched: Watched[] = [];
  /** Acknowledged writes by revision. */
  readonly #acknowledged = new Map<number, string>();
  #newest = 0;
  #writes = 0;
  #takeovers = 0;
  #reads = 0;

  constructor(seed: number, plant: Plant, stripes: number) {
    this.#random = new FakeRandom(seed);
    const other = (): ModelCluster => new ModelCluster({ requestBytesMax: 8000 });
    this.#others = Array.from({ length: stripes - 1 }, other);
    this.#plant = plant;
    this.#network = new Network(this.#model, this.#random);
  }

  async run(): Promise<Outcome> {
    for (let step = 0; step < faultySteps; step++) {
      this.#disturb();
      await this.#network.step();
    }
    this.#network.hasFaults = false;
    for (const life of this.#lives.all) life.pausedSteps = 0;
    const before = this.#writes;
    for (let step = 0; step < calmStepsMax && this.#writes < before + calmWrites; step++) {
      if (this.#lives.all.size === 0) this.#lives.start();
      await this.#network.step();
    }
    if (this.#writes < before + calmWrites) this.#problems.push("no write once faults stopped");
    for (const life of this.#lives.all) this.#lives.crash(life);
    await this.#compare();
    return {
      problems: this.#problems,
      writes: this.#writes,
      takeovers: this.#takeovers,
      reads: this.#reads,
      watchedOver: this.#watched.filter(({ tookOver, sink }) => tookOver && sink.commits.length > 0)
        .length,
    };
  }

  #disturb(): void {
    const chance = this.#random.below(100);
    if (chance < 4 && this.#lives.all.size < replicasAtOnce) this.#lives.start();
    if (this.#lives.all.size === 0) return;
    const one = this.#random.pick([...this.#lives.all]);
    if (chance === 99 && this.#random.chance(0.5)) this.#lives.crash(one);
    if (chance === 98) one.pausedSteps = this.#random.below(80);
  }

  #open(life: Life): Promise<Replica> {
    const clock = this.#network.clock(life);
    const random = this.#random.fork();
    const cluster = this.#plant(this.#network.cluster(life), 0);
    const stripes = this.#others.map((model, at) =>
      this.#plant(this.#network.cluster(life, model), at + 1),
    );
    const engine = new EtcdEngine({ cluster, stripes, clock, random, log: silentLog }, options);
    return openReplica({ clock, random, log: silentLog, engine }, options);
  }

  /** A request of a crashed holder may still trim the log. */
  async #openAtLast(life: Life): Promise<Replica> {
    for (;;) {
      try {
        return await this.#open(life);
      } catch (error) {
        if (!(error instanceof FellBehindError)) throw error;
      }
    }
  }

  async #live(life: Life): Promise<void> {
    const replica = await this.#open(life);
    const watched = this.#watch(life, replica);
    replica.listen((error) => this.#lives.failed(life, error));
    let failure: Error | undefined;
    void replica.failed.then((error) => (failure = error));
    while (!life.isCrashed && failure === undefined) {
      await this.#read(life, replica);
      if (replica.isOwner) await this.#write(life, replica);
      else if (this.#random.chance(0.1) && (await replica.takeOver(replica.holder))) {
        watched.tookOver = true;
        this.#takeovers++;
      }
    }
    if (failure !== undefined) throw failure;
  }

  #watch({ name }: Life, replica: Replica): Watched {
    const sink = new TestSink();
    const from = replica.commitRevision;
    replica.watch({ start: "" as Key, end: "\u00ff" as Key }, from, sink);
    const watched = { name, from, sink, tookOver: false };
    this.#watched.push(watched);
    return watched;
  }

  /** A read that begins now must include everything acknowledged before. */
  async #read({ name }: Life, replica: Replica): Promise<void> {
    const newest = this.#newest;
    const seen = await replica.latest();
    this.#reads++;
    if (seen < newest) this.#problems.push(`${name} read ${seen} after ${newest} was acknowledged`);
  }

  async #write({ name }: Life, replica: Replica): Promise<void> {
    if (this.#random.chance(0.1)) return this.#compact(replica);
    const names = Array.from({ length: 1 + this.#random.below(3) }, () => this.#random.below(keys));
    const results = names.map(async (at) => {
      const text = `${name} ${this.#random.below(1e9)}`.padEnd(60 * (at + 1));
      const result = await replica.put(key(`k${at}`), bytes(text), {});
      if (result.kind !== "committed") return;
      this.#writes++;
      this.#acknowledged.set(result.revision, text);
      this.#newest = Math.max(this.#newest, result.revision);
    });
    await Promise.all(results);
  }

  async #compact(replica: Replica): Promise<void> {
    const { commitRevision, compactRevision } = replica;
    const revision = commitRevision - this.#random.below(20);
    if (revision > compactRevision) await replica.compact(revision as Revision);
  }

  /** Compares acknowledged writes, watches, and the log as a new replica reads it. */
  async #compare(): Promise<void> {
    const told = new Map<number, string>();
    for (const watched of this.#watched) this.#compareWatch(watched, told);
    for (const [revision, text] of this.#acknowledged) {
      const seen = told.get(revision);
      if (seen !== undefined && seen !== text) {
        this.#problems.push(`${revision} was acknowledged as ${text}, and watched as ${seen}`);
      }
    }
    await this.#compareState();
  }

  #compareWatch({ name, from, sink }: Watched, told: Map<number, string>): void {
    let last = from;
    for (const { revision, events } of sink.commits) {
      if (revision !== last + 1) this.#problems.push(`${name}: ${revision} came after ${last}`);
      last = revision;
      const [event] = events;
      const text = event?.kind === "put" ? new TextDecoder().decode(event.kv.value) : "";
      const other = told.get(revision) ?? text;
      if (other !== text) this.#problems.push(`${name}: ${revision} is ${text}, and ${other}`);
      told.set(revision, text);
    }
  }

  async #compareState(): Promise<void> {
    const life = { name: "reader", isCrashed: false, pausedSteps: 0 };
    let replica: Replica | undefined;
    this.#openAtLast(life)
      .then((opened) => (replica = opened))
      .catch((error: unknown) => this.#problems.push(`reader: ${String(error)}`));
    for (let step = 0; step < calmStepsMax && replica === undefined; step++) {
      await this.#network.step();
    }
    const found = replica?.range({ start: "" as Key, end: "\u00ff" as Key });
    if (found?.kind !== "ok") return void this.#problems.push("the log cannot be read");
    if (found.revision < this.#newest) this.#problems.push(`the log ends before ${this.#newest}`);
    for (const { modRevision, value } of found.kvs) {
      const text = this.#acknowledged.get(modRevision);
      const stored = new TextDecoder().decode(value);
      if (text !== undefined && text !== stored) {
        this.#problems.push(`${modRevision} was acknowledged as ${text}, and is ${stored}`);
      }
    }
  }
}
