/**
 * Keeps room for a group that other Pods keep overtaking. Its Pods are nominated on nodes where they would fit without
 * the running Pods, so that freed room there stays free for them. One group at a time, and for a bounded time.
 *
 *   refused for `startMs` ──► a plan? nominated for `keptMs` ──► placed, or given up: rests as long
 *                              └ no plan (it would not fit an empty cluster): nothing is kept
 *
 * Holds  Pods of higher priority are not delayed (Nominations). A group that can never fit delays no other Pods.
 * Cost   a plan removes Pods from nodes and puts them back, node by node, emptiest first: some µs per Pod on them.
 * Why    without it a stream of small Pods would take all freed room, and a large group would wait forever.
 */
import type { Clock } from "#platform/clock.ts";
import type { PodInfo } from "../pod-info.ts";
import { assumeMember, type GangDeps, takeBack, type Trial } from "./decide-gang.ts";
import { domainsFor } from "./domains.ts";
import type { Gang } from "./gangs.ts";
import { domainOfPlaced, type GangQuestion } from "./place-gang.ts";

const startMs = 60_000;
const keptMs = 300_000;
const domainsMax = 8;
/** Maximum number of Pods that one plan lifts off nodes; it bounds the time of the plan. */
const liftedMax = 20_000;

interface Kept {
  readonly gang: Gang;
  readonly untilMs: number;
  readonly uids: readonly string[];
}

export class KeptRoom {
  readonly #clock: Clock;
  readonly #drop: (uid: string) => void;
  #kept: Kept | undefined;
  /** By gang: time before which no room is kept for it. Deleted when the gang is placed, and with the gang. */
  readonly #rests = new WeakMap<Gang, number>();

  /** `drop` removes the nomination of a Pod. */
  constructor(clock: Clock, drop: (uid: string) => void) {
    this.#clock = clock;
    this.#drop = drop;
  }

  get holder(): Gang | undefined {
    return this.#kept?.gang;
  }

  /** Keeps room for a group after a further refusal, when the group has waited long enough. */
  consider(gang: Gang, deps: GangDeps, question: GangQuestion): void {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    if (this.#kept !== undefined || gang.refusedMs === undefined) return;
    if (nowMs < gang.refusedMs + startMs || nowMs < (this.#rests.get(gang) ?? 0)) return;
    const plan = planRoom(deps, question);
    this.#rests.set(gang, nowMs + (plan === undefined ? keptMs : 2 * keptMs));
    if (plan === undefined) return;
    for (const [info, nodeName] of plan) deps.nominations.set(info, nodeName);
    this.#kept = {
      gang,
      untilMs: nowMs + keptMs,
      uids: [...plan.keys()].map(({ uid }) => uid),
    };
  }

  /** Releases the group's room, because the group is placed or has no Pods left. */
  end(gang: Gang): void {
    this.#rests.delete(gang);
    if (this.#kept?.gang === gang) this.#giveUp(this.#kept);
  }

  #expire(nowMs: number): void {
    if (this.#kept !== undefined && this.#kept.untilMs <= nowMs) this.#giveUp(this.#kept);
  }

  #giveUp({ uids }: Kept): void {
    this.#kept = undefined;
    for (const uid of uids) this.#drop(uid);
  }
}

/** Finds nodes for `needed` Pods as if all nodes were empty. Undefined: there are none. */
function planRoom(
  deps: GangDeps,
  question: GangQuestion,
): ReadonlyMap<PodInfo, string> | undefined {
  const { nodes } = deps.cache;
  const { members, needed, topologyKey: key } = question;
  if (key === undefined) return planOn(deps, question, nodes.live.slice(0, nodes.size));
  const placed = domainOfPlaced(deps, question, key);
  if (placed !== undefined && "text" in placed) return undefined;
  const asked = { key, members, needed, required: placed?.name, nodesAre: "empty" as const };
  const { domains } = domainsFor(nodes, asked);
  for (const { slots } of domains.toReversed().slice(0, domainsMax)) {
    const plan = planOn(deps, question, slots);
    if (plan !== undefined) return plan;
  }
  return undefined;
}

function planOn(
  deps: GangDeps,
  { members, needed }: GangQuestion,
  slots: Int32Array,
): ReadonlyMap<PodInfo, string> | undefined {
  const { nodes } = deps.cache;
  const wanted = new Set(members);
  const trial: Trial = { placements: [], refused: [] };
  let lifted = 0;
  try {
    for (const slot of emptiestFirst(deps, slots)) {
      if (trial.placements.length >= needed || lifted > liftedMax) break;
      lifted += nodes.podsUsed[slot] ?? 0;
      fillNode(deps, trial, wanted, slot);
    }
    if (trial.placements.length < Math.max(1, needed)) return undefined;
    return new Map(trial.placements.map(({ info, nodeName }) => [info, nodeName]));
  } finally {
    takeBack(deps, trial);
  }
}

/** Assumes Pods of `wanted` on the node without its present Pods, and removes the placed Pods from `wanted`. */
function fillNode(deps: GangDeps, trial: Trial, wanted: Set<PodInfo>, slot: number): void {
  const { cache, decider } = deps;
  const others = [...cache.podsOn(slot)];
  const refused = new Set<string>();
  for (const pod of others) cache.lift(pod, slot);
  try {
    for (const info of wanted) {
      if (refused.has(info.classKey)) continue;
      if (!decider.passes(info, slot)) {
        refused.add(info.classKey);
        continue;
      }
      trial.placements.push(assumeMember(deps, info, cache.nodes.name(slot)));
      wanted.delete(info);
    }
  } finally {
    for (const pod of others) cache.putBack(pod, slot);
  }
}

function emptiestFirst({ cache: { nodes } }: GangDeps, slots: Int32Array): Int32Array {
  const share = (slot: number): number =>
    Math.max(
      (nodes.cpuUsed[slot] ?? 0) / Math.max(1, nodes.cpuMax[slot] ?? 0),
      (nodes.memoryUsed[slot] ?? 0) / Math.max(1, nodes.memoryMax[slot] ?? 0),
    );
  return slots.toSorted((a, b) => share(a) - share(b));
}
