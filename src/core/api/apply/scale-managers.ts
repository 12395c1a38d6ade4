/**
 * Converts managedFields of an object to those of its Scale, and back. Only the owners of the replicas count there,
 * under another path and another version.
 *
 * Holds  as upstream, a write of the Scale moves the replicas of an updater of the object into a second entry
 *        without a time. Both entries have one identity, so the next reader keeps the later one only: the updater
 *        then no longer owns the replicas.
 * After  apimachinery pkg/util/managedfields/scalehandler.go.
 */
import type { ManagedFieldsEntry } from "../object.ts";
import { failure } from "../status.ts";
import { difference, type FieldSet, intersection, isEmpty, setOfPath } from "./field-set.ts";
import { fieldElement } from "./fields-v1.ts";
import {
  decodeManagers,
  encodeManagers,
  managerId,
  type ManagerSet,
  type Managers,
  withSet,
} from "./managers.ts";

const scaleApiVersion = "autoscaling/v1";
const replicasOfScale = setOfPath(["spec", "replicas"].map(fieldElement));

/** Path of the replicas in this version; undefined: there is none, or the version is not served. */
export type ReplicasPath = (apiVersion: string) => readonly string[] | undefined;

/** The managedFields of the Scale. @throws ApiError 500 when the object's entries are not in the form that a server writes. */
export function scaleManagers(
  entries: readonly ManagedFieldsEntry[] | undefined,
  pathOf: ReplicasPath,
): readonly ManagedFieldsEntry[] | undefined {
  const owners = [...decode(entries).values()].filter((owner) => ownsReplicas(owner, pathOf));
  return encodeManagers(new Map(owners.map(inScale).map((owner) => [managerId(owner), owner])));
}

interface Written {
  readonly entries: readonly ManagedFieldsEntry[] | undefined;
  /** Entries from `scaleManagers`, changed by the write. */
  readonly scaleEntries: readonly ManagedFieldsEntry[] | undefined;
  readonly pathOf: ReplicasPath;
  /** Version of the request; new entries get this version. */
  readonly apiVersion: string;
}

/** The object's entries after a write of its Scale. */
export function managersAfterScale({
  entries,
  scaleEntries,
  pathOf,
  apiVersion,
}: Written): readonly ManagedFieldsEntry[] | undefined {
  const rest = new Map(decode(scaleEntries));
  const next: ManagerSet[] = [];
  for (const [id, owner] of decode(entries)) {
    // Appliers are identical in both; an updater is identified by its version too.
    const isKept = !ownsReplicas(owner, pathOf) || rest.delete(id);
    const set = isKept ? owner.set : difference(owner.set, replicasOf(owner.apiVersion, pathOf));
    next.push(withSet(owner, set));
  }
  const set = replicasOf(apiVersion, pathOf);
  for (const { entry: _, ...owner } of rest.values()) {
    // Of the fields that it owns in a Scale, the object contains only the replicas.
    const isOwner = !isEmpty(intersection(owner.set, replicasOfScale));
    if (isOwner) next.push({ ...owner, apiVersion, set, timeMs: undefined });
  }
  return encodeManagers(new Map(next.map((owner, at) => [String(at), owner])));
}

function inScale(managed: ManagerSet): ManagerSet {
  const { entry: _, ...owner } = managed;
  return { ...owner, apiVersion: scaleApiVersion, set: replicasOfScale };
}

function replicasOf(apiVersion: string, pathOf: ReplicasPath): FieldSet {
  return setOfPath((pathOf(apiVersion) ?? []).map(fieldElement));
}

function ownsReplicas({ apiVersion, set }: ManagerSet, pathOf: ReplicasPath): boolean {
  return (
    pathOf(apiVersion) !== undefined && !isEmpty(intersection(set, replicasOf(apiVersion, pathOf)))
  );
}

function decode(entries: readonly ManagedFieldsEntry[] | undefined): Managers {
  const managers = decodeManagers(entries);
  if (managers === undefined) throw failure(500, "", "failed to decode managed fields");
  return managers;
}
