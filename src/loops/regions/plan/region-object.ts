/**
 * What an object of the coordinator looks like in a region: its own fields, the region's replicas, overrides, and marks.
 *
 * Holds  status, and what a server sets by itself (uid, resourceVersion, managedFields, owners, finalizers, addresses of
 *        Services), are left out. Overrides cannot change what the object is: apiVersion, kind, name, namespace, and our
 *        marks are set after them.
 */
import type { AnyObject, JsonValue } from "#api/object.ts";
import { labelsMatch, selectorFromLabelSelector } from "#api/selectors/label-selector.ts";
import { applyJsonPatch } from "#api/patch/json-patch.ts";
import { canonicalJson } from "./canonical-json.ts";
import { sha256Hex } from "#base/sha256.ts";
import { given } from "#base/given.ts";
import { isRecord } from "#base/is-record.ts";
import type { Candidate } from "../choose.ts";
import { annotations, labels } from "../names.ts";
import type { Override } from "../placement.ts";

interface RegionObjectOptions {
  readonly placementUid: string;
  readonly region: Candidate;
  readonly overrides: readonly Override[];
  /** Absent: the object keeps its own number of replicas. */
  readonly replicas?: number;
  /** Whether the region's agent stops the object when the fence is not held. */
  readonly isFenced?: boolean;
}

/** @throws ApiError for an override that does not apply. */
export function regionObject(source: AnyObject, options: RegionObjectOptions): AnyObject {
  const { region, overrides } = options;
  const mine = overrides.filter((each) => isFor(each, source, region));
  const patches = mine.flatMap((each) => each.patches);
  const plain = withReplicas(plainObject(source), options);
  // The patch turns JSON into JSON, so the result is an API object again.
  const patched = applyJsonPatch(plain as JsonValue, patches) as AnyObject;
  return marked(source, patched, options);
}

function isFor(
  { regions, selector, kind }: Override,
  source: AnyObject,
  region: Candidate,
): boolean {
  if (kind !== "" && kind !== source.kind) return false;
  if (regions.length > 0 && !regions.includes(region.name)) return false;
  return labelsMatch(selectorFromLabelSelector(selector), region.labels);
}

function plainObject(source: AnyObject): AnyObject {
  const { status: _, metadata, ...rest } = source;
  const { labels: own, annotations: notes } = metadata ?? {};
  const plain = { ...rest, metadata: given({ labels: own, annotations: notes }) };
  if (source.kind !== "Service" || !isRecord(source["spec"])) return plain;
  const { clusterIP, clusterIPs: __, healthCheckNodePort: ___, ...spec } = source["spec"];
  return { ...plain, spec: clusterIP === "None" ? { ...spec, clusterIP } : spec };
}

function withReplicas(object: AnyObject, { replicas }: RegionObjectOptions): AnyObject {
  if (replicas === undefined) return object;
  const own = isRecord(object["spec"]) ? object["spec"] : {};
  return { ...object, spec: { ...own, replicas } };
}

/** Annotations that are not copied, because a client or controller keeps them for one cluster only. */
const localAnnotations = [
  "kubectl.kubernetes.io/last-applied-configuration",
  "deployment.kubernetes.io/revision",
];

function marked(source: AnyObject, object: AnyObject, options: RegionObjectOptions): AnyObject {
  const { name = "", namespace, uid = "", generation } = source.metadata ?? {};
  const kept = Object.entries(object.metadata?.annotations ?? {}).filter(
    ([key]) => !localAnnotations.includes(key),
  );
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    labels: { ...object.metadata?.labels, [labels.placement]: options.placementUid },
  };
  const notes = {
    ...Object.fromEntries(kept),
    [annotations.source]: uid,
    [annotations.generation]: String(generation ?? 0),
    ...(options.isFenced === true ? { [annotations.fenced]: "true" } : {}),
  };
  const { apiVersion = "", kind = "" } = source;
  const made = { ...object, apiVersion, kind, metadata: { ...metadata, annotations: notes } };
  const applied = sha256Hex(canonicalJson(made)).slice(0, 16);
  return {
    ...made,
    metadata: { ...metadata, annotations: { ...notes, [annotations.applied]: applied } },
  };
}
