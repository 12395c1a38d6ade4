/**
 * DynamicResources: Pods with resource claims.
 *
 * Extended resources that a DeviceClass implements are one more claim, which differs by node and is made at the bind.
 *
 *   preFilter   the claims are there, and nobody else is allocating them; their classes exist
 *   filter      per node: allocated claims are good for it, the others can be allocated there
 *   postFilter  a claim that kept the Pod from every node is freed, when only this Pod has it
 *   reserve     devices for the chosen node are in flight; preBind writes them into the claims
 *
 * Preemption does not help here: removing Pods does not free missing devices at once.
 * After  k/k pkg/scheduler/framework/plugins/dynamicresources.
 */
import type { DeviceRequest, Node, ResourceClaim } from "#api/gen/types.ts";
import { isReservedFor, usesClaims } from "#api/pods/resource-claims.ts";
import { nodeSelectorMatches } from "#api/selectors/node-match.ts";
import type { Cycle } from "../cycle.ts";
import { normalize } from "../cycle.ts";
import { hasBindingConditions, isHopeless } from "../devices/binding-conditions.ts";
import { DeviceReservation } from "../devices/device-reservation.ts";
import type { Budget } from "../devices/allocator.ts";
import { celPerDecision, scoreOf, stepsPerDecision } from "../devices/device-state.ts";
import type { DeviceLookup } from "../devices/lookup.ts";
import {
  asksForDevices,
  claimsOf,
  type Demand,
  demandOf,
  lackingOn,
  nodeDemandOf,
} from "../devices/pod-demand.ts";
import type { Verdict } from "../devices/verdict-columns.ts";
import { AllocationError, claimKey } from "../devices/requests.ts";
import type { ClusterEvent, Hint } from "../hints.ts";
import type { NodeTable } from "../node-table.ts";
import type { Plugin, PluginDeps, Reservation } from "../plugin.ts";
import type { PodInfo } from "../pod-info.ts";
import { reasonId } from "../reasons.ts";

const name = "DynamicResources";
const leftOver = reasonId(name, "cannot schedule extended resource claim", false);
const unavailable = reasonId(name, "resourceclaim not available on the node", false);

export function dynamicResources({ devices }: PluginDeps): Plugin {
  if (devices === undefined) return { name, hint: () => "skip" };
  const scores = new NodeScores();
  return {
    name,
    preFilter: (info) => refusalOf(info, devices),
    filter: (cycle) => keepPossible(cycle, devices, scores),
    isIdle: (info) => !asksForDevices(info, devices),
    postFilter: (info) => freeUnavailable(info, devices),
    score: { weight: 2, run: (cycle, into) => scores.copy(cycle, into) },
    reserve: (info, node) => reserve(info, node, devices),
    sign: (info) => (asksForDevices(info, devices) ? info.uid : ""),
    hint: (event, info) => hintOf(event, info, devices),
  };
}

function hintOf(event: ClusterEvent, info: PodInfo, lookup: DeviceLookup): Hint {
  if (event.kind === "node") return "queue-if-fits";
  if (event.kind !== "devices") return "skip";
  const found = claimsOf(info, lookup);
  if (found.kind === "refused") return "skip";
  const { claims } = event;
  if (claims === undefined) return "queue";
  return found.claims.some((claim) => claims.has(claimKey(claim))) ? "queue" : "skip";
}

/** Returns why the Pod fits no node, in upstream's words. Undefined: there is no such reason. */
function refusalOf(info: PodInfo, lookup: DeviceLookup): string | undefined {
  if (!usesClaims(info.pod)) return undefined;
  const found = claimsOf(info, lookup);
  if (found.kind === "refused") return found.reason;
  for (const claim of found.claims) {
    if (claim.status?.allocation !== undefined) continue;
    if (lookup.isInFlight(claim.metadata?.uid ?? "")) {
      return `resource claim ${claimKey(claim)} is in the process of being allocated`;
    }
    const refusal = classRefusal(claim, lookup);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function classRefusal({ spec }: ResourceClaim, lookup: DeviceLookup): string | undefined {
  for (const request of spec.devices?.requests ?? []) {
    for (const [requestName, className] of classesOf(request)) {
      if (lookup.state.classOf(className) !== undefined) continue;
      return `request ${requestName}: device class ${className} does not exist`;
    }
  }
  return undefined;
}

function classesOf(request: DeviceRequest): readonly (readonly [string, string])[] {
  const { exactly, firstAvailable = [] } = request;
  if (exactly !== undefined) return [[request.name, exactly.deviceClassName]];
  return firstAvailable.map((one) => [`${request.name}/${one.name}`, one.deviceClassName]);
}

/** Scores of the last decision by slot; the filter computes them and the score step reads them. */
class NodeScores {
  #uid = "";
  readonly #bySlot = new Map<number, number>();

  begin(uid: string): void {
    this.#uid = uid;
    this.#bySlot.clear();
  }

  set(slot: number, score: number): void {
    this.#bySlot.set(slot, score);
  }

  /** Copies the scores. @returns false when no node has a score. */
  copy(cycle: Cycle, into: Float64Array): boolean {
    if (this.#uid !== cycle.info.uid || this.#bySlot.size === 0) return false;
    for (let i = 0; i < cycle.count; i++) {
      const slot = cycle.feasible[i] ?? 0;
      into[slot] = this.#bySlot.get(slot) ?? 0;
    }
    normalize(cycle, into, false);
    return true;
  }
}

function keepPossible(cycle: Cycle, lookup: DeviceLookup, scores: NodeScores): void {
  const { info, cache } = cycle;
  scores.begin(info.uid);
  if (!asksForDevices(info, lookup)) return;
  const demand = demandOf(info, lookup);
  const { allocated, stale } = demand;
  if (stale !== undefined) return cycle.keep(() => leftOver);
  const judge = judgeOf(info, demand, lookup, cache.nodes);
  const base = scoreOf(
    allocated,
    allocated.map((claim) => claim.status?.allocation ?? {}),
  );
  let last = refusalWith("cannot allocate all claims");
  cycle.keep((slot) => {
    const isThere = allocated.every((claim) => isAvailable(claim, cache.nodes.node(slot), lookup));
    if (!isThere) return unavailable;
    const verdict = judge(slot);
    if (verdict.kind === "refused") {
      if (verdict.reason !== last.text) last = refusalWith(verdict.reason);
      return last.id;
    }
    const score = base + verdict.score;
    if (score > 0) scores.set(slot, score);
    return -1;
  });
}

/** Returns a reason with its id, to be reused: most nodes refuse for the same reason. */
function refusalWith(text: string) {
  return { text, id: reasonId(name, text, false) };
}

type Judge = (slot: number) => Verdict;

/** Nodes whose device plugins provide some of the extended resources need fewer devices than other nodes. */
function judgeOf(info: PodInfo, demand: Demand, lookup: DeviceLookup, nodes: NodeTable): Judge {
  const { extended } = demand;
  const budget = { left: stepsPerDecision, celLeft: celPerDecision };
  if (extended.length === 0) return judgeOfClaims(demand.open, budget, lookup, nodes);
  const judges = new Map<string, Judge>();
  return (slot) => {
    const lacking = extended.filter((name) => nodes.scalarMax(slot, name) === 0);
    const key = lacking.join();
    let judge = judges.get(key);
    if (judge === undefined) {
      const { open } = nodeDemandOf(info, demand, lacking, lookup);
      judges.set(key, (judge = judgeOfClaims(open, budget, lookup, nodes)));
    }
    return judge(slot);
  };
}

function judgeOfClaims(
  open: readonly ResourceClaim[],
  budget: Budget,
  { state }: DeviceLookup,
  nodes: NodeTable,
): Judge {
  if (open.length === 0) return () => ({ kind: "fits", score: 0 });
  const judge = state.judgeSlots(nodes, open, { shape: state.shapeOf(open), budget });
  return (slot) => {
    try {
      return judge(slot);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      throw new Error(`running "${name}" filter plugin: ${error.message}`, { cause: error });
    }
  };
}

function isAvailable(claim: ResourceClaim, node: Node, lookup: DeviceLookup): boolean {
  const selector = claim.status?.allocation?.nodeSelector;
  if (selector !== undefined && !nodeSelectorMatches(selector, node)) return false;
  return !hasBindingConditions(claim) || !isHopeless(claim, lookup.now());
}

/** Deallocates or removes a claim that keeps the Pod pending. @returns upstream's message. */
function freeUnavailable(info: PodInfo, lookup: DeviceLookup): string {
  if (!asksForDevices(info, lookup)) return "";
  const { allocated, stale } = demandOf(info, lookup);
  const isOwn = ({ status }: ResourceClaim): boolean =>
    (status?.reservedFor ?? []).every(({ uid }) => uid === info.uid);
  const claim = allocated.find(isOwn);
  if (claim === undefined && stale !== undefined) {
    lookup.remove(stale).catch(() => undefined);
    return "deletion of ResourceClaim completed";
  }
  if (claim === undefined) return "still not schedulable";
  const { reservedFor: _r, allocation: _a, devices: _d, ...status } = claim.status ?? {};
  // The result arrives as an event of the claim; a conflict also means that the claim changes.
  lookup.updateStatus({ ...claim, status }).then(
    (written) => lookup.assume(written),
    () => undefined,
  );
  return "deallocation of ResourceClaim completed";
}

function reserve(info: PodInfo, node: Node, lookup: DeviceLookup): Reservation | undefined {
  if (!asksForDevices(info, lookup)) return undefined;
  const demand = demandOf(info, lookup);
  const lacking = lackingOn(node, demand.extended);
  const { open, extended } = nodeDemandOf(info, demand, lacking, lookup);
  const { allocated } = demand;
  const results = lookup.state.allocateOn(node, open, () => lookup.newShareId());
  const choices = [
    ...allocated.map((claim) => ({ claim, allocation: undefined })),
    ...open.map((claim, i) => ({ claim, allocation: results[i] })),
  ];
  const isDone = open.length === 0 && allocated.every((claim) => isReservedFor(info.pod, claim));
  if (isDone && !allocated.some(hasBindingConditions)) return undefined;
  return new DeviceReservation(lookup, info.pod, choices, extended?.mappings);
}
