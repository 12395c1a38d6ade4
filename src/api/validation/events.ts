/** Events, in both their groups. Texts as upstream's core/validation. */
import type { FieldError } from "../status.ts";
import { qualifiedNameErrors } from "../selectors/label-syntax.ts";
import type { Fields } from "./fields.ts";
import { has, maybe, number, part, text } from "./fields.ts";
import { invalidEach, invalidValue, required, append } from "./errors.ts";
import { checkImmutable } from "./immutable.ts";

const textMax = 128;
const messageMax = 1024;
const types = ["Normal", "Warning"];

/** Events about things outside of namespaces live in `default`. */
function checkNamespace(
  out: FieldError[],
  event: Fields,
  about: "involvedObject" | "regarding",
): void {
  const namespace = text(part(event, "metadata"), "namespace");
  const involved = text(part(event, about), "namespace");
  const isFree = involved === "" && (namespace === "" || namespace === "default");
  if (isFree || namespace === involved) return;
  const detail = "does not match event.namespace";
  out.push(invalidValue("involvedObject.namespace", involved, detail));
}

function checkShort(out: FieldError[], event: Fields, field: string): void {
  const value = text(event, field);
  if (value === "") out.push(required(field));
  if (value.length > textMax) {
    out.push(invalidValue(field, "", `can have at most ${textMax} characters`));
  }
}

/** Fields about the reporter that events with an eventTime must have. */
function checkReporter(out: FieldError[], event: Fields, controller: string): void {
  const name = text(event, controller);
  if (name === "") out.push(required(controller));
  append(out, invalidEach(controller, name, qualifiedNameErrors(name)));
  for (const field of ["reportingInstance", "action", "reason"]) checkShort(out, event, field);
}

/** Old style events of the core group may leave all of it out. */
export function validateCoreEvent(event: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkNamespace(out, event, "involvedObject");
  if (has(event, "eventTime")) {
    checkReporter(out, event, "reportingComponent");
    const message = text(event, "message");
    if (message.length > messageMax) {
      out.push(invalidValue("message", "", `can have at most ${messageMax} characters`));
    }
  }
  return out;
}

export function validateEvent(event: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkNamespace(out, event, "regarding");
  if (!has(event, "eventTime")) out.push(required("eventTime"));
  checkSeries(out, event);
  const type = text(event, "type");
  if (!types.includes(type)) {
    out.push(invalidValue("type", "", `has invalid value: ${type}`));
  }
  checkReporter(out, event, "reportingController");
  const note = text(event, "note");
  if (note.length > messageMax) {
    out.push(invalidValue("message", "", `can have at most ${messageMax} characters`));
  }
  return out;
}

function checkSeries(out: FieldError[], event: Fields): void {
  const series = maybe(event, "series");
  if (series === undefined) return;
  if (number(series, "count") <= 1) {
    out.push(invalidValue("series.count", "", "should be at least 2"));
  }
  if (!has(series, "lastObservedTime")) out.push(required("series.lastObservedTime"));
}

/** Only the series of an event goes on. */
export function validateEventUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkNamespace(out, next, "regarding");
  if (has(next, "series") || has(old, "series")) checkSeries(out, next);
  const fields = [
    "regarding",
    "reason",
    "reportingInstance",
    "reportingController",
    "action",
    "type",
    "eventTime",
    "related",
  ];
  for (const field of fields) {
    checkImmutable(out, next, old, { field, path: "" });
  }
  return out;
}
