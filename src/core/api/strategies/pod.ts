/**
 * Pods: the server's decisions on create, and the fields that each endpoint may change
 * (main, status, ephemeralcontainers, resize, binding).
 */
import { given } from "#base/given.ts";
import { ownEntry } from "#base/own.ts";
import type { AnyObject } from "../object.ts";
import { resetMetadataForStatus } from "../meta.ts";
import { serviceAccountNames } from "../defaults/pod-spec.ts";
import type { Fields } from "../validation/fields.ts";
import {
  has,
  items,
  maybe,
  maybeInteger,
  number,
  part,
  text,
  textMap,
  texts,
} from "../validation/fields.ts";
import { withAnnotatedProfiles } from "../validation/apparmor.ts";
import type { StrategyRow } from "./build.ts";
import { countGeneration } from "./build.ts";
import { podQosClass } from "./qos.ts";

const spec = ["spec"] as const;

export const pods: StrategyRow = {
  status: {},
  generation: spec,
  prepareForCreate,
  prepareForUpdate: (next) => withSpec(next, serviceAccountNames(part(next, "spec"))),
  prepareStatus,
  gracePeriodSeconds,
  subresources: {
    ephemeralcontainers: prepareEphemeral,
    resize: prepareResize,
    binding: (next) => next,
  },
};

function withSpec(pod: AnyObject, next: Fields): AnyObject {
  return pod["spec"] === next ? pod : { ...pod, spec: next };
}

function prepareForCreate(pod: AnyObject): AnyObject {
  const labels = textMap(part(pod, "metadata"), "labels");
  let podSpec = serviceAccountNames(part(pod, "spec"));
  podSpec = mergeAffinityKeys(podSpec, labels);
  podSpec = mergeSpreadKeys(podSpec, labels);
  const gated = items(podSpec, "schedulingGates").length > 0;
  const status = {
    phase: "Pending",
    ...(gated ? { conditions: [gatedCondition] } : {}),
    qosClass: podQosClass(podSpec),
  };
  return withAnnotatedProfiles({ ...withSpec(pod, podSpec), status });
}

const gatedCondition = {
  type: "PodScheduled",
  status: "False",
  reason: "SchedulingGated",
  message: "Scheduling is blocked due to non-empty scheduling gates",
};

interface Expression {
  readonly key: string;
  readonly operator: "In" | "NotIn";
  readonly values: readonly string[];
}

function expressionsFor(
  keys: readonly string[],
  operator: "In" | "NotIn",
  labels: Readonly<Record<string, string>>,
): Expression[] {
  return keys.flatMap((name) => {
    const value = ownEntry(labels, name);
    return value === undefined ? [] : [{ key: name, operator, values: [value] }];
  });
}

/** Converts matchLabelKeys and mismatchLabelKeys to expressions with the pod's own values. */
function mergeTermKeys(term: Fields, labels: Readonly<Record<string, string>>): Fields {
  const more = [
    ...expressionsFor(texts(term, "matchLabelKeys"), "In", labels),
    ...expressionsFor(texts(term, "mismatchLabelKeys"), "NotIn", labels),
  ];
  return withExpressions(term, more);
}

function withExpressions(holder: Fields, more: readonly Expression[]): Fields {
  const selector = maybe(holder, "labelSelector");
  if (selector === undefined || more.length === 0) return holder;
  const matchExpressions = [...items(selector, "matchExpressions"), ...more];
  return { ...holder, labelSelector: { ...selector, matchExpressions } };
}

const requiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";
const preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution";

function mergeAffinityKeys(podSpec: Fields, labels: Readonly<Record<string, string>>): Fields {
  const affinity = maybe(podSpec, "affinity");
  if (affinity === undefined) return podSpec;
  const next: Record<string, unknown> = { ...affinity };
  for (const kind of ["podAffinity", "podAntiAffinity"]) {
    const rules = maybe(affinity, kind);
    if (rules === undefined) continue;
    const merged: Record<string, unknown> = { ...rules };
    if (has(rules, requiredTerms)) {
      merged[requiredTerms] = items(rules, requiredTerms).map((t) => mergeTermKeys(t, labels));
    }
    if (has(rules, preferredTerms)) {
      merged[preferredTerms] = items(rules, preferredTerms).map((weighted) => ({
        ...weighted,
        podAffinityTerm: mergeTermKeys(part(weighted, "podAffinityTerm"), labels),
      }));
    }
    next[kind] = merged;
  }
  return { ...podSpec, affinity: next };
}

function mergeSpreadKeys(podSpec: Fields, labels: Readonly<Record<string, string>>): Fields {
  const constraints = items(podSpec, "topologySpreadConstraints");
  if (constraints.every((each) => texts(each, "matchLabelKeys").length === 0)) return podSpec;
  const topologySpreadConstraints = constraints.map((each) =>
    withExpressions(each, expressionsFor(texts(each, "matchLabelKeys"), "In", labels)),
  );
  return { ...podSpec, topologySpreadConstraints };
}

/** Kubelets may not change owners or the deletion, and cannot remove what was set before by the server or themselves. */
function prepareStatus(next: AnyObject, old: AnyObject): AnyObject {
  const { ownerReferences: _, deletionTimestamp: __, ...sent } = next.metadata ?? {};
  const { ownerReferences, deletionTimestamp } = old.metadata ?? {};
  const metadata = {
    ...sent,
    ...given({ ownerReferences, deletionTimestamp }),
  };
  const before = part(old, "status");
  let status: Record<string, unknown> = { ...part(next, "status") };
  if (text(status, "qosClass") === "" && has(before, "qosClass")) {
    status["qosClass"] = before["qosClass"];
  }
  status = keepObservedGenerations(addressLists(status), before);
  return { ...next, metadata, status };
}

/** podIP equals the first of podIPs, and hostIP the first of hostIPs; either may be omitted. */
function addressLists(status: Record<string, unknown>): Record<string, unknown> {
  for (const [one, list] of [
    ["podIP", "podIPs"],
    ["hostIP", "hostIPs"],
  ] as const) {
    const address = text(status, one);
    const first = text(items(status, list)[0] ?? {}, "ip");
    if (address === "" && first !== "") status[one] = first;
    else if (one === "podIP" && address !== "" && first !== address) {
      status[list] = [{ ip: address }];
    }
  }
  return status;
}

function keepObservedGenerations(
  status: Record<string, unknown>,
  before: Fields,
): Record<string, unknown> {
  const observed = number(before, "observedGeneration");
  if (number(status, "observedGeneration") === 0 && observed !== 0) {
    status["observedGeneration"] = observed;
  }
  const known = new Map<string, number[]>();
  for (const condition of items(before, "conditions")) {
    const type = text(condition, "type");
    known.set(type, [...(known.get(type) ?? []), number(condition, "observedGeneration")]);
  }
  if (!has(status, "conditions")) return status;
  status["conditions"] = items(status, "conditions").map((condition) => {
    const generation = known.get(text(condition, "type"))?.shift() ?? 0;
    if (number(condition, "observedGeneration") !== 0 || generation === 0) return condition;
    return { ...condition, observedGeneration: generation };
  });
  return status;
}

function prepareEphemeral(next: AnyObject, old: AnyObject): AnyObject {
  const containers = part(next, "spec")["ephemeralContainers"];
  const podSpec = { ...part(old, "spec"), ephemeralContainers: containers ?? [] };
  const metadata = resetMetadataForStatus(next, old).metadata ?? {};
  return countGeneration({ ...old, metadata, spec: podSpec }, old, spec);
}

/** Takes over only resources of the pod, and resources and resize policies of known containers; validation refuses the rest. */
function prepareResize(next: AnyObject, old: AnyObject): AnyObject {
  const wanted = part(next, "spec");
  const before = part(old, "spec");
  const lists = ["containers", "initContainers"] as const;
  if (lists.some((list) => !sameNames(items(wanted, list), items(before, list)))) return next;
  const { resources: _, ...kept } = before;
  const podSpec: Record<string, unknown> = { ...kept };
  if (has(wanted, "resources")) podSpec["resources"] = wanted["resources"];
  for (const list of lists) {
    if (has(before, list)) podSpec[list] = resized(items(wanted, list), items(before, list));
  }
  const metadata = resetMetadataForStatus(next, old).metadata ?? {};
  return countGeneration({ ...old, metadata, spec: podSpec }, old, spec);
}

function sameNames(a: readonly Fields[], b: readonly Fields[]): boolean {
  return (
    a.length === b.length && a.every((each, at) => text(each, "name") === text(b[at] ?? {}, "name"))
  );
}

function resized(wanted: readonly Fields[], before: readonly Fields[]): readonly Fields[] {
  return before.map((container, at) => {
    const { resizePolicy, ...kept } = container;
    void resizePolicy;
    const from = wanted[at] ?? {};
    const policy = has(from, "resizePolicy") ? { resizePolicy: from["resizePolicy"] } : {};
    return { ...kept, ...policy, resources: from["resources"] ?? {} };
  });
}

/** Zero when no kubelet is involved: the pod was never bound, or has finished. */
function gracePeriodSeconds(
  pod: AnyObject,
  requested: number | bigint | undefined,
): number | bigint {
  const podSpec = part(pod, "spec");
  const phase = text(part(pod, "status"), "phase");
  if (text(podSpec, "nodeName") === "" || phase === "Failed" || phase === "Succeeded") return 0;
  const period = requested ?? maybeInteger(podSpec, "terminationGracePeriodSeconds") ?? 0;
  return period < 0 ? 1 : period;
}
