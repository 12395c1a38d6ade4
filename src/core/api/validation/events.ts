/**
 * Events of both groups, in the form of the core group in which both are stored. Texts as in upstream's
 * core/validation, which uses the same field names.
 */
import type { FieldError } from "../status.ts";
import { qualifiedNameErrors } from "../selectors/label-syntax.ts";
import type { Fields } from "./fields.ts";
import { has, isFields, maybe, number, part, text } from "./fields.ts";
import { invalidEach, invalidValue, required, append } from "./errors.ts";
import { goStruct } from "./go-struct.ts";
import { immutableText } from "./immutable.ts";
import { semanticEqual } from "./equal.ts";

const textMax = 128;
const messageMax = 1024;
const types = ["Normal", "Warning"];

/** The namespace of an event of the old form equals its object's; "default" for cluster-scoped objects. */
function checkNamespace(out: FieldError[], event: Fields): void {
  const namespace = text(part(event, "metadata"), "namespace");
  const involved = text(part(event, "involvedObject"), "namespace");
  const isFree = involved === "" && (namespace === "" || namespace === "default");
  if (!isFree && namespace !== involved) refuseNamespace(out, involved);
}

/** An event with an eventTime must be in a system namespace only if its object has no namespace. */
function checkTimedNamespace(out: FieldError[], event: Fields): void {
  const namespace = text(part(event, "metadata"), "namespace");
  const involved = text(part(event, "involvedObject"), "namespace");
  if (involved === "" && !systemNamespaces.has(namespace)) refuseNamespace(out, involved);
}

const systemNamespaces = new Set(["default", "kube-system"]);

function refuseNamespace(out: FieldError[], involved: string): void {
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

/** Fields about the reporter required with an eventTime; `shown` is the field's name in the group. */
function checkReporter(out: FieldError[], event: Fields, shown: string): void {
  const name = text(event, "reportingComponent");
  if (name === "") out.push(required(shown));
  append(out, invalidEach(shown, name, qualifiedNameErrors(name)));
  for (const field of ["reportingInstance", "action", "reason"]) checkShort(out, event, field);
}

/** Rules of both groups: without an eventTime only the namespace is required. */
function checkEither(out: FieldError[], event: Fields, reporter: string): void {
  if (!has(event, "eventTime")) return checkNamespace(out, event);
  checkTimedNamespace(out, event);
  checkReporter(out, event, reporter);
  if (text(event, "message").length > messageMax) {
    out.push(invalidValue("message", "", `can have at most ${messageMax} characters`));
  }
}

export function validateCoreEvent(event: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkEither(out, event, "reportingComponent");
  return out;
}

/** For events.k8s.io, whose events must not set deprecated fields. */
export function validateEvent(event: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkEither(out, event, "reportingController");
  checkSeries(out, event);
  if (!has(event, "eventTime")) out.push(required("eventTime"));
  const type = text(event, "type");
  if (!types.includes(type)) {
    out.push(invalidValue("type", "", `has invalid value: ${type}`));
  }
  const unset = "needs to be unset";
  for (const field of ["firstTimestamp", "lastTimestamp", "count"]) {
    if (has(event, field)) out.push(invalidValue(field, "", unset));
  }
  const source = part(event, "source");
  if (text(source, "component") !== "" || text(source, "host") !== "") {
    out.push(invalidValue("source", "", unset));
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

/** In upstream's order, which contains the reason twice. */
const fixed = [
  "involvedObject",
  "reason",
  "message",
  "source",
  "firstTimestamp",
  "lastTimestamp",
  "count",
  "reason",
  "type",
  "eventTime",
  "action",
  "related",
  "reportingComponent",
  "reportingInstance",
];

/** Only an event's series can be updated. */
export function validateEventUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkEither(out, next, "reportingController");
  if (!semanticEqual(next["series"], old["series"])) checkSeries(out, next);
  for (const field of fixed) checkFixed(out, next[field], old[field], field);
  return out;
}

function checkFixed(out: FieldError[], next: unknown, old: unknown, field: string): void {
  if (semanticEqual(next, old)) return;
  const shown = field === "reportingComponent" ? "reportingController" : field;
  if (field === "involvedObject" || field === "related") {
    out.push(invalidValue(shown, asStruct(next, reference), immutableText));
  } else if (field === "source") {
    out.push(invalidValue(shown, asStruct(next ?? {}, { component: "", host: "" }), immutableText));
  } else out.push(invalidValue(shown, next ?? zeroOf(field), immutableText));
}

/** A time is a pointer to Go's printer. */
function zeroOf(field: string): string | number | null {
  if (field === "count") return 0;
  return field.endsWith("Time") || field.endsWith("Timestamp") ? null : "";
}

const reference = {
  kind: "",
  namespace: "",
  name: "",
  uid: "",
  apiVersion: "",
  resourceVersion: "",
  fieldPath: "",
};

function asStruct(value: unknown, zeros: Readonly<Record<string, unknown>>): unknown {
  return isFields(value) ? goStruct(value, zeros) : null;
}
