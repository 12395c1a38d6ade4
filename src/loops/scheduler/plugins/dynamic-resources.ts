/**
 * DynamicResources: Pods with resource claims.
 *
 *   preFilter   the claims are there, and nobody else is allocating them; their classes exist
 *   filter      per node: allocated claims are good for it, the others can be allocated there
 *   postFilter  a claim that kept the Pod from every node is freed, when only this Pod has it
 *   reserve     devices for the chosen node are in flight; preBind writes them into the claims
 *
 * Placements are not given up by preemption: what a node lacks here, taking Pods away does not bring at once.
 * After  k/k pkg/scheduler/framework/plugins/dynamicresources.
 */
import type { DeviceRequest, Node, ResourceClaim } from "#api/gen/types.ts";
import { isReservedFor, usesClaims } from "#api/pods/resource-claims.ts";
import { nodeSelectorMatches } from "#api/selectors/node-match.ts";
import type { Cycle } from "../cycle.ts";
import { normalize } from "../cycle.ts";
import { hasBindingConditions, isHopeless } from "../devices/binding-conditions.ts";
import { DeviceReservation } from "../devices/device-reservation.ts";
import { celPerDecision, scoreOf, stepsPerDecision } from "../devices/device-state.ts";
import type { DeviceLookup } from "../devices/lookup.ts";
import { claimsOfPod } from "../devices/pod-claims.ts";
import { AllocationError, claimKey } from "../devices/requests.ts";
import type { ClusterEvent, Hint } from "../hints.ts";
import type { NodeTable } from "../node-table.ts";
import type { Plugin, PluginDeps, Reservation } from "../plugin.ts";
import type { PodInfo } from "../pod-info.ts";
import { reasonId } from "../reasons.ts";

const name = "DynamicResources";
const unavailable = reasonId(name, "resourceclaim not available on the node", false);

export function dynamicResources({ devices }: PluginDeps): Plugin {
  if (devices === undefined) return { name, hint: () => "skip" };
  const scores = new NodeScores();
  return {
    name,
    preFilter: (info) => refusalOf(info, devices),
    filter: (cycle) => keepPossible(cycle, devices, scores),
    postFilter: (info) => freeUnavailable(info, devices),
    score: { weight: 2, run: (cycle, into) => scores.copy(cycle, into) },
    reserve: (info, node) => reserve(info, node, devices),
    sign: ({ pod, uid }) => (usesClaims(pod) ? uid : ""),
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

function claimsOf({ pod }: PodInfo, lookup: DeviceLookup) {
  return claimsOfPod(pod, (namespace, claim) => lookup.claim(namespace, claim));
}

/** What keeps the Pod from any node, in upstream's words; undefined when nothing does. */
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

interface Demand {
  readonly allocated: readonly ResourceClaim[];
  readonly open: readonly ResourceClaim[];
}

function demandOf(info: PodInfo, lookup: DeviceLookup): Demand {
  const found = claimsOf(info, lookup);
  const claims = found.kind === "claims" ? found.claims : [];
  const isAllocated = ({ status }: ResourceClaim): boolean => status?.allocation !== undefined;
  return {
    allocated: claims.filter(isAllocated),
    open: claims.filter((claim) => !isAllocated(claim)),
  };
}

/** Of the last decision, by slot: the filter finds them, the score needs them. */
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

  /** @returns false when no node has one. */
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
  if (!usesClaims(info.pod)) return;
  const { allocated, open } = demandOf(info, lookup);
  const judge = judgeOf(open, lookup, cache.nodes);
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

/** Most nodes refuse for one reason: its number is looked up once. */
function refusalWith(text: string) {
  return { text, id: reasonId(name, text, false) };
}

function judgeOf(open: readonly ResourceClaim[], { state }: DeviceLookup, nodes: NodeTable) {
  if (open.length === 0) return () => ({ kind: "fits", score: 0 }) as const;
  const how = {
    shape: state.shapeOf(open),
    budget: { left: stepsPerDecision, celLeft: celPerDecision },
  };
  const judge = state.judgeSlots(nodes, open, how);
  return (slot: number) => {
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

/** @returns upstream's words for what was done. */
function freeUnavailable(info: PodInfo, lookup: DeviceLookup): string {
  if (!usesClaims(info.pod)) return "";
  const isOwn = ({ status }: ResourceClaim): boolean =>
    (status?.reservedFor ?? []).every(({ uid }) => uid === info.uid);
  const claim = demandOf(info, lookup).allocated.find(isOwn);
  if (claim === undefined) return "still not schedulable";
  const { reservedFor: _r, allocation: _a, devices: _d, ...status } = claim.status ?? {};
  // It comes back as an event of the claim; a conflict, too, means that the claim changes.
  lookup.updateStatus({ ...claim, status }).then(
    (written) => lookup.assume(written),
    () => undefined,
  );
  return "deallocation of ResourceClaim completed";
}

function reserve(info: PodInfo, node: Node, lookup: DeviceLookup): Reservation | undefined {
  if (!usesClaims(info.pod)) return undefined;
  const { allocated, open } = demandOf(info, lookup);
  const results = lookup.state.allocateOn(node, open, () => lookup.newShareId());
  const choices = [
    ...allocated.map((claim) => ({ claim, allocation: undefined })),
    ...open.map((claim, i) => ({ claim, allocation: results[i] })),
  ];
  const isDone = open.length === 0 && allocated.every((claim) => isReservedFor(info.pod, claim));
  if (isDone && !allocated.some(hasBindingConditions)) return undefined;
  return new DeviceReservation(lookup, info.pod, choices);
}
