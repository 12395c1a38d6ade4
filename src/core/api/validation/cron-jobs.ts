/** Cron jobs. Texts as upstream's batch/validation. */
import { CronError, isTimeZone, parseCron } from "../values/cron.ts";
import type { FieldError } from "../status.ts";
import type { Fields } from "./fields.ts";
import { flag, has, maybeText, part, text } from "./fields.ts";
import { invalidValue, notSupported, required } from "./errors.ts";
import { checkJobSpec } from "./jobs.ts";
import { checkOneOf } from "./choices.ts";
import { checkCounters } from "./numbers.ts";

/** A job's name is its cron job's name, a dash and ten digits. */
const nameMax = 52;
const policies = ["Allow", "Forbid", "Replace"];

export function validateCronJob(cronJob: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkCronJobSpec(out, part(cronJob, "spec"), false);
  const name = text(part(cronJob, "metadata"), "name");
  if (name.length > nameMax) {
    out.push(invalidValue("metadata.name", name, `must be no more than ${nameMax} characters`));
  }
  return out;
}

/** Schedules that contain a time zone, from before the field existed, are kept. */
export function validateCronJobUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  const had = text(part(old, "spec"), "schedule").includes("TZ");
  checkCronJobSpec(out, part(next, "spec"), had);
  return out;
}

function checkCronJobSpec(out: FieldError[], spec: Fields, zoneInSchedule: boolean): void {
  const schedule = text(spec, "schedule");
  if (schedule === "") out.push(required("spec.schedule"));
  else checkSchedule(out, schedule, { zoneInSchedule, zoned: has(spec, "timeZone") });
  checkCounters(out, spec, ["startingDeadlineSeconds"], "spec");
  checkTimeZone(out, maybeText(spec, "timeZone"));
  checkOneOf(out, text(spec, "concurrencyPolicy"), policies, "spec.concurrencyPolicy");
  checkTemplate(out, part(part(spec, "jobTemplate"), "spec"));
  checkCounters(out, spec, ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"], "spec");
}

function checkSchedule(
  out: FieldError[],
  schedule: string,
  zone: { readonly zoneInSchedule: boolean; readonly zoned: boolean },
): void {
  const path = "spec.schedule";
  try {
    parseCron(schedule);
  } catch (error) {
    if (!(error instanceof CronError)) throw error;
    out.push(invalidValue(path, schedule, error.message));
  }
  if (!schedule.includes("TZ")) return;
  if (!zone.zoneInSchedule) {
    const detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
    out.push(invalidValue(path, schedule, detail));
  } else if (zone.zoned) {
    const detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
    out.push(invalidValue(path, schedule, detail));
  }
}

function checkTimeZone(out: FieldError[], zone: string | undefined): void {
  const path = "spec.timeZone";
  if (zone === undefined) return;
  if (zone === "") {
    out.push(invalidValue(path, zone, "timeZone must be nil or non-empty string"));
    return;
  }
  if (zone.toLowerCase() === "local") {
    const detail =
      "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
    out.push(invalidValue(path, zone, detail));
  }
  if (!isTimeZone(zone)) out.push(invalidValue(path, zone, `unknown time zone ${zone}`));
}

function checkTemplate(out: FieldError[], job: Fields): void {
  const path = "spec.jobTemplate.spec";
  checkJobSpec(out, job, path);
  if (has(job, "selector")) {
    const detail = "`selector` will be auto-generated";
    out.push(invalidValue(`${path}.selector`, job["selector"], detail));
  }
  if (flag(job, "manualSelector")) {
    out.push(notSupported(`${path}.manualSelector`, true, ["nil", "false"]));
  }
}
