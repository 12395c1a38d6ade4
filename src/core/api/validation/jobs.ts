/** Jobs: limits and immutable fields. Texts as upstream's batch/validation. */
import type { FieldError } from "../status.ts";
import { dns1123LabelErrors } from "../names.ts";
import {
  controllerUidLabel,
  jobNameLabel,
  legacyControllerUidLabel,
  legacyJobNameLabel,
} from "../strategies/job.ts";
import type { Fields } from "./fields.ts";
import {
  flag,
  has,
  items,
  maybe,
  maybeNumber,
  maybeText,
  number,
  part,
  text,
  textMap,
} from "./fields.ts";
import { child, invalidValue, key, notSupported, required, tooLong } from "./errors.ts";
import { semanticEqual } from "./equal.ts";
import { checkImmutable, immutableText } from "./immutable.ts";
import { checkFailurePolicy, checkSuccessPolicy } from "./job-policies.ts";
import { checkCounters } from "./numbers.ts";
import { checkPodTemplate } from "./pod-spec.ts";
import { checkSelector, checkSelectsTemplate, selects } from "./template-selector.ts";
import { checkDomainPrefixedPath } from "./text.ts";

const indexedParallelismMax = 100_000;
const failedIndexesMax = 100_000;
const completionsMax = 100_000;
/** With more completions than this, parallelism and failed indexes have lower limits. */
const completionsSoftMax = 100_000;
const manyParallelismMax = 10_000;
const manyFailedIndexesMax = 10_000;
const managedByMax = 63;

export function validateJob(job: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkGeneratedSelector(out, job);
  const spec = part(job, "spec");
  checkJobSpec(out, spec, "spec");
  checkSelector(out, spec, undefined, "spec");
  checkSelectsTemplate(out, spec, "spec", undefined);
  checkHostNames(out, job, spec);
  return out;
}

/** Labels that identify a job's pods; labels set by the user must not contradict them. */
function checkGeneratedSelector(out: FieldError[], job: Fields): void {
  const spec = part(job, "spec");
  const selector = maybe(spec, "selector");
  if (flag(spec, "manualSelector") || selector === undefined) return;
  const metadata = part(job, "metadata");
  const uid = text(metadata, "uid");
  const name = text(metadata, "name");
  if (uid === "") out.push(required("metadata.uid"));
  const expected = {
    [legacyControllerUidLabel]: uid,
    [legacyJobNameLabel]: name,
    [controllerUidLabel]: uid,
    [jobNameLabel]: name,
  };
  const labels = textMap(part(part(spec, "template"), "metadata"), "labels");
  for (const [label, value] of Object.entries(expected)) {
    const path = key("spec.template.metadata.labels", label);
    const actual = labels[label];
    if (actual === undefined) out.push(required(path, `must be '${value}'`));
    else if (actual !== value) out.push(invalidValue(path, actual, `must be '${value}'`));
  }
  if (selects(selector, expected) === false) {
    out.push(invalidValue("spec.selector", selector, "`selector` not auto-generated"));
  }
}

/** Names of an indexed job's pods consist of the job's name and their index. */
function checkHostNames(out: FieldError[], job: Fields, spec: Fields): void {
  const completions = number(spec, "completions");
  if (text(spec, "completionMode") !== "Indexed" || completions <= 0) return;
  const name = text(part(job, "metadata"), "name");
  const longest = `${name}-${completions - 1}`;
  if (dns1123LabelErrors(longest).length === 0) return;
  const detail = `will not able to create pod with invalid DNS label: ${longest}`;
  out.push(invalidValue("metadata.name", name, detail));
}

/** Without the selector, which templates of cron jobs do not have. */
export function checkJobSpec(out: FieldError[], spec: Fields, path: string): void {
  const counters = [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
  ];
  checkCounters(out, spec, counters, path);
  if (has(spec, "maxFailedIndexes") && !has(spec, "backoffLimitPerIndex")) {
    const at = child(path, "backoffLimitPerIndex");
    out.push(required(at, "when maxFailedIndexes is specified"));
  }
  checkManagedBy(out, spec, child(path, "managedBy"));
  checkCompletionMode(out, spec, path);
  checkFailurePolicy(out, spec, child(path, "podFailurePolicy"));
  checkSuccessPolicy(out, spec, child(path, "successPolicy"));
  checkReplacement(out, spec, child(path, "podReplacementPolicy"));
  checkPodTemplate(out, part(spec, "template"), child(path, "template"));
  checkRestart(out, spec, child(path, "template", "spec", "restartPolicy"));
}

function checkManagedBy(out: FieldError[], spec: Fields, path: string): void {
  const manager = maybeText(spec, "managedBy");
  if (manager === undefined) return;
  checkDomainPrefixedPath(out, manager, path);
  if (manager.length > managedByMax) out.push(tooLong(path, managedByMax));
}

function checkCompletionMode(out: FieldError[], spec: Fields, path: string): void {
  const mode = text(spec, "completionMode");
  if (mode === "Indexed") checkIndexed(out, spec, path);
  else if (mode !== "" && mode !== "NonIndexed") {
    out.push(notSupported(child(path, "completionMode"), mode, ["NonIndexed", "Indexed"]));
  } else {
    for (const field of ["backoffLimitPerIndex", "maxFailedIndexes"]) {
      if (!has(spec, field)) continue;
      // own keys: a list of ours.
      out.push(invalidValue(child(path, field), spec[field], "requires indexed completion mode"));
    }
  }
}

function checkIndexed(out: FieldError[], spec: Fields, path: string): void {
  const parallelism = number(spec, "parallelism");
  if (!has(spec, "completions")) {
    out.push(required(child(path, "completions"), "when completion mode is Indexed"));
  }
  if (parallelism > indexedParallelismMax) {
    const detail = `must be less than or equal to ${indexedParallelismMax} when completion mode is Indexed`;
    out.push(invalidValue(child(path, "parallelism"), parallelism, detail));
  }
  const failed = maybeNumber(spec, "maxFailedIndexes");
  const at = child(path, "maxFailedIndexes");
  const completions = maybeNumber(spec, "completions");
  if (failed !== undefined && completions !== undefined && failed > completions) {
    out.push(invalidValue(at, failed, "must be less than or equal to completions"));
  }
  if (failed !== undefined && failed > failedIndexesMax) {
    out.push(invalidValue(at, failed, `must be less than or equal to ${failedIndexesMax}`));
  }
  if (has(spec, "backoffLimitPerIndex") && (completions ?? 0) > completionsMax) {
    checkManyCompletions(out, spec, path);
  }
}

function checkManyCompletions(out: FieldError[], spec: Fields, path: string): void {
  const many = `when completions are above ${completionsSoftMax} and used with backoff limit per index`;
  const at = child(path, "maxFailedIndexes");
  const failed = maybeNumber(spec, "maxFailedIndexes");
  if (failed === undefined) {
    out.push(required(at, `must be specified when completions is above ${completionsSoftMax}`));
  } else if (failed > manyFailedIndexesMax) {
    const detail = `must be less than or equal to ${manyFailedIndexesMax} ${many}`;
    out.push(invalidValue(at, failed, detail));
  }
  const parallelism = number(spec, "parallelism");
  if (parallelism > manyParallelismMax) {
    const detail = `must be less than or equal to ${manyParallelismMax} ${many}`;
    out.push(invalidValue(child(path, "parallelism"), parallelism, detail));
  }
}

function checkReplacement(out: FieldError[], spec: Fields, path: string): void {
  const policy = maybeText(spec, "podReplacementPolicy");
  if (policy === undefined) return;
  const supported = has(spec, "podFailurePolicy") ? ["Failed"] : ["Failed", "TerminatingOrFailed"];
  if (!supported.includes(policy)) out.push(notSupported(path, policy, supported));
}

/** A job never completes if its pods always restart. */
function checkRestart(out: FieldError[], spec: Fields, path: string): void {
  const policy = text(part(part(spec, "template"), "spec"), "restartPolicy");
  if (policy === "" || policy === "Always") {
    out.push(required(path, 'valid values: "OnFailure", "Never"'));
  } else if (policy !== "OnFailure" && policy !== "Never") {
    out.push(notSupported(path, policy, ["OnFailure", "Never"]));
  } else if (policy !== "Never" && has(spec, "podFailurePolicy")) {
    const detail = 'only "Never" is supported when podFailurePolicy is specified';
    out.push(invalidValue(path, policy, detail));
  }
}

export function validateJobUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateJob(next);
  const spec = part(next, "spec");
  const before = part(old, "spec");
  checkCompletionsKept(out, spec, before);
  checkImmutable(out, spec, before, { field: "selector", path: "spec" });
  checkTemplateKept(out, spec, old);
  const fields = [
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
  ];
  for (const field of fields) checkImmutable(out, spec, before, { field, path: "spec" });
  return out;
}

/** Indexed jobs may be scaled if completions and parallelism change together. */
function checkCompletionsKept(out: FieldError[], spec: Fields, before: Fields): void {
  if (text(spec, "completionMode") !== "Indexed") {
    checkImmutable(out, spec, before, { field: "completions", path: "spec" });
    return;
  }
  if (!has(spec, "completions") || !has(before, "completions")) return;
  const completions = number(spec, "completions");
  if (completions === number(before, "completions")) return;
  if (completions === number(spec, "parallelism")) return;
  const detail = "can only be modified in tandem with spec.parallelism";
  out.push(invalidValue("spec.completions", completions, detail));
}

/**
 * While a job is suspended and no pod of its template runs, it may still change where its pods go and what resources
 * their containers have (MutableSchedulingDirectivesForSuspendedJobs, MutablePodResourcesForSuspendedJobs).
 */
function checkTemplateKept(out: FieldError[], spec: Fields, old: Fields): void {
  const before = part(old, "spec");
  const template = part(spec, "template");
  const was = part(before, "template");
  if (!flag(before, "suspend") || !isIdle(part(old, "status"))) {
    if (!semanticEqual(template, was)) {
      out.push(invalidValue("spec.template", template, immutableText));
    }
    return;
  }
  const pod = part(template, "spec");
  if (semanticEqual(pod, withResources(part(withDirectives(was, template), "spec"), pod))) return;
  out.push(invalidValue("spec.template.spec", pod, immutableText));
}

/** Never started, or suspended, and without pods. */
function isIdle(status: Fields): boolean {
  if (number(status, "active") !== 0) return false;
  const isSuspended = items(status, "conditions").some(
    (condition) => text(condition, "type") === "Suspended" && text(condition, "status") === "True",
  );
  return isSuspended || !has(status, "startTime");
}

/** The old pod with the resources of the new one, container by container. */
function withResources(old: Fields, next: Fields): Fields {
  const pod: Record<string, unknown> = { ...old };
  for (const field of ["containers", "initContainers"]) {
    const wanted = items(next, field);
    const known = items(old, field);
    if (known.length === 0 || known.length !== wanted.length) continue;
    pod[field] = known.map((container, at) => {
      const other = wanted[at] ?? {};
      if (text(container, "name") !== text(other, "name")) return container;
      return { ...container, resources: other["resources"] };
    });
  }
  return pod;
}

/** The old template with the scheduling directives of the new one. */
function withDirectives(old: Fields, next: Fields): Fields {
  const spec: Record<string, unknown> = { ...part(old, "spec") };
  const wanted = part(next, "spec");
  for (const field of ["nodeSelector", "tolerations", "schedulingGates"]) {
    spec[field] = wanted[field];
  }
  spec["affinity"] = withNodeAffinity(maybe(spec, "affinity"), maybe(wanted, "affinity"));
  const metadata: Record<string, unknown> = { ...part(old, "metadata") };
  for (const field of ["labels", "annotations"]) metadata[field] = part(next, "metadata")[field];
  return { ...old, metadata, spec };
}

function withNodeAffinity(old: Fields | undefined, next: Fields | undefined): Fields | undefined {
  const nodeAffinity = next?.["nodeAffinity"];
  if (old === undefined) return nodeAffinity === undefined ? undefined : { nodeAffinity };
  const kept: Record<string, unknown> = { ...old, nodeAffinity };
  if (nodeAffinity === undefined) delete kept["nodeAffinity"];
  return Object.keys(kept).length === 0 && next === undefined ? undefined : kept;
}
