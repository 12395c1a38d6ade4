/**
 * One run of a seed: a server that fails in every way the seed thought of, clients that go on all
 * the same, then quiet, then the questions whether every promise was kept.
 */
import { must } from "#base/assert.ts";
import { silentLog } from "#platform/log.ts";
import type { Log } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { FakeNetwork } from "#platform/testing/network.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { check, type Problem } from "./checkers/guarantees.ts";
import type { History } from "./checkers/history.ts";
import { crashPlaces, type CrashPlace } from "./crash-points.ts";
import { SimEtcdClient } from "./etcd-client.ts";
import { faultNames, Faults, type FaultMarks, type FaultName } from "./etcd-faults.ts";
import { Member, roomyBytes, type MemberMarks, type Planted } from "./etcd-member.ts";
import { clearAway, keepLease, operate } from "./etcd-operator.ts";
import { takeSnapshots } from "./etcd-snapshots.ts";
import { Watcher, type WatcherMarks, type WatcherPlan } from "./etcd-watcher.ts";
import {
  compact,
  everything,
  holdLeases,
  listLeases,
  readAndWrite,
  spanOf,
} from "./etcd-workload.ts";
import type { WorkloadDeps } from "./etcd-workload.ts";
import type { GrpcNetwork } from "./grpc-network.ts";
import { Recorder } from "./recorder.ts";

export interface Marks {
  readonly member: MemberMarks;
  readonly watchers: WatcherMarks;
  readonly faults: FaultMarks;
}

interface RunResult {
  readonly history: History;
  readonly problems: readonly Problem[];
  readonly marks: Marks;
}

const faultMs = 6000;
/** Longer than the longest lease and every pause, so that anything unfinished by then never finishes. */
const quietMs = 8000;
const stepMs = 100;
const writers = 4;
const holders = 2;
const watchers = 3;
/** Number of watches on the stream of the last watcher. */
const watchesTogether = 3;
const firstKept = 9000;

export async function runSeed(
  seed: number,
  planted: Planted = {},
  log: Log = silentLog,
): Promise<RunResult> {
  const run = new Run(seed, planted, log);
  const history = await run.go();
  return { history, problems: check(history), marks: run.marks };
}

class Run {
  readonly marks: Marks = newMarks();
  readonly #random: FakeRandom;
  readonly #clock = new FakeClock();
  readonly #network: GrpcNetwork;
  readonly #recorder: Recorder;
  readonly #member: Member;
  readonly #faults: Faults;
  readonly #watchers: Watcher[] = [];
  /** A watch of all keys that never lags on its own account. */
  readonly #witness: Watcher;
  #failure: unknown;

  constructor(seed: number, planted: Planted, log: Log) {
    const random = new FakeRandom(seed);
    this.#random = random;
    const clock = this.#clock;
    this.#network = new FakeNetwork({ clock, random: random.fork() });
    this.#recorder = new Recorder(clock);
    const { network, marks } = { network: this.#network, marks: this.marks };
    const memberDeps = { clock, network, random: random.fork(), log, marks: marks.member };
    this.#member = new Member(memberDeps, planted);
    const member = this.#member;
    this.#faults = new Faults({
      clock,
      network,
      random: random.fork(),
      member,
      marks: marks.faults,
    });
    this.#witness = this.#watcher(witnessPlan("witness", 1));
  }

  async go(): Promise<History> {
    const clock = this.#clock;
    this.#guard(this.#member.run());
    await this.#until(() => this.#member.isServing);
    this.#witness.start();
    const untilMs = clock.monotonicMs() + faultMs;
    this.#guard(this.#faults.run(untilMs));
    const work = this.#work(untilMs);
    this.#guard(work);
    await this.#advance(faultMs);
    this.#faults.heal();
    await this.#advance(quietMs / 2);
    this.#recorder.quiet();
    await this.#lastQuestions();
    await this.#advance(quietMs / 2);
    const { quotaBytes } = this.#member;
    const history = this.#recorder.history({ quotaBytes, isRoomy: this.#roomy });
    for (const watcher of this.#watchers) watcher.end();
    this.#member.stop();
    await settle();
    return history;
  }

  /** Runs all clients until `untilMs`. */
  async #work(untilMs: number): Promise<void> {
    const deps = this.#workload();
    const each = (count: number, f: (i: number) => Promise<void>): Promise<void>[] =>
      Array.from({ length: count }, (_, i) => f(i));
    await Promise.all([
      ...each(writers, (i) => readAndWrite(this.#fork(deps), this.#client(`w${i}`), untilMs)),
      ...each(holders, (i) =>
        holdLeases(this.#fork(deps), this.#client(`l${i}`), 1000 * (i + 1), untilMs),
      ),
      listLeases(this.#fork(deps), this.#client("lister"), untilMs),
      compact(this.#fork(deps), this.#client("compactor"), untilMs),
      operate(this.#fork(deps), this.#client("operator"), untilMs),
      keepLease(this.#fork(deps), this.#client("keeper"), firstKept, untilMs),
      ...each(watchers, (i) => this.#watch(this.#fork(deps), i, untilMs)),
      this.#audit(this.#fork(deps), untilMs),
      takeSnapshots(this.#fork(deps), this.#client("snapshotter"), this.#recorder, untilMs),
    ]);
  }

  async #watch(deps: WorkloadDeps, i: number, untilMs: number): Promise<void> {
    const { random } = deps;
    await this.#pause(random.below(2000));
    const count = i === watchers - 1 ? watchesTogether : 1;
    const names = Array.from({ length: count }, (_, at) => `watcher${i + at}`);
    const watcher = this.#watcher(...names.map((name) => this.#plan(random, name, count)));
    watcher.start();
    while (this.#clock.monotonicMs() < untilMs) {
      await this.#pause(random.below(600));
      if (random.chance(0.5)) watcher.askProgress();
      else if (random.chance(0.2)) watcher.restart(random);
      else if (random.chance(0.15)) watcher.cancelOne(random);
    }
  }

  /** Reads the whole history from time to time. It must be the same after every restart. */
  async #audit(deps: WorkloadDeps, untilMs: number): Promise<void> {
    for (let i = 0; this.#clock.monotonicMs() < untilMs; i++) {
      await this.#pause(1000 + deps.random.below(1000));
      this.#watcher(witnessPlan(`auditor${i}`, 1)).start();
    }
  }

  #plan(random: FakeRandom, name: string, together: number): WatcherPlan {
    const fragment = random.chance(0.3);
    const span = fragment ? { key: "a/", end: "b0" } : spanOf(random);
    return {
      name,
      ...span,
      startRevision: random.pick([0, 0, 1, 20, this.#witness.position + 10]),
      noPut: random.chance(0.15),
      noDelete: random.chance(0.15),
      previous: random.chance(0.5),
      fragment,
      // A stream with several watches gets more messages, so its client must be faster to receive all of them in the end.
      slowMs: random.pick([0, 0, 20, Math.floor(150 / together)]),
    };
  }

  /** Sends reads and a write that must be answered now. */
  async #lastQuestions(): Promise<void> {
    const client = this.#client("last");
    const asking = async (): Promise<void> => {
      await client.ask({ kind: "range", ...everything, revision: 0, limit: 0 });
      if (!this.#roomy) await clearAway(client);
      await client.ask({ kind: "put", key: "c", value: "last", lease: "0", ignore: "none" });
      await client.ask({ kind: "leases" });
      await client.ask({ kind: "range", ...everything, revision: 0, limit: 0 });
      for (const watcher of this.#watchers) watcher.askProgress();
    };
    this.#guard(asking());
    await settle();
  }

  /** Whether no operation of the run can have filled the quota or the disk. */
  get #roomy(): boolean {
    return this.#member.quotaBytes === roomyBytes && this.marks.faults["full disk"] === 0;
  }

  #workload(): WorkloadDeps {
    return {
      clock: this.#clock,
      random: this.#random.fork(),
      leases: [],
      seen: () => this.#witness.position,
    };
  }

  #fork(deps: WorkloadDeps): WorkloadDeps {
    return { ...deps, random: deps.random.fork() };
  }

  #client(name: string): SimEtcdClient {
    return new SimEtcdClient({ network: this.#network, recorder: this.#recorder }, name);
  }

  #watcher(...plans: readonly WatcherPlan[]): Watcher {
    const client = this.#client(must(plans[0], "a watcher watches something").name);
    const deps = { client, network: this.#network, recorder: this.#recorder };
    const watcher = new Watcher({ ...deps, marks: this.marks.watchers }, plans);
    this.#watchers.push(watcher);
    return watcher;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after("sim.step", ms, resolve));
  }

  /** An unexpected rejection fails the run. */
  #guard(promise: Promise<unknown>): void {
    promise.catch((error: unknown) => {
      this.#failure ??= error;
    });
  }

  async #advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      await this.#clock.advance(stepMs);
      if (this.#failure !== undefined) throw this.#failure;
    }
  }

  async #until(holds: () => boolean): Promise<void> {
    for (let left = 100; left > 0 && !holds(); left--) await this.#advance(stepMs);
  }
}

function witnessPlan(name: string, startRevision: number): WatcherPlan {
  return {
    name,
    ...everything,
    startRevision,
    noPut: false,
    noDelete: false,
    previous: true,
    fragment: false,
    slowMs: 0,
  };
}

function newMarks(): Marks {
  const faults = Object.fromEntries(faultNames.map((name) => [name, 0])) as Record<
    FaultName,
    number
  >;
  return {
    member: {
      ends: { "power cut": 0, kill: 0, failure: 0, close: 0 },
      damage: { kept: 0, lost: 0, torn: 0 },
      crashes: Object.fromEntries(crashPlaces.map((name) => [name, 0])) as Record<
        CrashPlace,
        number
      >,
      restarts: 0,
      checkpoints: 0,
    },
    watchers: {
      resumed: 0,
      compacted: 0,
      canceled: 0,
      progress: 0,
      streamProgress: 0,
      fragments: 0,
    },
    faults,
  };
}
