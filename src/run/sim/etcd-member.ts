/**
 * One server over several lives: the store on the simulated disk, the services of the etcd API on
 * the simulated network. It ends by a power cut, by being killed, by its own failure (a failed write
 * or sync), or in order; and is started again, until the run is over.
 */
import { FakeRandom } from "#platform/testing/random.ts";
import type { Log } from "#platform/log.ts";
import type { Disk } from "#platform/disk.ts";
import { AlarmFile } from "#etcd/alarm-file.ts";
import { Alarms, type AlarmMemory } from "#etcd/alarms.ts";
import { etcdMethods, recommendedEtcdLimits } from "#etcd/services.ts";
import type { FullStore } from "#store/full-store.ts";
import { CorruptionError } from "#store/engines/engine.ts";
import type { LocalEngineOptions } from "#store/engines/local/engine.ts";
import { openStore } from "#store/open.ts";
import type { StoreOptions } from "#store/options.ts";
import type { FakeClock } from "#platform/testing/clock.ts";
import { CrashPoints, type CrashPlace, type CrashPlan } from "./crash-points.ts";
import { simMemberId } from "./etcd-messages.ts";
import { FakeDisk } from "#platform/testing/disk.ts";
import type { Damage } from "#platform/testing/disk-inode.ts";
import type { GrpcNetwork, Methods } from "./grpc-network.ts";
import { ProcessClock } from "./process-clock.ts";

/** How a life ends. */
type End = "power cut" | "kill" | "failure" | "close";

export interface MemberMarks {
  readonly ends: Record<End, number>;
  readonly damage: Damage;
  /** By place: number of planned crashes at points and awaits. */
  readonly crashes: Record<CrashPlace, number>;
  restarts: number;
  /** Number of lives that made at least one checkpoint. */
  checkpoints: number;
}

/** Bugs that tests insert between the parts; the simulation has to find them. */
export interface Planted {
  readonly disk?: (disk: FakeDisk) => Disk;
  readonly alarms?: (memory: AlarmMemory) => AlarmMemory;
  readonly store?: (store: FullStore) => FullStore;
  readonly methods?: (methods: Methods) => Methods;
}

/** Small values, so that a short run crosses every limit: segments, checkpoints, batches, backlogs. */
export const storeOptions: Omit<StoreOptions, "quotaBytes"> &
  Pick<LocalEngineOptions, "directory"> = {
  directory: "/data",
  valueBytesMax: 4096,
  batchBytesMax: 8192,
  batchItemsMax: 16,
  slabBytes: 4096,
  watchBatchCommitsMax: 8,
  leasesMax: 100,
};

const etcdOptions = {
  ...recommendedEtcdLimits,
  clusterId: 1n,
  memberId: simMemberId,
  name: "sim",
  clientUrls: () => [],
  progressMs: 500,
  responseBytes: 1024,
  fragmentBytes: 400,
  streamBacklogBytes: 2048,
} as const;

export const roomyBytes = 2 ** 20;
/** Maximum simulated time for a store to open or close. */
const patienceMs = 60_000;
const downMsMax = 300;

interface MemberDeps {
  readonly clock: FakeClock;
  readonly network: GrpcNetwork;
  readonly random: FakeRandom;
  readonly log: Log;
  readonly marks: MemberMarks;
}

interface Life {
  readonly process: ProcessClock;
  readonly points: CrashPoints;
  readonly end: (how: End) => void;
}

export class Member {
  /** Disk of the current life, or of the last one. */
  disk: FakeDisk;
  readonly #deps: MemberDeps;
  readonly #planted: Planted;
  readonly #sizes: Readonly<
    Record<"segmentBytes" | "checkpointLogBytes" | "quotaBytes" | "freeBytesMin", number>
  >;
  /** Ends the current life. Undefined: no life is running. */
  #end: ((how: End) => void) | undefined;
  #points: CrashPoints | undefined;
  #stopping = false;
  #serving = false;
  #store: FullStore | undefined;
  #checkpointRevision = 0;

  constructor(deps: MemberDeps, planted: Planted) {
    this.#deps = deps;
    this.#planted = planted;
    this.disk = new FakeDisk(deps.random.next32());
    // Small segments cause many segments and checkpoints; large segments have zeros written ahead.
    const segmentBytes = deps.random.pick([4096, 16384, 65536]);
    // Either more than a run can fill, or so little that a few seconds of history fill it.
    const quotaBytes = deps.random.pick([roomyBytes, roomyBytes, roomyBytes, 6000, 12_000]);
    const freeBytesMin = deps.random.pick([0, 0, 16_384]);
    this.#sizes = { segmentBytes, checkpointLogBytes: segmentBytes, quotaBytes, freeBytesMin };
  }

  get quotaBytes(): number {
    return this.#sizes.quotaBytes;
  }

  get isServing(): boolean {
    return this.#serving;
  }

  /** Ends the current life, if there is one. */
  end(how: End): void {
    this.#end?.(how);
  }

  /** Crashes the current life where the plan says. */
  crashAt(plan: CrashPlan | undefined): void {
    this.#points?.arm(plan);
  }

  /** Lives until `stop`. Rejects with errors that no crash may cause. */
  async run(): Promise<void> {
    while (!this.#stopping) {
      await this.#live();
      await this.#pause(this.#deps.random.below(downMsMax));
    }
  }

  stop(): void {
    this.#stopping = true;
    this.end("kill");
  }

  async #live(): Promise<void> {
    const { clock, network, marks } = this.#deps;
    const ended = Promise.withResolvers<End>();
    this.#end = ended.resolve;
    const points = new CrashPoints((place) => this.#crash(place, process, ended.resolve));
    const process = new ProcessClock(clock, () => points.pass("timer"));
    this.#points = points;
    this.disk.watchSteps(() => points.pass("disk step"));
    void this.disk.crashed.then(() => ended.resolve("power cut"));
    const opening = this.#open({ process, points, end: ended.resolve });
    const how = await Promise.race([ended.promise, opening.then(() => ended.promise)]);
    this.#end = undefined;
    this.#points = undefined;
    points.arm(undefined);
    this.#serving = false;
    network.down();
    marks.ends[how]++;
    if (how === "close") await this.#close(opening);
    this.#countCheckpoints();
    process.kill();
    const powerCut = how === "power cut" || this.#deps.random.chance(0.3);
    this.disk = powerCut ? this.disk.survivor() : this.disk.inherited();
    for (const kind of ["kept", "lost", "torn"] as const) {
      marks.damage[kind] += this.disk.damage[kind];
    }
    marks.restarts++;
  }

  /** Ends a life such that nothing of it has any effect afterwards. */
  #crash(place: CrashPlace, process: ProcessClock, end: (how: End) => void): void {
    // The life may have ended during the awaits before the crash.
    if (this.#end !== end) return;
    this.#end = undefined;
    this.#deps.marks.crashes[place]++;
    end(this.#deps.random.chance(0.5) ? "power cut" : "kill");
    this.disk.crash();
    // During a disk step the server's own code is running. The network goes down once that code awaits.
    if (place === "disk step") return;
    process.kill();
    this.#deps.network.down();
  }

  /** Resolves with the store once it serves. Undefined: a disk fault prevented that. */
  async #open({ process, points, end }: Life): Promise<FullStore | undefined> {
    const { random, log, network } = this.#deps;
    const disk = this.#planted.disk?.(this.disk) ?? this.disk;
    const deps = { clock: process, random: new FakeRandom(random.next32()), log, disk };
    let store: FullStore;
    let alarms: Alarms;
    try {
      store = await openStore(deps, { ...storeOptions, ...this.#sizes, engine: "local" });
      const file = new AlarmFile(disk, storeOptions.directory);
      const memory = this.#planted.alarms?.(file) ?? file;
      alarms = new Alarms(log, memory, await memory.load());
    } catch (error) {
      if (error instanceof CorruptionError || this.#planted.disk === undefined) {
        if (!isDiskFault(error)) throw error;
      }
      end("failure");
      return undefined;
    }
    this.#store = store;
    store = this.#planted.store?.(store) ?? store;
    void store.failed.then(() => end("failure"));
    // The life ended while the store was still opening.
    if (this.#end !== end) return store;
    const methods = etcdMethods(
      { ...deps, store, alarms },
      { ...etcdOptions, quotaBytes: this.quotaBytes },
    );
    network.serve(this.#planted.methods?.(methods) ?? methods, (point) => points.pass(point));
    this.#serving = true;
    return store;
  }

  #countCheckpoints(): void {
    const revision = this.#store?.stats().engine.checkpointRevision ?? 0;
    if (revision > this.#checkpointRevision) this.#deps.marks.checkpoints++;
    this.#checkpointRevision = Math.max(this.#checkpointRevision, revision);
    this.#store = undefined;
  }

  /** Closes the store in order, as on SIGTERM. A disk that fails or crashes meanwhile also ends the wait. */
  async #close(opening: Promise<FullStore | undefined>): Promise<void> {
    const closing = opening.then((store) => store?.close()).catch(ignoreDiskFault);
    await Promise.race([closing, this.disk.crashed, this.#pause(patienceMs)]);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#deps.clock.after("sim.step", ms, resolve));
  }
}

function isDiskFault(error: unknown): boolean {
  const code = (error as { readonly code?: unknown }).code;
  const cause = (error as { readonly cause?: unknown }).cause;
  return typeof code === "string" || (cause !== undefined && isDiskFault(cause));
}

function ignoreDiskFault(error: unknown): void {
  if (!isDiskFault(error)) throw error;
}
