/** Chooses the faults of a run and their times from the seed, and ends all of them. */
import type { FakeRandom } from "#platform/testing/random.ts";
import { crashPoints, type CrashPlan } from "./crash-points.ts";
import type { FakeClock } from "#platform/testing/clock.ts";
import type { Member } from "./etcd-member.ts";
import type { GrpcNetwork } from "./grpc-network.ts";

export type FaultName =
  | "crash at a disk step"
  | "crash at an await"
  | "power cut"
  | "kill"
  | "close"
  | "fsync error"
  | "write error"
  | "other disk error"
  | "full disk"
  | "slow disk"
  | "cut connections"
  | "slow network"
  | "wall clock jump";

export type FaultMarks = Record<FaultName, number>;

export const faultNames: readonly FaultName[] = [
  "crash at a disk step",
  "crash at an await",
  "power cut",
  "kill",
  "close",
  "fsync error",
  "write error",
  "other disk error",
  "full disk",
  "slow disk",
  "cut connections",
  "slow network",
  "wall clock jump",
];

const calmMsMax = 1200;
/** Maximum number of disk steps before a planned crash. A commit takes two or three. */
const crashStepsMax = 60;
/** Maximum number of points before a planned crash. A write passes about six. */
const crashPointsMax = 40;
/** Maximum number of awaits before a planned crash. An answer takes one or two dozen awaits. */
const crashAwaitsMax = 24;
/** Maximum free space of a full disk: none, or a few segments. */
const roomBytesMax = 2 ** 16;
const diskDelayMsMax = 40;
const slowNetworkMs = 200;
const quickNetworkMs = 5;

interface FaultDeps {
  readonly clock: FakeClock;
  readonly random: FakeRandom;
  readonly member: Member;
  readonly network: GrpcNetwork;
  readonly marks: FaultMarks;
}

export class Faults {
  readonly #deps: FaultDeps;
  /** Kinds of faults that this seed uses. A run with few kinds tests them more deeply. */
  readonly #kinds: readonly FaultName[];
  #slowDisk = false;
  #fullDisk = false;

  constructor(deps: FaultDeps) {
    this.#deps = deps;
    const kept = faultNames.filter(() => deps.random.chance(0.5));
    this.#kinds = kept.length === 0 ? faultNames : kept;
  }

  /** Causes one fault after the other until `untilMs`. */
  async run(untilMs: number): Promise<void> {
    const { clock, random } = this.#deps;
    for (;;) {
      await this.#pause(random.below(calmMsMax));
      if (clock.monotonicMs() >= untilMs) break;
      this.#strike(random.pick(this.#kinds));
    }
    this.heal();
  }

  heal(): void {
    const { member, network } = this.#deps;
    member.disk.heal();
    member.disk.setCapacity(undefined);
    member.disk.crashAfter(Number.POSITIVE_INFINITY);
    member.crashAt(undefined);
    network.delayMsMax = quickNetworkMs;
    this.#slowDisk = false;
    this.#paceDisk();
  }

  #strike(name: FaultName): void {
    const { random, member, network, clock, marks } = this.#deps;
    marks[name]++;
    const { disk } = member;
    this.#paceDisk();
    switch (name) {
      case "crash at a disk step":
        return disk.crashAfter(random.below(crashStepsMax));
      case "crash at an await":
        return member.crashAt(this.#crashPlan());
      case "power cut":
      case "kill":
      case "close":
        return member.end(name);
      case "fsync error":
        return disk.fail("sync", "EIO", random.below(6));
      case "write error":
        return disk.fail("write", random.pick(["EIO", "ENOSPC"]), random.below(20));
      case "other disk error":
        return disk.fail(random.pick(["open", "rename", "remove", "extend", "read"]), "EIO");
      case "full disk":
        this.#fullDisk = !this.#fullDisk;
        return disk.setCapacity(
          this.#fullDisk ? disk.takenBytes + random.below(roomBytesMax) : undefined,
        );
      case "slow disk":
        this.#slowDisk = !this.#slowDisk;
        return this.#paceDisk();
      case "cut connections":
        return network.cut(random.pick([0.2, 0.5, 1]));
      case "slow network":
        network.delayMsMax = random.pick([quickNetworkMs, slowNetworkMs]);
        return;
      case "wall clock jump":
        return clock.jumpWall((random.below(7200) - 3600) * 1000);
      default:
        return name satisfies never;
    }
  }

  #crashPlan(): CrashPlan {
    const { random } = this.#deps;
    const kinds = random.chance(0.5) ? crashPoints : [random.pick(crashPoints)];
    const points = random.below(kinds.length > 1 ? crashPointsMax : crashPointsMax / 8);
    return { kinds, points, awaits: random.chance(0.4) ? 0 : random.below(crashAwaitsMax) };
  }

  /** Sets the pace of the current disk, since each life has its own. A slow disk is slow in bursts. */
  #paceDisk(): void {
    const { random, member } = this.#deps;
    const pace = (): Promise<void> | undefined =>
      random.chance(0.3) ? undefined : this.#pause(random.below(diskDelayMsMax));
    member.disk.setPace(this.#slowDisk ? pace : undefined);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#deps.clock.after("sim.step", ms, resolve));
  }
}
