/** Stateful sets and the revisions controllers keep. Texts as upstream's. */
import { isRecord } from "#base/is-record.ts";
import type { FieldError } from "../status.ts";
import { spelledJson } from "../json/kept-json.ts";
import { dns1123LabelErrors } from "../names.ts";
import type { Fields } from "./fields.ts";
import { has, items, maybe, part, text, without } from "./fields.ts";
import {
  child,
  forbiddenField,
  index,
  invalidEach,
  invalidJson,
  invalidValue,
  notSupported,
  required,
  append,
} from "./errors.ts";
import { checkClaimSpec } from "./claims.ts";
import { semanticEqual } from "./equal.ts";
import { goStruct } from "./go-struct.ts";
import { immutableText } from "./immutable.ts";
import {
  checkAtMost100Percent,
  checkCounters,
  checkIntOrPercent,
  checkNotAbove,
  checkNotDecremented,
  leadingNumber,
} from "./numbers.ts";
import { checkPodTemplate } from "./pod-spec.ts";
import { checkSelector, checkSelectsTemplate } from "./template-selector.ts";
import { checkEndlessTemplate } from "./workloads.ts";

export function validateStatefulSet(set: Fields): FieldError[] {
  return checkSet(set, true);
}

/** `isNew`: a name of a Service that is no label stays where it was once taken. */
function checkSet(set: Fields, isNew: boolean): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(set, "spec");
  checkPodManagement(out, spec);
  checkUpdateStrategy(out, part(spec, "updateStrategy"), "spec.updateStrategy");
  checkRetention(out, spec);
  checkCounters(out, spec, ["replicas", "minReadySeconds"], "spec");
  checkCounters(out, part(spec, "ordinals"), ["start"], "spec.ordinals");
  if (isNew) checkServiceName(out, text(spec, "serviceName"));
  checkSelector(out, spec, "empty selector is invalid for statefulset", "spec");
  checkSelectsTemplate(out, spec, "spec", "");
  checkTemplates(out, spec);
  checkEndlessTemplate(out, spec, "StatefulSet");
  return out;
}

function checkServiceName(out: FieldError[], name: string): void {
  if (name === "") return;
  append(out, invalidEach("spec.serviceName", name, dns1123LabelErrors(name)));
}

function checkPodManagement(out: FieldError[], spec: Fields): void {
  const policy = text(spec, "podManagementPolicy");
  const path = "spec.podManagementPolicy";
  if (policy === "") out.push(required(path));
  else if (policy !== "OrderedReady" && policy !== "Parallel") {
    out.push(invalidValue(path, policy, "must be 'OrderedReady' or 'Parallel'"));
  }
}

function checkUpdateStrategy(out: FieldError[], strategy: Fields, path: string): void {
  const type = text(strategy, "type");
  const at = child(path, "rollingUpdate");
  const rolling = maybe(strategy, "rollingUpdate");
  if (type === "") out.push(required(path));
  else if (type === "OnDelete") {
    if (rolling === undefined) return;
    const shown = goStruct(rolling, { partition: 0, maxUnavailable: null });
    out.push(invalidValue(at, shown, "only allowed for updateStrategy 'RollingUpdate'"));
  } else if (type !== "RollingUpdate") {
    const parts = { partition: 0, maxUnavailable: null };
    const shown = rolling === undefined ? null : goStruct(rolling, parts);
    const value = { Type: type, RollingUpdate: shown };
    out.push(invalidValue(path, value, "must be 'RollingUpdate' or 'OnDelete'"));
  } else if (rolling !== undefined) {
    checkCounters(out, rolling, ["partition"], at);
    if (has(rolling, "maxUnavailable")) {
      checkMaxUnavailable(out, rolling["maxUnavailable"], child(at, "maxUnavailable"));
    }
  }
}

function checkMaxUnavailable(out: FieldError[], value: unknown, path: string): void {
  checkIntOrPercent(out, value, path);
  if (leadingNumber(value) === 0) out.push(invalidValue(path, value, "cannot be 0"));
  checkAtMost100Percent(out, value, path);
}

function checkRetention(out: FieldError[], spec: Fields): void {
  const policy = maybe(spec, "persistentVolumeClaimRetentionPolicy");
  if (policy === undefined) return;
  for (const field of ["whenDeleted", "whenScaled"]) {
    const value = text(policy, field);
    if (value === "Retain" || value === "Delete") continue;
    const path = child("spec.persistentVolumeClaimRetentionPolicy", field);
    out.push(notSupported(path, value, ["Retain", "Delete"]));
  }
}

/** Claim templates become volumes of each pod and replace volumes of the same name. */
function checkTemplates(out: FieldError[], spec: Fields): void {
  const claims = items(spec, "volumeClaimTemplates");
  claims.forEach((claim, at) => {
    checkClaimSpec(out, part(claim, "spec"), child(index("spec.volumeClaimTemplates", at), "spec"));
  });
  const template = part(spec, "template");
  const pod = part(template, "spec");
  const names = new Set(claims.map((claim) => text(part(claim, "metadata"), "name")));
  const kept = items(pod, "volumes").filter((volume) => !names.has(text(volume, "name")));
  const made = [...names].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  const whole = { ...template, spec: { ...pod, volumes: [...kept, ...made] } };
  checkPodTemplate(out, whole, "spec.template");
}

const mutable = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
];
const changedText =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

export function validateStatefulSetUpdate(next: Fields, old: Fields): FieldError[] {
  const out = checkSet(next, false);
  const kept = without(part(next, "spec"), mutable);
  if (!semanticEqual(kept, without(part(old, "spec"), mutable))) {
    out.push(forbiddenField("spec", changedText));
  }
  return out;
}

export function validateStatefulSetStatus(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  const status = part(next, "status");
  const counters = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
  const others = ["replicas", "observedGeneration", "collisionCount"];
  checkCounters(out, status, [...others, ...counters], "status");
  const detail = "cannot be greater than status.replicas";
  checkNotAbove(out, status, counters, { field: "replicas", detail, path: "status" });
  checkNotAbove(out, status, ["availableReplicas"], {
    field: "readyReplicas",
    detail: "cannot be greater than status.readyReplicas",
    path: "status",
  });
  checkNotDecremented(out, status, part(old, "status"), "status");
  return out;
}

export function validateRevision(revision: Fields): FieldError[] {
  const out = validateCounter(revision);
  const data = revision["data"];
  if (!has(revision, "data")) out.push(required("data", "data is mandatory"));
  else if (!isRecord(data)) out.push(required("data", "data must be a valid JSON object"));
  return out;
}

/** Upstream compares the bytes of `data`. */
export function validateRevisionUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateCounter(next);
  const data = spelledJson(next["data"] ?? null);
  if (data !== spelledJson(old["data"] ?? null)) out.push(invalidJson("data", data, immutableText));
  return out;
}

function validateCounter(revision: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkCounters(out, revision, ["revision"], "");
  return out;
}
