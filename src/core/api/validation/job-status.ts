/** Consistency of a finished job's status: conditions, counters and times. */
import type { FieldError } from "../status.ts";
import { hasTrueCondition } from "../strategies/job.ts";
import type { Fields } from "./fields.ts";
import { flag, has, maybe, number, part, text, texts } from "./fields.ts";
import { child, duplicate, index, invalidValue, omitted, required } from "./errors.ts";
import { checkCounters } from "./numbers.ts";

export function validateJobStatus(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  const status = part(next, "status");
  const before = part(old, "status");
  const counters = ["active", "succeeded", "failed", "ready", "terminating"];
  checkCounters(out, status, counters, "status");
  checkUncounted(out, maybe(status, "uncountedTerminatedPods"), "status.uncountedTerminatedPods");
  checkEnd(out, status);
  checkFinished(out, status);
  checkChanges(out, { status, before, suspended: flag(part(next, "spec"), "suspend") });
  return out;
}

function checkUncounted(out: FieldError[], pods: Fields | undefined, path: string): void {
  if (pods === undefined) return;
  const seen = new Set<string>();
  for (const list of ["succeeded", "failed"]) {
    texts(pods, list).forEach((uid, at) => {
      const here = index(child(path, list), at);
      if (uid === "") out.push(invalidValue(here, uid, "must not be empty"));
      else if (seen.has(uid)) out.push(duplicate(here, uid));
      seen.add(uid);
    });
  }
}

/** A job finishes once, either complete or failed. */
function checkEnd(out: FieldError[], status: Fields): void {
  const complete = hasTrueCondition(status, "Complete");
  const ended = has(status, "completionTime");
  if (complete && hasTrueCondition(status, "Failed")) {
    const detail = "cannot set Complete=True and Failed=true conditions";
    out.push(invalidValue("status.conditions", omitted, detail));
  }
  if (complete && hasTrueCondition(status, "FailureTarget")) {
    const detail = "cannot set Complete=True and FailureTarget=true conditions";
    out.push(invalidValue("status.conditions", omitted, detail));
  }
  const path = "status.completionTime";
  const time = text(status, "completionTime");
  if (ended && !complete) {
    const detail = "cannot set completionTime when there is no Complete=True condition";
    out.push(invalidValue(path, time, detail));
  }
  if (complete && !ended) out.push(required(path, "completionTime is required for Complete jobs"));
  const start = text(status, "startTime");
  if (start !== "" && time !== "" && time < start) {
    out.push(invalidValue(path, time, "completionTime cannot be set before startTime"));
  }
}

function isFinished(status: Fields): boolean {
  return hasTrueCondition(status, "Complete") || hasTrueCondition(status, "Failed");
}

/** A finished job has no remaining work. */
function checkFinished(out: FieldError[], status: Fields): void {
  if (!isFinished(status)) return;
  const active = number(status, "active");
  if (active > 0) {
    out.push(invalidValue("status.active", active, "active>0 is invalid for finished job"));
  }
  const terminating = number(status, "terminating");
  if (terminating > 0) {
    const detail = "terminating>0 is invalid for finished job";
    out.push(invalidValue("status.terminating", terminating, detail));
  }
  if (!has(status, "startTime")) {
    out.push(required("status.startTime", "startTime is required for finished job"));
  }
  const uncounted = part(status, "uncountedTerminatedPods");
  if (texts(uncounted, "succeeded").length + texts(uncounted, "failed").length > 0) {
    const detail = "uncountedTerminatedPods needs to be empty for finished job";
    out.push(invalidValue("status.uncountedTerminatedPods", uncounted, detail));
  }
}

const terminal = ["Complete", "Failed"];
const sticky = ["FailureTarget", "SuccessCriteriaMet"];

function checkChanges(
  out: FieldError[],
  given: { readonly status: Fields; readonly before: Fields; readonly suspended: boolean },
): void {
  const { status, before } = given;
  for (const type of [...terminal, ...sticky]) {
    if (!hasTrueCondition(before, type) || hasTrueCondition(status, type)) continue;
    const kind = terminal.includes(type) ? "terminal " : "";
    const detail = `cannot disable the ${kind}${type}=True condition`;
    out.push(invalidValue("status.conditions", omitted, detail));
  }
  checkStart(out, given);
  for (const counter of ["succeeded", "failed"]) {
    if (number(status, counter) >= number(before, counter)) continue;
    const detail = `cannot decrease the ${counter} counter`;
    out.push(invalidValue(child("status", counter), number(status, counter), detail));
  }
  const finished = before["completionTime"];
  if (typeof finished === "string" && finished !== status["completionTime"]) {
    const detail = "completionTime cannot be mutated";
    out.push(invalidValue("status.completionTime", status["completionTime"], detail));
  }
}

/** The start time may change only while the job is suspended. */
function checkStart(
  out: FieldError[],
  given: { readonly status: Fields; readonly before: Fields; readonly suspended: boolean },
): void {
  const { status, before, suspended } = given;
  if (suspended || !has(before, "startTime")) return;
  if (hasTrueCondition(before, "Suspended")) return;
  if (!has(status, "startTime")) {
    out.push(required("status.startTime", "startTime cannot be removed for unsuspended job"));
  } else if (text(status, "startTime") !== text(before, "startTime")) {
    const detail = "startTime cannot be updated for unsuspended job";
    out.push(required("status.startTime", detail));
  }
}
