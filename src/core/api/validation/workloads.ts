/** Deployments, replica sets, daemon sets, replication controllers. Texts as upstream's. */
import type { FieldError } from "../status.ts";
import type { Fields } from "./fields.ts";
import { has, hasEntries, isFields, maybe, maybeNumber, number, part, text } from "./fields.ts";
import { child, forbiddenField, invalidValue, notSupported, required, append } from "./errors.ts";
import { goStruct } from "./go-struct.ts";
import { checkImmutable } from "./immutable.ts";
import {
  checkAtMost100Percent,
  checkCounters,
  checkIntOrPercent,
  checkNotAbove,
  checkNotDecremented,
  leadingNumber,
} from "./numbers.ts";
import { checkPodTemplate } from "./pod-spec.ts";
import {
  checkMapSelectsTemplate,
  checkSelector,
  checkSelectsTemplate,
  isEmptySelector,
} from "./template-selector.ts";
import { validateLabelSelector } from "../meta.ts";

/** The pods must always restart, because their controller replaces them. */
export function checkEndlessTemplate(out: FieldError[], spec: Fields, kind: string): void {
  const template = part(part(spec, "template"), "spec");
  const policy = text(template, "restartPolicy");
  if (policy !== "Always") {
    out.push(notSupported("spec.template.spec.restartPolicy", policy, ["Always"]));
  }
  if (has(template, "activeDeadlineSeconds")) {
    const detail = `activeDeadlineSeconds in ${kind} is not Supported`;
    out.push(forbiddenField("spec.template.spec.activeDeadlineSeconds", detail));
  }
}

function checkReplicaTemplate(out: FieldError[], spec: Fields, kind: string): void {
  checkPodTemplate(out, part(spec, "template"), "spec.template");
  checkEndlessTemplate(out, spec, kind);
}

export function validateDeployment(deployment: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(deployment, "spec");
  checkCounters(out, spec, ["replicas"], "spec");
  checkSelector(out, spec, "empty selector is invalid for deployment", "spec");
  checkSelectsTemplate(out, spec, "spec", "invalid label selector");
  checkReplicaTemplate(out, spec, "ReplicaSet");
  checkStrategy(out, part(spec, "strategy"), "spec.strategy");
  checkCounters(
    out,
    spec,
    ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"],
    "spec",
  );
  const deadline = maybeNumber(spec, "progressDeadlineSeconds");
  if (deadline !== undefined && deadline <= number(spec, "minReadySeconds")) {
    const detail = "must be greater than minReadySeconds";
    out.push(invalidValue("spec.progressDeadlineSeconds", deadline, detail));
  }
  return out;
}

function checkStrategy(out: FieldError[], strategy: Fields, path: string): void {
  const rolling = child(path, "rollingUpdate");
  const type = text(strategy, "type");
  if (type === "Recreate") {
    if (!has(strategy, "rollingUpdate")) return;
    out.push(forbiddenField(rolling, "may not be specified when strategy `type` is 'Recreate'"));
  } else if (type === "RollingUpdate") {
    const update = maybe(strategy, "rollingUpdate");
    if (update === undefined) {
      out.push(required(rolling, "this should be defaulted and never be nil"));
    } else checkRollingDeployment(out, update, rolling);
  } else out.push(notSupported(path, shownStrategy(strategy), ["Recreate", "RollingUpdate"]));
}

/** Of Deployments and DaemonSets. */
function shownStrategy(strategy: Fields): unknown {
  const rolling = maybe(strategy, "rollingUpdate");
  const zeros = { maxUnavailable: null, maxSurge: null };
  const rollingUpdate = rolling === undefined ? null : goStruct(rolling, zeros);
  return goStruct({ type: text(strategy, "type"), rollingUpdate }, { type: "", rollingUpdate });
}

function checkRollingDeployment(out: FieldError[], update: Fields, path: string): void {
  const { maxUnavailable, maxSurge } = update;
  const unavailable = child(path, "maxUnavailable");
  checkIntOrPercent(out, maxUnavailable, unavailable);
  checkIntOrPercent(out, maxSurge, child(path, "maxSurge"));
  if (leadingNumber(maxUnavailable) === 0 && leadingNumber(maxSurge) === 0) {
    out.push(invalidValue(unavailable, maxUnavailable, "may not be 0 when `maxSurge` is 0"));
  }
  checkAtMost100Percent(out, maxUnavailable, unavailable);
}

export function validateDeploymentUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateDeployment(next);
  checkSelectorKept(out, next, old);
  return out;
}

/** The selector is immutable, because pods created under an old one would lose their owner. */
function checkSelectorKept(out: FieldError[], next: Fields, old: Fields): void {
  const at = { field: "selector", path: "spec" };
  checkImmutable(out, part(next, "spec"), part(old, "spec"), at);
}

const aboveReplicas = {
  field: "replicas",
  detail: "cannot be greater than status.replicas",
  path: "status",
};
const aboveReady = {
  field: "readyReplicas",
  detail: "cannot be greater than readyReplicas",
  path: "status",
};

export function validateDeploymentStatus(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  const status = part(next, "status");
  checkCounters(
    out,
    status,
    [
      "observedGeneration",
      "replicas",
      "updatedReplicas",
      "readyReplicas",
      "availableReplicas",
      "unavailableReplicas",
      "terminatingReplicas",
      "collisionCount",
    ],
    "status",
  );
  checkNotAbove(
    out,
    status,
    ["updatedReplicas", "readyReplicas", "availableReplicas"],
    aboveReplicas,
  );
  checkNotAbove(out, status, ["availableReplicas"], aboveReady);
  checkNotDecremented(out, status, part(old, "status"), "status");
  return out;
}

export function validateReplicaSet(set: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(set, "spec");
  checkCounters(out, spec, ["replicas", "minReadySeconds"], "spec");
  checkSelector(out, spec, "empty selector is invalid for deployment", "spec");
  checkSelectsTemplate(out, spec, "spec", "invalid label selector");
  checkReplicaTemplate(out, spec, "ReplicaSet");
  return out;
}

export function validateReplicaSetUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateReplicaSet(next);
  checkSelectorKept(out, next, old);
  return out;
}

/** Replica sets and replication controllers have the same status. */
export function validateReplicaStatus(next: Fields): FieldError[] {
  const out: FieldError[] = [];
  const status = part(next, "status");
  const counters = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
  const all = ["replicas", ...counters, "terminatingReplicas", "observedGeneration"];
  checkCounters(out, status, all, "status");
  checkNotAbove(out, status, counters, aboveReplicas);
  checkNotAbove(out, status, ["availableReplicas"], aboveReady);
  return out;
}

export function validateReplicationController(controller: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(controller, "spec");
  checkCounters(out, spec, ["minReadySeconds"], "spec");
  if (!hasEntries(spec, "selector")) out.push(required("spec.selector"));
  if (!has(spec, "replicas")) out.push(required("spec.replicas"));
  checkCounters(out, spec, ["replicas"], "spec");
  if (!isFields(spec["template"])) {
    out.push(required("spec.template"));
    return out;
  }
  checkMapSelectsTemplate(out, spec, "spec");
  checkReplicaTemplate(out, spec, "ReplicationController");
  return out;
}

export function validateDaemonSet(set: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(set, "spec");
  const selector = maybe(spec, "selector");
  append(out, validateLabelSelector(selector, "spec.selector"));
  checkSelectsTemplate(out, spec, "spec", undefined);
  if (selector !== undefined && isEmptySelector(selector)) {
    const detail = "empty selector is invalid for daemonset";
    out.push(invalidValue("spec.selector", selector, detail));
  }
  checkReplicaTemplate(out, spec, "DaemonSet");
  checkCounters(out, spec, ["minReadySeconds"], "spec");
  checkDaemonStrategy(out, part(spec, "updateStrategy"), "spec.updateStrategy");
  checkCounters(out, spec, ["revisionHistoryLimit"], "spec");
  return out;
}

function checkDaemonStrategy(out: FieldError[], strategy: Fields, path: string): void {
  const type = text(strategy, "type");
  if (type === "OnDelete") return;
  if (type !== "RollingUpdate") {
    out.push(notSupported(path, shownStrategy(strategy), ["RollingUpdate", "OnDelete"]));
    return;
  }
  const at = child(path, "rollingUpdate");
  const update = maybe(strategy, "rollingUpdate");
  if (update === undefined) out.push(required(at));
  else checkRollingDaemon(out, update, at);
}

function checkRollingDaemon(out: FieldError[], update: Fields, path: string): void {
  const { maxUnavailable, maxSurge } = update;
  const unavailable = child(path, "maxUnavailable");
  const surge = child(path, "maxSurge");
  checkIntOrPercent(out, maxUnavailable, unavailable);
  checkIntOrPercent(out, maxSurge, surge);
  const hasUnavailable = leadingNumber(maxUnavailable) !== 0;
  const hasSurge = leadingNumber(maxSurge) !== 0;
  if (hasUnavailable && hasSurge) {
    out.push(invalidValue(surge, maxSurge, "may not be set when maxUnavailable is non-zero"));
  } else if (!hasUnavailable && !hasSurge) {
    out.push(required(unavailable, "cannot be 0 when maxSurge is 0"));
  }
  checkAtMost100Percent(out, maxUnavailable, unavailable);
  checkAtMost100Percent(out, maxSurge, surge);
}

export function validateDaemonSetUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkSelectorKept(out, next, old);
  append(out, validateDaemonSet(next));
  return out;
}

export function validateDaemonSetStatus(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  const counters = [
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
  ];
  checkCounters(out, part(next, "status"), counters, "status");
  checkNotDecremented(out, part(next, "status"), part(old, "status"), "status");
  return out;
}
