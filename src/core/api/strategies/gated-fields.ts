/**
 * Drops fields of features that are off in 1.36 from a write, unless the stored object has one already.
 *
 * In     decoded objects, before any other preparation.
 * Why    kubelets, controllers and schedulers of 1.36 ignore these fields, and a stock server does not store them: a
 *        template that kept them would be another revision there.
 * After  upstream's DropDisabledFields of pod, statefulset, lease, csidriver and resourceslice.
 */
import { ownEntry } from "#base/own.ts";
import type { AnyObject } from "../object.ts";
import { type Fields, isFields } from "../validation/fields.ts";

export interface GatedField {
  /** Upstream's feature gate. */
  readonly gate: string;
  /** Path from the object; `*` stands for each list element or map value. */
  readonly path: readonly string[];
  /** If the parent contains only this field, it is dropped too. */
  readonly emptiesParent?: true;
}

function field(gate: string, path: string): GatedField {
  return { gate, path: path.split(".") };
}

const podSpecFields: readonly GatedField[] = [
  ...["containers", "initContainers", "ephemeralContainers"].map((list): GatedField => {
    const path = [list, "*", "lifecycle", "stopSignal"];
    return { gate: "ContainerStopSignals", path, emptiesParent: true };
  }),
  field("ClusterTrustBundleProjection", "volumes.*.projected.sources.*.clusterTrustBundle"),
  field("PodCertificateRequest", "volumes.*.projected.sources.*.podCertificate"),
  field("GenericWorkload", "schedulingGroup"),
];

function podSpecAt(place: string): readonly GatedField[] {
  return podSpecFields.map((one) => ({ ...one, path: [...place.split("."), ...one.path] }));
}

const template = podSpecAt("spec.template.spec");

const podGroupFields: readonly (readonly [gate: string, name: string])[] = [
  ["TopologyAwareWorkloadScheduling", "schedulingConstraints"],
  ["DRAWorkloadResourceClaims", "resourceClaims"],
  ["WorkloadAwarePreemption", "disruptionMode"],
  ["WorkloadAwarePreemption", "priorityClassName"],
  ["WorkloadAwarePreemption", "priority"],
];

function podGroupAt(place: string): readonly GatedField[] {
  return podGroupFields.map(([gate, name]) => field(gate, `${place}.${name}`));
}

/** By `group/resource`. */
export const gatedFields: Readonly<Record<string, readonly GatedField[]>> = {
  "/pods": podSpecAt("spec"),
  "/podtemplates": podSpecAt("template.spec"),
  "/replicationcontrollers": template,
  "apps/daemonsets": template,
  "apps/deployments": template,
  "apps/replicasets": template,
  "apps/statefulsets": [
    ...template,
    field("MaxUnavailableStatefulSet", "spec.updateStrategy.rollingUpdate.maxUnavailable"),
  ],
  "batch/cronjobs": podSpecAt("spec.jobTemplate.spec.template.spec"),
  "batch/jobs": template,
  "coordination.k8s.io/leases": [
    field("CoordinatedLeaderElection", "spec.strategy"),
    field("CoordinatedLeaderElection", "spec.preferredHolder"),
  ],
  "resource.k8s.io/resourceslices": [
    field("DRANodeAllocatableResources", "spec.devices.*.nodeAllocatableResourceMappings"),
    ...["bools", "ints", "strings", "versions"].map((name) =>
      field("DRAListTypeAttributes", `spec.devices.*.attributes.*.${name}`),
    ),
  ],
  "scheduling.k8s.io/podgroups": [
    ...podGroupAt("spec"),
    field("DRAWorkloadResourceClaims", "status.resourceClaimStatuses"),
  ],
  "scheduling.k8s.io/workloads": podGroupAt("spec.podGroupTemplates.*"),
  "storage.k8s.io/csidrivers": [field("VolumeLimitScaling", "spec.preventPodSchedulingIfMissing")],
};

/** `old` undefined: the object is new. Returns the same reference when nothing is dropped. */
export function dropGatedFields(
  fields: readonly GatedField[],
  next: AnyObject,
  old: AnyObject | undefined,
): AnyObject {
  let kept: Fields = next;
  const inUse = new Set(
    old === undefined ? [] : fields.filter(({ path }) => isSet(old, path)).map(nameOf),
  );
  for (const one of fields) {
    if (!inUse.has(nameOf(one))) kept = without(kept, one, 0);
  }
  return kept as AnyObject; // still an object of the kind: only optional fields went
}

/** As upstream, the field is kept in containers of all types if it was set in any. */
function nameOf({ gate, path }: GatedField): string {
  return `${gate} ${path.at(-1) ?? ""}`;
}

function isSet(value: unknown, path: readonly string[], at = 0): boolean {
  const name = path[at];
  if (name === undefined) return value !== undefined && value !== null;
  if (name === "*") return elementsOf(value).some((one) => isSet(one, path, at + 1));
  return isFields(value) && isSet(ownEntry(value, name), path, at + 1);
}

function elementsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isFields(value) ? Object.values(value) : [];
}

function without(value: Fields, gated: GatedField, at: number): Fields {
  const { path, emptiesParent } = gated;
  const name = path[at] ?? "";
  const child = ownEntry(value, name);
  if (child === undefined || child === null) return value;
  if (at === path.length - 1) return omit(value, name);
  const next = path[at + 1] === "*" ? eachWithout(child, gated, at + 2) : below(child, gated, at);
  if (next === child) return value;
  const isEmptied = emptiesParent === true && at === path.length - 2 && isEmpty(next);
  return isEmptied ? omit(value, name) : { ...value, [name]: next };
}

function below(child: unknown, gated: GatedField, at: number): unknown {
  return isFields(child) ? without(child, gated, at + 1) : child;
}

function eachWithout(value: unknown, gated: GatedField, at: number): unknown {
  const change = (one: unknown): unknown => (isFields(one) ? without(one, gated, at) : one);
  if (Array.isArray(value)) {
    const changed = value.map(change);
    return changed.every((one, index) => one === value[index]) ? value : changed;
  }
  if (!isFields(value)) return value;
  const entries = Object.entries(value).map(([key, one]) => [key, change(one)] as const);
  return entries.every(([key, one]) => one === value[key]) ? value : Object.fromEntries(entries);
}

function omit(value: Fields, name: string): Fields {
  const { [name]: _, ...rest } = value;
  return rest;
}

function isEmpty(value: unknown): boolean {
  return isFields(value) && Object.keys(value).length === 0;
}
