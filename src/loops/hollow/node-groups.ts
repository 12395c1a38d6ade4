/**
 * Node groups as a cloud has them: how many nodes are wanted, which instances there are, and when each comes up.
 * Pure: the clock's time and random numbers come from outside, and `step` says what is due.
 *
 *   increase ──► creating ──(start time over, ramp allows)──► running ──deleteNodes──► gone
 *                   └──(a failure program, or the quota)──► creating for ever, with or without an error
 *
 * Holds  min <= target <= max, by whatever is asked for; target = instances. Instances of a quota that come up are
 *        at most as many as it has. Within any minute at most the ramp's share of a group starts.
 * Cost   a call is O(instances of the group).
 */
import { assert, must } from "#base/assert.ts";
import type { Random } from "#platform/random.ts";
import type { FailureProgram, NodeGroupsFile, NodeGroupSpec } from "./node-group-spec.ts";

export interface GroupInstance {
  readonly name: string;
  readonly index: number;
  readonly group: NodeGroupSpec;
  readonly zone: string | undefined;
  readonly state: "creating" | "running";
  /** Why the instance does not start. Undefined: no error. */
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

interface Instance extends GroupInstance {
  state: "creating" | "running";
  error: GroupInstance["error"];
  /** Whether the instance never starts. */
  isLost: boolean;
  /** Time at which the instance starts. Undefined: the ramp holds it back. */
  readyAtMs: number | undefined;
}

interface Group {
  readonly spec: NodeGroupSpec;
  readonly instances: Map<string, Instance>;
  /** Instances that the ramp admitted within the last minute, with their times. */
  readonly started: { readonly atMs: number; readonly sizeBefore: number }[];
}

type Refusal = {
  readonly kind: "refused";
  readonly code: "not-found" | "invalid" | "out-of-resources" | "bounds";
  readonly message: string;
};
export type GroupAnswer = { readonly kind: "ok" } | { readonly kind: "hang" } | Refusal;

const ok: GroupAnswer = { kind: "ok" };
const minuteMs = 60_000;
/** Number of indexes before they repeat; the addresses of nodes and pods depend on the index. */
const indexesMax = 65_536;

export class NodeGroups {
  readonly #random: Random;
  readonly #file: NodeGroupsFile;
  readonly #groups = new Map<string, Group>();
  readonly #byName = new Map<string, Group>();
  readonly #indexes = new Set<number>();
  readonly #firstIndex: number;
  readonly #startMs: number;
  #nextIndex: number;

  constructor(
    { random }: { random: Random },
    file: NodeGroupsFile,
    { nowMs, firstIndex }: { nowMs: number; firstIndex: number },
  ) {
    this.#random = random;
    this.#file = file;
    this.#startMs = nowMs;
    this.#firstIndex = firstIndex;
    this.#nextIndex = firstIndex;
    for (const spec of file.groups) {
      this.#groups.set(spec.name, { spec, instances: new Map(), started: [] });
    }
  }

  specs(): readonly NodeGroupSpec[] {
    return this.#file.groups;
  }

  spec(name: string): NodeGroupSpec | undefined {
    return this.#groups.get(name)?.spec;
  }

  target(name: string): number | undefined {
    return this.#groups.get(name)?.instances.size;
  }

  instances(name: string): readonly GroupInstance[] | undefined {
    const group = this.#groups.get(name);
    return group === undefined ? undefined : [...group.instances.values()];
  }

  /** Returns the group of a node, or of an instance that will become the node. */
  groupOf(nodeName: string): NodeGroupSpec | undefined {
    return this.#byName.get(nodeName)?.spec;
  }

  /** Makes a node of an earlier process an instance again. @returns false when its group is full or unknown. */
  adopt(name: string, groupName: string, index: number): boolean {
    const group = this.#groups.get(groupName);
    if (group === undefined || group.instances.size >= group.spec.max) return false;
    if (group.instances.has(name) || this.#indexes.has(index)) return false;
    this.#put(group, index, name).state = "running";
    return true;
  }

  /** Adds instances until every group has its initial size. */
  begin(nowMs: number): void {
    for (const group of this.#groups.values()) {
      const missing = group.spec.initial - group.instances.size;
      for (let i = 0; i < missing; i++) this.#add(group, nowMs);
    }
  }

  increase(name: string, delta: number, nowMs: number): GroupAnswer {
    const group = this.#groups.get(name);
    if (group === undefined) return notFound(name);
    if (!Number.isSafeInteger(delta) || delta <= 0) {
      return invalid(`size increase must be positive, not ${delta}`);
    }
    const wanted = group.instances.size + delta;
    if (wanted > group.spec.max) {
      return bounds(`size increase too large, desired: ${wanted} max: ${group.spec.max}`);
    }
    if (this.#fails(group, "hang", nowMs)) return { kind: "hang" };
    if (this.#fails(group, "refuse", nowMs)) {
      return { kind: "refused", code: "out-of-resources", message: `${name} is out of stock` };
    }
    for (let i = 0; i < delta; i++) this.#add(group, nowMs);
    return ok;
  }

  /** Removes all of the instances or none. The caller deletes their nodes. */
  deleteNodes(name: string, nodes: readonly string[]): GroupAnswer {
    const group = this.#groups.get(name);
    if (group === undefined) return notFound(name);
    const gone = new Set(nodes);
    for (const node of gone) {
      if (!group.instances.has(node)) return invalid(`${node} is no node of group ${name}`);
    }
    const left = group.instances.size - gone.size;
    if (left < group.spec.min) {
      return bounds(`min size reached, nodes will not be deleted: ${left} < ${group.spec.min}`);
    }
    for (const node of gone) this.#remove(group, node);
    return ok;
  }

  /** Removes instances whose nodes have not started yet. `delta` is negative. */
  decreaseTarget(name: string, delta: number): GroupAnswer {
    const group = this.#groups.get(name);
    if (group === undefined) return notFound(name);
    if (!Number.isSafeInteger(delta) || delta >= 0) {
      return invalid(`size decrease must be negative, not ${delta}`);
    }
    const waiting = [...group.instances.values()].filter(({ state }) => state === "creating");
    if (-delta > waiting.length) {
      return bounds(`attempt to delete existing nodes: ${waiting.length} of ${-delta} are not up`);
    }
    if (group.instances.size + delta < group.spec.min) {
      return bounds(`attempt to go below the minimum of ${group.spec.min}`);
    }
    for (const { name: node } of waiting.slice(delta)) this.#remove(group, node);
    return ok;
  }

  /** Removes the instance of a node that another client deleted, which also reduces the target size. */
  nodeGone(name: string): void {
    const group = this.#byName.get(name);
    if (group !== undefined) this.#remove(group, name);
  }

  /** @returns the instances that start now. To be called again after `nextStepMs`. */
  step(nowMs: number): readonly GroupInstance[] {
    const due: Instance[] = [];
    for (const group of this.#groups.values()) {
      this.#ramp(group, nowMs);
      for (const instance of group.instances.values()) {
        const { state, isLost, readyAtMs = Number.POSITIVE_INFINITY } = instance;
        if (state !== "creating" || isLost || readyAtMs > nowMs) continue;
        instance.state = "running";
        due.push(instance);
      }
    }
    return due;
  }

  /** Returns the time until the next instance is due; at most a minute. */
  nextStepMs(nowMs: number): number {
    let nextMs = nowMs + minuteMs;
    for (const { instances, started } of this.#groups.values()) {
      for (const { state, isLost, readyAtMs } of instances.values()) {
        if (state !== "creating" || isLost) continue;
        const rampMs = (started[0]?.atMs ?? nowMs) + minuteMs;
        nextMs = Math.min(nextMs, readyAtMs ?? rampMs);
      }
    }
    return Math.max(0, nextMs - nowMs);
  }

  #add(group: Group, nowMs: number): void {
    const instance = this.#put(group, this.#takeIndex());
    if (this.#isOverQuota(group.spec)) {
      instance.error = {
        code: "QUOTA_EXCEEDED",
        message: `quota ${group.spec.quota} is exceeded`,
      };
    } else if (this.#fails(group, "error", nowMs)) {
      instance.error = { code: "OUT_OF_STOCK", message: `${group.spec.name} is out of stock` };
    }
    instance.isLost = instance.error !== undefined || this.#fails(group, "never", nowMs);
    this.#ramp(group, nowMs);
  }

  #put(group: Group, index: number, name = `${group.spec.name}-${index}`): Instance {
    const { spec } = group;
    const zone = spec.zones.length === 0 ? undefined : spec.zones[index % spec.zones.length];
    const instance: Instance = {
      name,
      index,
      group: spec,
      zone,
      state: "creating",
      error: undefined,
      isLost: false,
      readyAtMs: undefined,
    };
    this.#indexes.add(index);
    group.instances.set(name, instance);
    this.#byName.set(name, group);
    assert(group.instances.size <= spec.max, "a group stays within its bounds", {
      group: spec.name,
    });
    return instance;
  }

  #remove(group: Group, name: string): void {
    const instance = must(group.instances.get(name), "an instance of the group");
    group.instances.delete(name);
    this.#byName.delete(name);
    this.#indexes.delete(instance.index);
  }

  /** Admits as many of the instances that the ramp holds back as it allows. */
  #ramp(group: Group, nowMs: number): void {
    const { spec, started, instances } = group;
    while ((started[0]?.atMs ?? nowMs) <= nowMs - minuteMs) started.shift();
    const waiting = [...instances.values()].filter((one) => !one.isLost && isHeld(one));
    const sizeBefore = started[0]?.sizeBefore ?? instances.size - waiting.length;
    const percent = spec.rampPercentPerMinute;
    const most =
      percent === undefined
        ? Number.POSITIVE_INFINITY
        : Math.max(1, Math.floor((sizeBefore * percent) / 100));
    for (const instance of waiting.slice(0, Math.max(0, most - started.length))) {
      const { leastMs, mostMs } = spec.start;
      instance.readyAtMs = nowMs + leastMs + this.#random.below(mostMs - leastMs + 1);
      if (percent !== undefined) started.push({ atMs: nowMs, sizeBefore });
    }
  }

  #isOverQuota({ quota }: NodeGroupSpec): boolean {
    if (quota === undefined) return false;
    let used = 0;
    for (const { spec, instances } of this.#groups.values()) {
      if (spec.quota !== quota) continue;
      for (const { error } of instances.values()) if (error === undefined) used++;
    }
    return used > (this.#file.quotas[quota] ?? Number.POSITIVE_INFINITY);
  }

  #fails({ spec }: Group, kind: FailureProgram["kind"], nowMs: number): boolean {
    const sinceMs = nowMs - this.#startMs;
    return spec.failures.some(
      (program) =>
        program.kind === kind &&
        sinceMs >= program.fromMs &&
        sinceMs < program.untilMs &&
        this.#random.below(1_000_000) < program.share * 1_000_000,
    );
  }

  #takeIndex(): number {
    for (let i = 0; i < indexesMax; i++) {
      const index = this.#nextIndex;
      this.#nextIndex = this.#firstIndex + ((index - this.#firstIndex + 1) % indexesMax);
      if (!this.#indexes.has(index)) return index;
    }
    throw new Error(`all ${indexesMax} indexes are in use`);
  }
}

function isHeld({ state, readyAtMs }: Instance): boolean {
  return state === "creating" && readyAtMs === undefined;
}

function notFound(name: string): Refusal {
  return { kind: "refused", code: "not-found", message: `there is no node group ${name}` };
}

function invalid(message: string): Refusal {
  return { kind: "refused", code: "invalid", message };
}

function bounds(message: string): Refusal {
  return { kind: "refused", code: "bounds", message };
}
