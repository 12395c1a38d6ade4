/**
 * Owners of the claims of a StatefulSet's pods, pure: the owner references by which the garbage
 * collector carries out persistentVolumeClaimRetentionPolicy. This controller never deletes a claim.
 *
 *   whenScaled  whenDeleted   claim of a wanted pod   claim of a pod beyond the replicas
 *   Retain      Retain        nobody                  nobody
 *   Retain      Delete        the set                 the set
 *   Delete      Retain        nobody                  the pod
 *   Delete      Delete        the set                 the pod
 *
 * Safe  a claim owned by another controller, or by an owner of the same name with another uid, is left
 *       unchanged.
 */
import type { PersistentVolumeClaim, Pod, StatefulSet } from "#api/gen/types.ts";
import type { KubeObject, OwnerReference } from "#api/object.ts";
import { apiVersionOf, type GroupVersionKind } from "#api/object.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { controllerReference } from "#client/owner.ts";
import { ordinalOf, ordinalsOf } from "./identity.ts";

const setGvk: GroupVersionKind = { group: "apps", version: "v1", kind: "StatefulSet" };
const podGvk: GroupVersionKind = { group: "", version: "v1", kind: "Pod" };

interface Policy {
  readonly onScale: boolean;
  readonly onDelete: boolean;
}

function policyOf(set: StatefulSet): Policy {
  const policy = set.spec?.persistentVolumeClaimRetentionPolicy ?? {};
  return { onScale: policy.whenScaled === "Delete", onDelete: policy.whenDeleted === "Delete" };
}

/** Initial owner references of a claim of a wanted pod. */
export function firstClaimOwners(set: StatefulSet): readonly OwnerReference[] {
  return policyOf(set).onDelete ? [controllerReference(setGvk, set)] : [];
}

/** The owner references that the claim should get; undefined: it is up to date. */
export function claimOwners(
  claim: PersistentVolumeClaim,
  set: StatefulSet,
  pod: Pod,
): readonly OwnerReference[] | undefined {
  const now = claim.metadata?.ownerReferences ?? [];
  if (now.some((owner) => isStale(owner, set, setGvk) || isStale(owner, pod, podGvk)))
    return undefined;
  const others = now.filter((owner) => !isOf(owner, set) && !isOf(owner, pod));
  const policy = policyOf(set);
  const foreign = others.some((owner) => owner.controller === true);
  if (foreign && (policy.onScale || policy.onDelete))
    return others.length === now.length ? undefined : others;
  const wanted = [...others, ...ownOwners(policy, set, pod)];
  return jsonEqual(wanted, now) ? undefined : wanted;
}

function ownOwners(policy: Policy, set: StatefulSet, pod: Pod): readonly OwnerReference[] {
  const ordinal = ordinalOf(set, pod) ?? -1;
  const { start, end } = ordinalsOf(set);
  const surplus = ordinal < start || ordinal >= end;
  if (policy.onScale && surplus) return [controllerReference(podGvk, pod)];
  return policy.onDelete ? [controllerReference(setGvk, set)] : [];
}

/** An earlier owner: same kind and name, but another uid. */
function isStale(owner: OwnerReference, object: KubeObject, gvk: GroupVersionKind): boolean {
  return isNamed(owner, object.metadata?.name ?? "", gvk) && !isOf(owner, object);
}

function isOf(owner: OwnerReference, object: KubeObject): boolean {
  return owner.uid === object.metadata?.uid;
}

function isNamed(owner: OwnerReference, name: string, gvk: GroupVersionKind): boolean {
  return owner.apiVersion === apiVersionOf(gvk) && owner.kind === gvk.kind && owner.name === name;
}

/** The claim of an earlier pod with this name is being deleted, so the next pod must wait for a new one. */
export function isLeftover(
  claim: PersistentVolumeClaim,
  set: StatefulSet,
  podName: string,
): boolean {
  if (claim.metadata?.deletionTimestamp !== undefined) return true;
  const owners = claim.metadata?.ownerReferences ?? [];
  return policyOf(set).onScale && owners.some((owner) => isNamed(owner, podName, podGvk));
}
