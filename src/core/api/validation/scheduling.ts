/** Scheduling constraints: node selectors, affinities, tolerations, topology spread, gates. */
import type { FieldError } from "../status.ts";
import { labelValueErrors, qualifiedNameErrors } from "../selectors/label-syntax.ts";
import { dnsLabelName, dnsSubdomainName } from "../names.ts";
import { validateLabelSelector } from "../meta.ts";
import type { Fields } from "./fields.ts";
import {
  has,
  items,
  maybe,
  maybeNumber,
  maybeText,
  number,
  part,
  text,
  textMap,
  texts,
} from "./fields.ts";
import {
  child,
  duplicate,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  append,
} from "./errors.ts";
import { semanticKey } from "./equal.ts";

const requiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";
const preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution";
export const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function checkLabelName(out: FieldError[], name: string, path: string): void {
  append(out, invalidEach(path, name, qualifiedNameErrors(name)));
}

function checkNodeRequirement(
  out: FieldError[],
  requirement: Fields,
  strict: boolean,
  path: string,
): void {
  const operator = text(requirement, "operator");
  const values = texts(requirement, "values");
  const at = child(path, "values");
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0) {
      out.push(required(at, "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    if (values.length > 0) out.push(forbiddenField(at, detail));
  } else if (operator === "Gt" || operator === "Lt") {
    const detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
    if (values.length !== 1) out.push(required(at, detail));
  } else {
    out.push(invalidValue(child(path, "operator"), operator, "not a valid selector operator"));
  }
  checkLabelName(out, text(requirement, "key"), child(path, "key"));
  if (!strict) return;
  values.forEach((value, i) => {
    append(out, invalidEach(index(at, i), value, labelValueErrors(value)));
  });
}

function checkFieldRequirement(out: FieldError[], requirement: Fields, path: string): void {
  const operator = text(requirement, "operator");
  const values = texts(requirement, "values");
  const at = child(path, "values");
  if (operator !== "In" && operator !== "NotIn") {
    out.push(invalidValue(child(path, "operator"), operator, "not a valid selector operator"));
  } else if (values.length !== 1) {
    const detail =
      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    out.push(required(at, detail));
  }
  const name = text(requirement, "key");
  if (name !== "metadata.name") {
    out.push(invalidValue(child(path, "key"), name, "not a valid field selector key"));
    return;
  }
  values.forEach((value, i) => {
    append(out, invalidEach(index(at, i), value, dnsSubdomainName(value, false)));
  });
}

function checkNodeTerm(out: FieldError[], term: Fields, strict: boolean, path: string): void {
  items(term, "matchExpressions").forEach((each, at) => {
    checkNodeRequirement(out, each, strict, index(child(path, "matchExpressions"), at));
  });
  items(term, "matchFields").forEach((each, at) => {
    checkFieldRequirement(out, each, index(child(path, "matchFields"), at));
  });
}

export function checkNodeSelector(out: FieldError[], selector: Fields, path: string): void {
  const at = child(path, "nodeSelectorTerms");
  const terms = items(selector, "nodeSelectorTerms");
  if (terms.length === 0) out.push(required(at, "must have at least one node selector term"));
  terms.forEach((term, i) => checkNodeTerm(out, term, true, index(at, i)));
}

export function checkAffinity(out: FieldError[], affinity: Fields | undefined, path: string): void {
  if (affinity === undefined) return;
  const node = part(affinity, "nodeAffinity");
  const at = child(path, "nodeAffinity");
  const selector = maybe(node, requiredTerms);
  if (selector !== undefined) checkNodeSelector(out, selector, child(at, requiredTerms));
  items(node, preferredTerms).forEach((term, i) => {
    const here = index(child(at, preferredTerms), i);
    checkWeight(out, term, here);
    checkNodeTerm(out, part(term, "preference"), false, child(here, "preference"));
  });
  for (const kind of ["podAffinity", "podAntiAffinity"]) {
    checkPodTerms(out, part(affinity, kind), child(path, kind));
  }
}

function checkWeight(out: FieldError[], term: Fields, path: string): void {
  const weight = number(term, "weight");
  if (weight >= 1 && weight <= 100) return;
  out.push(invalidValue(child(path, "weight"), weight, "must be in the range 1-100"));
}

function checkPodTerms(out: FieldError[], affinity: Fields, path: string): void {
  items(affinity, requiredTerms).forEach((term, at) => {
    checkPodTerm(out, term, index(child(path, requiredTerms), at));
  });
  items(affinity, preferredTerms).forEach((term, at) => {
    const here = index(child(path, preferredTerms), at);
    checkWeight(out, term, here);
    checkPodTerm(out, part(term, "podAffinityTerm"), child(here, "podAffinityTerm"));
  });
}

function checkPodTerm(out: FieldError[], term: Fields, path: string): void {
  append(out, validateLabelSelector(maybe(term, "labelSelector"), child(path, "labelSelector")));
  const namespaces = maybe(term, "namespaceSelector");
  append(out, validateLabelSelector(namespaces, child(path, "namespaceSelector")));
  for (const name of texts(term, "namespaces")) {
    append(out, invalidEach(child(path, "namespace"), name, dnsLabelName(name, false)));
  }
  checkLabelKeys(out, term, path);
  const topology = text(term, "topologyKey");
  const at = child(path, "topologyKey");
  if (topology === "") out.push(required(at, "can not be empty"));
  checkLabelName(out, topology, at);
}

function checkLabelKeys(out: FieldError[], term: Fields, path: string): void {
  const mismatch = new Set(texts(term, "mismatchLabelKeys"));
  for (const field of ["matchLabelKeys", "mismatchLabelKeys"]) {
    const keys = texts(term, field);
    const at = child(path, field);
    if (keys.length > 0 && !has(term, "labelSelector")) {
      out.push(forbiddenField(at, "must not be specified when labelSelector is not set"));
      continue;
    }
    keys.forEach((name, i) => checkLabelName(out, name, index(at, i)));
  }
  texts(term, "matchLabelKeys").forEach((name, i) => {
    if (!mismatch.has(name)) return;
    const detail = "exists in both matchLabelKeys and mismatchLabelKeys";
    out.push(invalidValue(index(child(path, "matchLabelKeys"), i), name, detail));
  });
}

export function checkTolerations(
  out: FieldError[],
  tolerations: readonly Fields[],
  path: string,
): void {
  tolerations.forEach((toleration, at) => checkToleration(out, toleration, index(path, at)));
}

function checkToleration(out: FieldError[], toleration: Fields, path: string): void {
  const name = text(toleration, "key");
  const operator = text(toleration, "operator");
  const value = text(toleration, "value");
  const effect = text(toleration, "effect");
  const at = child(path, "operator");
  if (name !== "") checkLabelName(out, name, child(path, "key"));
  if (name === "" && operator !== "Exists") {
    const detail =
      'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    out.push(invalidValue(at, operator, detail));
  }
  if (maybeNumber(toleration, "tolerationSeconds") !== undefined && effect !== "NoExecute") {
    const detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
    out.push(invalidValue(child(path, "effect"), effect, detail));
  }
  if (operator === "Equal" || operator === "") {
    const errors = labelValueErrors(value);
    if (errors.length > 0) out.push(invalidValue(at, value, errors.join(";")));
  } else if (operator === "Exists") {
    const detail = "value must be empty when `operator` is 'Exists'";
    if (value !== "") out.push(invalidValue(at, value, detail));
  } else {
    // TaintTolerationComparisonOperators is off, but upstream lists its two operators if they are used.
    const compares = ["Lt", "Gt"].includes(operator) ? ["Lt", "Gt"] : [];
    out.push(notSupported(at, operator, ["Equal", "Exists", ...compares]));
  }
  if (effect !== "" && !taintEffects.includes(effect)) {
    out.push(notSupported(child(path, "effect"), effect, taintEffects));
  }
}

/** Existing tolerations are immutable except for their seconds. */
export function checkOnlyAddedTolerations(
  out: FieldError[],
  next: readonly Fields[],
  old: readonly Fields[],
  path: string,
): void {
  const essence = (each: Fields): string => semanticKey({ ...each, tolerationSeconds: null });
  const present = new Set(next.map(essence));
  const lost = old.some((before) => !present.has(essence(before)));
  if (lost) {
    const detail = "existing toleration can not be modified except its tolerationSeconds";
    out.push(forbiddenField(path, detail));
    return;
  }
  checkTolerations(out, next, path);
}

const whenUnsatisfiable = ["DoNotSchedule", "ScheduleAnyway"];
const inclusionPolicies = ["Honor", "Ignore"];

export function checkSpread(out: FieldError[], constraints: readonly Fields[], path: string): void {
  const pairs = constraints.map(spreadPair);
  const last = new Map(pairs.map((pair, at) => [pair, at]));
  constraints.forEach((constraint, at) => {
    const here = index(path, at);
    checkSpreadConstraint(out, constraint, here);
    const pair = pairs[at] ?? "";
    // Of entries with the same pair, the last one is not reported.
    if ((last.get(pair) ?? at) > at) {
      out.push(duplicate(child(here, "{topologyKey, whenUnsatisfiable}"), pair));
    }
  });
}

function spreadPair(constraint: Fields): string {
  return `{${text(constraint, "topologyKey")}, ${text(constraint, "whenUnsatisfiable")}}`;
}

function checkSpreadConstraint(out: FieldError[], constraint: Fields, path: string): void {
  const skew = number(constraint, "maxSkew");
  const positive = "must be greater than zero";
  if (skew <= 0) out.push(invalidValue(child(path, "maxSkew"), skew, positive));
  if (text(constraint, "topologyKey") === "") {
    out.push(required(child(path, "topologyKey"), "can not be empty"));
  }
  const action = text(constraint, "whenUnsatisfiable");
  if (!whenUnsatisfiable.includes(action)) {
    out.push(notSupported(child(path, "whenUnsatisfiable"), action, whenUnsatisfiable));
  }
  const domains = maybeNumber(constraint, "minDomains");
  const at = child(path, "minDomains");
  if (domains !== undefined && domains <= 0) out.push(invalidValue(at, domains, positive));
  if (domains !== undefined && action !== "DoNotSchedule") {
    const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`;
    out.push(invalidValue(at, domains, detail));
  }
  for (const field of ["nodeAffinityPolicy", "nodeTaintsPolicy"]) {
    const policy = maybeText(constraint, field);
    if (policy !== undefined && !inclusionPolicies.includes(policy)) {
      out.push(notSupported(child(path, field), policy, inclusionPolicies));
    }
  }
  checkSpreadKeys(out, constraint, child(path, "matchLabelKeys"));
  const selector = maybe(constraint, "labelSelector");
  append(out, validateLabelSelector(selector, child(path, "labelSelector")));
}

/** The keys' expressions are in the selector once the pod is stored, so only labels can conflict. */
function checkSpreadKeys(out: FieldError[], constraint: Fields, path: string): void {
  const keys = texts(constraint, "matchLabelKeys");
  if (keys.length === 0) return;
  const selector = maybe(constraint, "labelSelector");
  if (selector === undefined) {
    out.push(forbiddenField(path, "must not be specified when labelSelector is not set"));
  }
  const labels = textMap(selector ?? {}, "matchLabels");
  keys.forEach((name, at) => {
    checkLabelName(out, name, index(path, at));
    if (!Object.hasOwn(labels, name)) return;
    const detail = "exists in both matchLabelKeys and labelSelector";
    out.push(invalidValue(index(path, at), name, detail));
  });
}

export function checkSchedulingGates(
  out: FieldError[],
  gates: readonly Fields[],
  path: string,
): void {
  const seen = new Set<string>();
  gates.forEach((gate, at) => {
    const name = text(gate, "name");
    checkLabelName(out, name, index(path, at));
    if (seen.has(name)) out.push(duplicate(index(path, at), name));
    seen.add(name);
  });
}
