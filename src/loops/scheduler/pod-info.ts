/**
 * A Pod as the scheduler reads it: compiled once, when it is first seen or its spec or labels change.
 *
 * Pods whose scheduling depends on the same facts share one PodClass, so that facts about a class and a node are
 * computed once: see pod-class.ts.
 */
import type {
  Affinity,
  Pod,
  PodAffinityTerm,
  Toleration,
  TopologySpreadConstraint,
} from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { keyOf } from "#client/indexer.ts";
import type { InlineDisk } from "#api/volumes/csi-migration.ts";
import { claimNames } from "./claims.ts";
import { disksOf } from "./csi-migration.ts";
import { featuresNeeded } from "./node-features.ts";
import type { Requests } from "./requests.ts";
import { haveSameResizes, podRequests } from "./requests.ts";
import type { Selectable, Selection } from "./selection.ts";
import { ownerSelection, spreadSelection, termSelection } from "./selection.ts";

export interface HostPort {
  readonly protocol: string;
  /** Host address; "0.0.0.0" means all addresses. */
  readonly ip: string;
  readonly port: number;
}

export interface Term {
  readonly selection: Selection;
  readonly topologyKey: string;
}

interface WeightedTerm extends Term {
  /** Weight of the term; negative for anti-affinity. */
  readonly weight: number;
}

export interface Spread {
  readonly selection: Selection;
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly honorAffinity: boolean;
  readonly honorTaints: boolean;
  /** Whether the constraint's selector matches the Pod itself. */
  readonly selfMatch: boolean;
}

export interface PodInfo extends Selectable {
  readonly key: string;
  readonly uid: string;
  readonly name: string;
  readonly priority: number;
  readonly requests: Requests;
  readonly hostPorts: readonly HostPort[];
  /** Names of the Pod's claims. */
  readonly claims: readonly string[];
  /** Disks of in-tree plugins that the Pod's volumes name without a claim. */
  readonly disks: readonly InlineDisk[];
  readonly affinity: readonly Term[];
  readonly antiAffinity: readonly Term[];
  readonly preferred: readonly WeightedTerm[];
  readonly spreadHard: readonly Spread[];
  readonly spreadSoft: readonly Spread[];
  /** Whether the Pod has no constraints of its own: the profile's apply, and `spreadSoft` has the built-in ones. */
  readonly spreadByDefault: boolean;
  /** Selects the Pods of its ReplicaSet, StatefulSet or ReplicationController, which default constraints count. */
  readonly siblings: Selection | undefined;
  readonly tolerations: readonly Toleration[];
  /** Equal for Pods that fit and score alike on every node, apart from the terms of other Pods. */
  readonly classKey: string;
  /** The Pod from which this was compiled, or a later version of it with the same spec and labels. */
  pod: Pod;
}

/** Upstream's built-in default: spreading over nodes and, with a larger maxSkew, over zones. */
const defaultSpreading = [
  { topologyKey: "kubernetes.io/hostname", maxSkew: 3 },
  { topologyKey: "topology.kubernetes.io/zone", maxSkew: 5 },
] as const;

/** Kinds of owners whose selectors upstream looks up; Pods of other owners are not spread by default. */
const spreadOwners: ReadonlySet<string> = new Set([
  "apps/v1 ReplicaSet",
  "apps/v1 StatefulSet",
  "v1 ReplicationController",
]);

const namespaceless: readonly string[] = [];
const noClaims: readonly string[] = [];

export function podInfo(pod: Pod): PodInfo {
  const { spec, metadata = {} } = pod;
  const namespace = metadata.namespace ?? "";
  const labels = metadata.labels ?? {};
  const owner = metadata.ownerReferences?.find((o) => o.controller === true);
  const ownerUid = owner?.uid ?? "";
  const isSpread = owner !== undefined && spreadOwners.has(`${owner.apiVersion} ${owner.kind}`);
  const siblings = isSpread ? ownerSelection(ownerUid) : undefined;
  const self = { namespace, labels, ownerUid, isTerminating: false };
  const requests = podRequests(spec ?? { containers: [] }, pod.status);
  const hostPorts = podHostPorts(pod);
  const tolerations = spec?.tolerations ?? [];
  const priority = spec?.priority ?? 0;
  return {
    ...self,
    isTerminating: metadata.deletionTimestamp !== undefined,
    key: keyOf(pod),
    uid: metadata.uid ?? "",
    name: metadata.name ?? "",
    priority,
    requests,
    hostPorts,
    claims: spec?.volumes === undefined ? noClaims : claimNames(pod),
    disks: disksOf(pod),
    ...podTerms(spec?.affinity, namespace, labels),
    ...podSpreads(spec?.topologySpreadConstraints, self, siblings),
    siblings,
    tolerations,
    classKey: classKeyOf(pod, requests, hostPorts, self),
    pod,
  };
}

export function schedulerNameOf(pod: Pod): string {
  return pod.spec?.schedulerName ?? "default-scheduler";
}

/** Whether spec and labels are the same for scheduling, so that the compiled form is still valid. */
export function sameForScheduling(a: Pod, b: Pod): boolean {
  if (a.metadata?.uid !== b.metadata?.uid) return false;
  const ended = a.metadata?.deletionTimestamp !== b.metadata?.deletionTimestamp;
  if (ended || !sameLabels(a.metadata?.labels, b.metadata?.labels)) return false;
  if (!haveSameResizes(a, b)) return false;
  const generation = a.metadata?.generation;
  if (generation !== undefined && generation === b.metadata?.generation) return true;
  const withoutNode = (pod: Pod): string => JSON.stringify({ ...pod.spec, nodeName: "" });
  return withoutNode(a) === withoutNode(b);
}

/** Whether both versions have the same claims made from templates. */
export function haveSameClaims(a: Pod, b: Pod): boolean {
  return jsonEqual(a.status?.resourceClaimStatuses, b.status?.resourceClaimStatuses);
}

export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

type Labels = Readonly<Record<string, string>>;

function sameLabels(a: Labels = {}, b: Labels = {}): boolean {
  if (a === b) return true;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

function podHostPorts(pod: Pod): HostPort[] {
  const ports: HostPort[] = [];
  const spec = pod.spec;
  const sidecars = (spec?.initContainers ?? []).filter((c) => c.restartPolicy === "Always");
  for (const container of [...(spec?.containers ?? []), ...sidecars]) {
    for (const { hostPort = 0, hostIP = "", protocol = "TCP" } of container.ports ?? []) {
      if (hostPort <= 0) continue;
      ports.push({ protocol, ip: hostIP === "" ? "0.0.0.0" : hostIP, port: hostPort });
    }
  }
  return ports;
}

function podTerms(affinity: Affinity | undefined, namespace: string, labels: Labels) {
  const term = (t: PodAffinityTerm): Term => ({
    selection: termSelection(t, namespace, labels),
    topologyKey: t.topologyKey,
  });
  const { podAffinity, podAntiAffinity } = affinity ?? {};
  const liked = podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const disliked = podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return {
    affinity: (podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(term),
    antiAffinity: (podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(term),
    preferred: [
      ...liked.map((p) => ({ ...term(p.podAffinityTerm), weight: p.weight })),
      ...disliked.map((p) => ({ ...term(p.podAffinityTerm), weight: -p.weight })),
    ],
  };
}

function podSpreads(
  constraints: readonly TopologySpreadConstraint[] | undefined,
  self: Selectable,
  siblings: Selection | undefined,
) {
  if (constraints === undefined || constraints.length === 0) {
    const soft = siblings === undefined ? [] : defaultSpreads(siblings);
    return { spreadHard: [], spreadSoft: soft, spreadByDefault: true };
  }
  const compile = (c: TopologySpreadConstraint): Spread => {
    const keys = c.matchLabelKeys ?? namespaceless;
    const selection = spreadSelection(self.namespace, c.labelSelector, keys, self.labels);
    return {
      selection,
      topologyKey: c.topologyKey,
      maxSkew: c.maxSkew,
      minDomains: c.minDomains ?? 1,
      honorAffinity: c.nodeAffinityPolicy !== "Ignore",
      honorTaints: c.nodeTaintsPolicy === "Honor",
      selfMatch: selection.matches(self, () => undefined),
    };
  };
  const hard = constraints.filter((c) => c.whenUnsatisfiable === "DoNotSchedule");
  const soft = constraints.filter((c) => c.whenUnsatisfiable !== "DoNotSchedule");
  return {
    spreadHard: hard.map(compile),
    spreadSoft: soft.map(compile),
    spreadByDefault: false,
  };
}

/** Returns upstream's built-in constraints, which spread the Pods of one controller without a constraint in the spec. */
export function defaultSpreads(selection: Selection): Spread[] {
  const common = { minDomains: 1, honorAffinity: true, honorTaints: false, selfMatch: true };
  return defaultSpreading.map((d) => ({ ...d, ...common, selection }));
}

function classKeyOf(
  pod: Pod,
  requests: Requests,
  ports: readonly HostPort[],
  self: Selectable,
): string {
  const { affinity, topologySpreadConstraints, tolerations, nodeSelector, priority } =
    pod.spec ?? {};
  const { podAffinity, podAntiAffinity } = affinity ?? {};
  const byLabels =
    podAffinity !== undefined ||
    podAntiAffinity !== undefined ||
    topologySpreadConstraints !== undefined;
  return JSON.stringify([
    requests,
    ports,
    tolerations,
    nodeSelector,
    affinity,
    topologySpreadConstraints,
    priority ?? 0,
    pod.spec?.preemptionPolicy,
    byLabels ? [self.namespace, self.labels] : null,
    featuresNeeded(pod),
  ]);
}
