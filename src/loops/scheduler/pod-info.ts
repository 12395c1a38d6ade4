/**
 * A Pod as the scheduler reads it: compiled once, when it is first seen or its spec or labels change.
 *
 * Pods whose scheduling depends on the same facts share one PodClass, so that what is true of a
 * class and a node is worked out once: see pod-class.ts.
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
  /** "0.0.0.0": all addresses. */
  readonly ip: string;
  readonly port: number;
}

export interface Term {
  readonly selection: Selection;
  readonly topologyKey: string;
}

interface WeightedTerm extends Term {
  /** Negative for anti-affinity. */
  readonly weight: number;
}

export interface Spread {
  readonly selection: Selection;
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly honorAffinity: boolean;
  readonly honorTaints: boolean;
  /** The Pod itself would count. */
  readonly selfMatch: boolean;
}

export interface PodInfo extends Selectable {
  readonly key: string;
  readonly uid: string;
  readonly name: string;
  readonly priority: number;
  readonly requests: Requests;
  readonly hostPorts: readonly HostPort[];
  /** Names of its claims. */
  readonly claims: readonly string[];
  /** Of in-tree plugins, named by its volumes without a claim. */
  readonly disks: readonly InlineDisk[];
  readonly affinity: readonly Term[];
  readonly antiAffinity: readonly Term[];
  readonly preferred: readonly WeightedTerm[];
  readonly spreadHard: readonly Spread[];
  readonly spreadSoft: readonly Spread[];
  /** It has no constraints of its own: those of the profile hold, `spreadSoft` are the built-in ones. */
  readonly spreadByDefault: boolean;
  /** The Pods of its ReplicaSet, StatefulSet or ReplicationController: what default constraints count. */
  readonly siblings: Selection | undefined;
  readonly tolerations: readonly Toleration[];
  /** Equal for Pods that fit and score alike on every node, leaving out what others' terms say of them. */
  readonly classKey: string;
  /** The object this was compiled from, or a later one with the same spec and labels. */
  pod: Pod;
}

/** As upstream's built-in default: spread over nodes and, more loosely, over zones. */
const defaultSpreading = [
  { topologyKey: "kubernetes.io/hostname", maxSkew: 3 },
  { topologyKey: "topology.kubernetes.io/zone", maxSkew: 5 },
] as const;

/** Upstream looks up the selectors of these; the Pods of any other owner are not spread by default. */
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

/** Same spec and labels as far as scheduling goes: the compiled form still holds. */
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

/** The names of claims that were made from templates for the Pod. */
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

/** Upstream's built-in constraints. Pods of one controller are spread without being asked. */
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
