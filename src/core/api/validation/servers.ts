/** API services, flow schemas and priority levels. Texts as upstream's. */
import type { FieldError } from "../status.ts";
import { subdomainErrors } from "../selectors/label-syntax.ts";
import { dns1035LabelErrors, dnsSubdomainName } from "../names.ts";
import type { Fields } from "./fields.ts";
import {
  count,
  flag,
  has,
  items,
  maybe,
  maybeNumber,
  number,
  part,
  text,
  texts,
} from "./fields.ts";
import {
  child,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  append,
} from "./errors.ts";
import { checkOneOf } from "./choices.ts";
import { portNumberErrors } from "./text.ts";

const groupPriorityMax = 20_000;
const versionPriorityMax = 1000;

export function validateApiService(service: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(service, "spec");
  const version = text(spec, "version");
  const name = text(part(service, "metadata"), "name");
  const expected = `${version}.${text(spec, "group")}`;
  if (name !== "" && name !== expected) {
    const detail = `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(expected)}`;
    out.push(invalidValue("metadata.name", name, detail));
  }
  const group = text(spec, "group");
  if (group === "" && version !== "v1") {
    const detail = "only v1 may have an empty group and it better be legacy kube";
    out.push(required("spec.group", detail));
  }
  if (group !== "") append(out, invalidEach("spec.group", group, subdomainErrors(group)));
  append(out, invalidEach("spec.version", version, dns1035LabelErrors(version)));
  checkPriority(out, spec, "groupPriorityMinimum", groupPriorityMax);
  checkPriority(out, spec, "versionPriority", versionPriorityMax);
  checkTarget(out, spec);
  if (flag(spec, "insecureSkipTLSVerify") && text(spec, "caBundle") !== "") {
    const detail = "may not be true if caBundle is present";
    out.push(invalidValue("spec.insecureSkipTLSVerify", true, detail));
  }
  return out;
}

function checkPriority(out: FieldError[], spec: Fields, field: string, max: number): void {
  const value = number(spec, field);
  if (value > 0 && value <= max) return;
  out.push(invalidValue(child("spec", field), value, `must be positive and less than ${max}`));
}

function checkTarget(out: FieldError[], spec: Fields): void {
  const target = maybe(spec, "service");
  if (target === undefined) {
    const path = "spec.insecureSkipTLSVerify";
    if (text(spec, "caBundle") !== "") {
      const shown = `${text(spec, "caBundle").length} bytes`;
      out.push(invalidValue("spec.caBundle", shown, "local APIServices may not have a caBundle"));
    }
    if (flag(spec, "insecureSkipTLSVerify")) {
      const detail = "local APIServices may not have insecureSkipTLSVerify";
      out.push(invalidValue(path, true, detail));
    }
    return;
  }
  for (const field of ["namespace", "name"]) {
    if (text(target, field) === "") out.push(required(child("spec.service", field)));
  }
  const port = number(target, "port");
  const errors = portNumberErrors(port).map((detail) => `port is not valid: ${detail}`);
  append(out, invalidEach("spec.service.port", port, errors));
}

const precedenceMax = 10_000;
const distinguishers = ["ByNamespace", "ByUser"];
const subjectKinds = ["Group", "ServiceAccount", "User"];

export function validateFlowSchema(schema: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(schema, "spec");
  const precedence = number(spec, "matchingPrecedence");
  const path = "spec.matchingPrecedence";
  if (precedence <= 0) out.push(invalidValue(path, precedence, "must be a positive value"));
  if (precedence > precedenceMax) {
    out.push(invalidValue(path, precedence, `must not be greater than ${precedenceMax}`));
  }
  if (precedence === 1 && text(part(schema, "metadata"), "name") !== "exempt") {
    const detail = "only the schema named 'exempt' may have matchingPrecedence 1";
    out.push(invalidValue(path, precedence, detail));
  }
  const method = maybe(spec, "distinguisherMethod");
  if (method !== undefined && !distinguishers.includes(text(method, "type"))) {
    out.push(notSupported("spec.distinguisherMethod", text(method, "type"), distinguishers));
  }
  const level = text(part(spec, "priorityLevelConfiguration"), "name");
  if (level === "") {
    const detail = "must reference a priority level";
    out.push(required("spec.priorityLevelConfiguration.name", detail));
  } else {
    const errors = dnsSubdomainName(level, false);
    append(out, invalidEach("spec.priorityLevelConfiguration.name", level, errors));
  }
  items(spec, "rules").forEach((rule, at) => checkFlowRule(out, rule, index("spec.rules", at)));
  return out;
}

function checkFlowRule(out: FieldError[], rule: Fields, path: string): void {
  if (count(rule, "subjects") === 0) {
    const detail = "subjects must contain at least one value";
    out.push(required(child(path, "subjects"), detail));
  }
  items(rule, "subjects").forEach((subject, at) => {
    const here = index(child(path, "subjects"), at);
    const kind = text(subject, "kind");
    if (!subjectKinds.includes(kind)) {
      out.push(notSupported(child(here, "kind"), kind, subjectKinds));
      return;
    }
    const field = `${kind.charAt(0).toLowerCase()}${kind.slice(1)}`;
    if (has(subject, field)) return;
    out.push(required(child(here, field), `${field} is required when subject kind is '${kind}'`));
  });
  const lists = ["resourceRules", "nonResourceRules"];
  if (lists.every((list) => count(rule, list) === 0)) {
    const detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
    out.push(required(path, detail));
  }
  for (const list of lists) {
    items(rule, list).forEach((each, at) => checkVerbs(out, each, index(child(path, list), at)));
  }
}

function checkVerbs(out: FieldError[], rule: Fields, path: string): void {
  const verbs = texts(rule, "verbs");
  const at = child(path, "verbs");
  if (verbs.length === 0) out.push(required(at, "verbs must contain at least one value"));
  else if (verbs.length > 1 && verbs.includes("*")) {
    const detail = "if '*' is present, must not specify other verbs";
    out.push(invalidValue(at, verbs, detail));
  }
}

export function validatePriorityLevel(level: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(level, "spec");
  const type = text(spec, "type");
  const exempt = text(part(level, "metadata"), "name") === "exempt";
  if (exempt !== (type === "Exempt") && (type === "Exempt" || type === "Limited")) {
    const detail = "must be 'Exempt' if and only if `name` is 'exempt'";
    out.push(invalidValue("spec.type", type, detail));
  }
  if (type === "Exempt") {
    if (has(spec, "limited")) {
      out.push(forbiddenField("spec.limited", "must be nil if the type is not Limited"));
    }
    checkShares(out, part(spec, "exempt"), "spec.exempt");
    checkLendable(out, part(spec, "exempt"), "spec.exempt");
  } else if (type !== "Limited") {
    checkOneOf(out, type, ["Exempt", "Limited"], "spec.type");
  } else checkLimited(out, spec);
  return out;
}

function checkLimited(out: FieldError[], spec: Fields): void {
  if (has(spec, "exempt")) {
    out.push(forbiddenField("spec.exempt", "must be nil if the type is Limited"));
  }
  const limited = maybe(spec, "limited");
  if (limited === undefined) {
    out.push(required("spec.limited", "must not be empty when type is Limited"));
    return;
  }
  const path = "spec.limited";
  checkShares(out, limited, path);
  checkLimitResponse(out, part(limited, "limitResponse"), child(path, "limitResponse"));
  checkLendable(out, limited, path);
  const borrowed = maybeNumber(limited, "borrowingLimitPercent");
  if (borrowed !== undefined && borrowed < 0) {
    const detail = "if specified, must be a non-negative integer";
    out.push(invalidValue(child(path, "borrowingLimitPercent"), borrowed, detail));
  }
}

function checkShares(out: FieldError[], level: Fields, path: string): void {
  const shares = maybeNumber(level, "nominalConcurrencyShares");
  if (shares === undefined || shares >= 0) return;
  const at = child(path, "nominalConcurrencyShares");
  out.push(invalidValue(at, shares, "must be a non-negative integer"));
}

function checkLendable(out: FieldError[], level: Fields, path: string): void {
  const percent = maybeNumber(level, "lendablePercent");
  if (percent === undefined || (percent >= 0 && percent <= 100)) return;
  const at = child(path, "lendablePercent");
  out.push(invalidValue(at, percent, "must be between 0 and 100, inclusive"));
}

function checkLimitResponse(out: FieldError[], response: Fields, path: string): void {
  const type = text(response, "type");
  if (type === "Reject") {
    if (has(response, "queuing")) {
      const detail = "must be nil if limited.limitResponse.type is not Limited";
      out.push(forbiddenField(child(path, "queuing"), detail));
    }
  } else if (type === "Queue")
    checkQueuing(out, maybe(response, "queuing"), child(path, "queuing"));
  else checkOneOf(out, type, ["Queue", "Reject"], child(path, "type"));
}

const queuesMax = 10_000_000;

function checkQueuing(out: FieldError[], queuing: Fields | undefined, path: string): void {
  if (queuing === undefined) {
    out.push(required(path, "must not be empty if limited.limitResponse.type is Limited"));
    return;
  }
  for (const field of ["queueLengthLimit", "queues", "handSize"]) {
    const value = number(queuing, field);
    if (value > 0) continue;
    out.push(invalidValue(child(path, field), value, "must be positive"));
  }
  const queues = number(queuing, "queues");
  if (queues > queuesMax) {
    out.push(invalidValue(child(path, "queues"), queues, `must not be greater than ${queuesMax}`));
  }
  const hand = number(queuing, "handSize");
  if (hand > queues) {
    const detail = `should not be greater than queues (${queues})`;
    out.push(invalidValue(child(path, "handSize"), hand, detail));
  }
}
