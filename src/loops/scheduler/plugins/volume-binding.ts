/**
 * VolumeBinding: checks that claims exist and are bound, checks the node affinity of their volumes, and binds the claims
 * that wait for their first consumer.
 *
 *   preFilter  which claims are bound, which wait; what no node can cure
 *   filter     per node: bound volumes are usable; each waiting claim finds a volume or a provisioner
 *   reserve    the volumes of the chosen node are assumed, the claims to provision get the node's name
 *   preBind    both are written; the Pod is bound once the binder has bound all of its claims
 *
 * After  k/k pkg/scheduler/framework/plugins/volumebinding. `reserve` makes the choice again: the cycle is synchronous,
 *        so the result is the same as in `filter`.
 */
import type { Node, PersistentVolumeClaim, Pod } from "#api/gen/types.ts";
import {
  annotationOf,
  classOfClaim,
  isDelayed,
  isFullyBound,
  requestedNanos,
  selectedNode,
  volumeBoundTo,
} from "#api/volumes/binding.ts";
import { isUsableOn } from "#api/volumes/volume-index.ts";
import type { ClaimUse, VolumeLookup } from "../claims.ts";
import { claimNames, claimUses, signClaims } from "../claims.ts";
import { asOnNode } from "../csi-migration.ts";
import type { Cycle } from "../cycle.ts";
import type { ClusterEvent, Hint } from "../hints.ts";
import type { Plugin, PluginDeps, Reservation } from "../plugin.ts";
import type { PodInfo } from "../pod-info.ts";
import { reasonId } from "../reasons.ts";
import type { Binding } from "../volume-reservation.ts";
import { VolumeReservation } from "../volume-reservation.ts";
import { canProvision, hasRoomFor } from "../volume-provision.ts";

const name = "VolumeBinding";
const nodeConflict = reasonId(name, "node(s) didn't match PersistentVolume's node affinity", false);
const bindConflict = reasonId(
  name,
  "node(s) didn't find available persistent volumes to bind",
  false,
);
const notEnoughSpace = reasonId(name, "node(s) did not have enough free storage", false);
const volumeMissing = reasonId(
  name,
  "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
  false,
);

/** Upstream's BindTimeoutSeconds, after which a Pod with unbound volumes is decided anew. */
export const bindTimeoutDefaultMs = 600_000;

export function volumeBinding(
  { volumes }: PluginDeps,
  bindTimeoutMs = bindTimeoutDefaultMs,
): Plugin {
  return {
    name,
    preFilter: ({ pod }) => (pod.spec?.volumes === undefined ? undefined : refusalOf(pod, volumes)),
    filter: (cycle) => keepUsable(cycle, volumes),
    isIdle: ({ claims, disks }) => claims.length === 0 && disks.length === 0,
    reserve: (info, node) => reserve(info, node, volumes, bindTimeoutMs),
    sign: signClaims,
    hint: (event, info) => hintOf(event, info, volumes),
  };
}

function hintOf(event: ClusterEvent, info: PodInfo, lookup: VolumeLookup): Hint {
  if (event.kind === "node") return "queue-if-fits";
  if (event.kind !== "volumes") return "skip";
  const { claims } = event;
  if (claims === undefined) return refusalOf(info.pod, lookup) === undefined ? "queue" : "skip";
  const isOwn = claimNames(info.pod).some((claim) => claims.has(`${info.namespace}/${claim}`));
  return isOwn ? "queue" : "skip";
}

/** Returns why the Pod fits no node, in upstream's words. Undefined: there is no such reason. */
function refusalOf(pod: Pod, lookup: VolumeLookup): string | undefined {
  const namespace = pod.metadata?.namespace ?? "";
  const uses = claimUses(pod);
  for (const use of uses) {
    const claim = lookup.claim(namespace, use.name);
    const refusal = claim === undefined ? missing(use) : claimRefusal(pod, use, claim);
    if (refusal !== undefined) return refusal;
  }
  const isImmediate = uses.some((use) => {
    const claim = lookup.claim(namespace, use.name);
    return claim !== undefined && !isFullyBound(claim) && !waitsForConsumer(claim, lookup);
  });
  return isImmediate ? "pod has unbound immediate PersistentVolumeClaims" : undefined;
}

function missing({ name: claim, isEphemeral }: ClaimUse): string {
  if (!isEphemeral) return `persistentvolumeclaim "${claim}" not found`;
  return `waiting for ephemeral volume controller to create the persistentvolumeclaim "${claim}"`;
}

function claimRefusal(pod: Pod, use: ClaimUse, claim: PersistentVolumeClaim): string | undefined {
  if (claim.status?.phase === "Lost") {
    return `persistentvolumeclaim "${use.name}" bound to non-existent persistentvolume "${claim.spec?.volumeName ?? ""}"`;
  }
  if (claim.metadata?.deletionTimestamp !== undefined) {
    return `persistentvolumeclaim "${use.name}" is being deleted`;
  }
  const { namespace, name: podName, uid } = pod.metadata ?? {};
  const owners = claim.metadata?.ownerReferences ?? [];
  const isOwn = owners.some((owner) => owner.controller === true && owner.uid === uid);
  if (!use.isEphemeral || isOwn) return undefined;
  return `PVC ${namespace}/${use.name} was not created for pod ${namespace}/${podName} (pod is not owner)`;
}

function waitsForConsumer(claim: PersistentVolumeClaim, lookup: VolumeLookup): boolean {
  if ((claim.spec?.volumeName ?? "") !== "") return false;
  return isDelayed(lookup.storageClass(classOfClaim(claim)));
}

interface PodClaims {
  readonly bound: readonly PersistentVolumeClaim[];
  /** Unbound claims, smallest first: a large claim must not take a volume that a small one may need. */
  readonly waiting: readonly PersistentVolumeClaim[];
}

function claimsOf({ pod, namespace }: PodInfo, lookup: VolumeLookup): PodClaims {
  const claims = claimNames(pod).flatMap((claim) => lookup.claim(namespace, claim) ?? []);
  const waiting = claims.filter((claim) => !isFullyBound(claim));
  const size = requestedNanos;
  waiting.sort((a, b) => (size(a) < size(b) ? -1 : size(a) > size(b) ? 1 : 0));
  return { bound: claims.filter(isFullyBound), waiting };
}

function keepUsable(cycle: Cycle, lookup: VolumeLookup): void {
  const { info, feasible } = cycle;
  if (info.pod.spec?.volumes === undefined) return;
  const claims = claimsOf(info, lookup);
  if (claims.bound.length === 0 && claims.waiting.length === 0) return;
  let kept = 0;
  for (let i = 0; i < cycle.count; i++) {
    const slot = feasible[i] ?? 0;
    const node = cycle.cache.nodes.node(slot);
    const [first, second] = [
      ...boundConflict(claims.bound, node, lookup),
      ...(claims.waiting.length === 0 ? [] : findVolumes(claims.waiting, node, lookup).reasons),
    ];
    if (first === undefined) feasible[kept++] = slot;
    else {
      cycle.refuse(slot, first);
      if (second !== undefined) cycle.alsoRefuse(second);
    }
  }
  cycle.count = kept;
}

function boundConflict(
  bound: readonly PersistentVolumeClaim[],
  node: Node,
  lookup: VolumeLookup,
): readonly number[] {
  for (const claim of bound) {
    const volume = lookup.volume(claim.spec?.volumeName ?? "");
    if (volume === undefined) return [volumeMissing];
    if (!isUsableOn(asOnNode(volume, node, lookup), node)) return [nodeConflict];
  }
  return [];
}

interface Found {
  readonly bindings: readonly Binding[];
  readonly provisions: readonly PersistentVolumeClaim[];
  readonly reasons: readonly number[];
}

/** Finds a volume or a provisioner on this node for each waiting claim. */
function findVolumes(
  waiting: readonly PersistentVolumeClaim[],
  node: Node,
  lookup: VolumeLookup,
): Found {
  const bindings: Binding[] = [];
  const provisions: PersistentVolumeClaim[] = [];
  const taken = new Set<string>();
  const refused = (reason: number): Found => ({ bindings, provisions, reasons: [reason] });
  for (const claim of waiting) {
    const wanted = annotationOf(claim, selectedNode);
    if (wanted !== undefined && wanted !== node.metadata?.name) return refused(bindConflict);
    const volume = wanted === undefined ? lookup.bestVolume(claim, node, taken) : undefined;
    if (volume === undefined) provisions.push(claim);
    else {
      taken.add(volume.metadata?.name ?? "");
      bindings.push({ volume, claim });
    }
  }
  for (const claim of provisions) {
    const storageClass = lookup.storageClass(classOfClaim(claim));
    if (storageClass === undefined || !canProvision(storageClass, node)) {
      return refused(bindConflict);
    }
    if (!hasRoomFor(claim, storageClass, node, lookup)) return refused(notEnoughSpace);
  }
  return { bindings, provisions, reasons: [] };
}

function reserve(
  info: PodInfo,
  node: Node,
  lookup: VolumeLookup,
  bindTimeoutMs: number,
): Reservation | undefined {
  if (info.pod.spec?.volumes === undefined) return undefined;
  const { waiting } = claimsOf(info, lookup);
  if (waiting.length === 0) return undefined;
  const { bindings, provisions } = findVolumes(waiting, node, lookup);
  const chosen = bindings.map(({ volume, claim }) => ({
    volume: volumeBoundTo(volume, claim),
    claim,
  }));
  const choice = { bindings: chosen, provisions, node, bindTimeoutMs };
  return new VolumeReservation(lookup.binding, choice);
}
