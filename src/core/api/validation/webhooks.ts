/** Admission webhooks. Texts as upstream's admissionregistration/validation. */
import { dnsSubdomainName } from "../names.ts";
import type { FieldError } from "../status.ts";
import { qualifiedNameErrors } from "../selectors/label-syntax.ts";
import { validateLabelSelector } from "../meta.ts";
import type { Fields } from "./fields.ts";
import { has, items, maybe, maybeNumber, maybeText, number, text, texts } from "./fields.ts";
import {
  child,
  duplicate,
  index,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  tooMany,
  append,
  repeatedAt,
} from "./errors.ts";
import { checkIfGiven } from "./choices.ts";
import { checkQualifiedDomain, portNumberErrors } from "./text.ts";

const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const scopes = ["*", "Cluster", "Namespaced"];
const sideEffects = ["None", "NoneOnDryRun"];
const reviewVersions = ["v1", "v1beta1"];
const timeoutMax = 30;
const conditionsMax = 64;

export function validateWebhooks(configuration: Fields): FieldError[] {
  const out: FieldError[] = [];
  const names = new Set<string>();
  items(configuration, "webhooks").forEach((webhook, at) => {
    const path = index("webhooks", at);
    checkWebhook(out, webhook, path);
    const name = text(webhook, "name");
    if (names.has(name)) out.push(duplicate(child(path, "name"), name));
    names.add(name);
  });
  return out;
}

function checkWebhook(out: FieldError[], webhook: Fields, path: string): void {
  checkQualifiedDomain(out, text(webhook, "name"), child(path, "name"));
  checkReviewVersions(out, webhook, child(path, "admissionReviewVersions"));
  items(webhook, "rules").forEach((rule, at) =>
    checkRule(out, rule, index(child(path, "rules"), at)),
  );
  checkIfGiven(out, webhook["failurePolicy"], ["Fail", "Ignore"], child(path, "failurePolicy"));
  checkIfGiven(out, webhook["matchPolicy"], ["Equivalent", "Exact"], child(path, "matchPolicy"));
  const effects = maybeText(webhook, "sideEffects");
  if (effects === undefined) {
    const detail = `must specify one of ${sideEffects.join(", ")}`;
    out.push(required(child(path, "sideEffects"), detail));
  } else checkIfGiven(out, effects, sideEffects, child(path, "sideEffects"));
  const seconds = maybeNumber(webhook, "timeoutSeconds");
  if (seconds !== undefined && (seconds < 1 || seconds > timeoutMax)) {
    const detail = `the timeout value must be between 1 and ${timeoutMax} seconds`;
    out.push(invalidValue(child(path, "timeoutSeconds"), seconds, detail));
  }
  for (const field of ["namespaceSelector", "objectSelector"]) {
    append(out, validateLabelSelector(maybe(webhook, field), child(path, field)));
  }
  checkClient(out, maybe(webhook, "clientConfig") ?? {}, child(path, "clientConfig"));
  const policy = webhook["reinvocationPolicy"];
  checkIfGiven(out, policy, ["IfNeeded", "Never"], child(path, "reinvocationPolicy"));
  checkConditions(out, items(webhook, "matchConditions"), child(path, "matchConditions"));
}

function checkReviewVersions(out: FieldError[], webhook: Fields, path: string): void {
  const versions = texts(webhook, "admissionReviewVersions");
  if (versions.length === 0) {
    out.push(required(path, `must specify one of ${reviewVersions.join(", ")}`));
    return;
  }
  const repeated = new Set(repeatedAt(versions));
  versions.forEach((version, at) => {
    if (repeated.has(at)) {
      out.push(invalidValue(index(path, at), version, "duplicate version"));
    }
    if (/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(version)) return;
    const detail =
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
    out.push(invalidValue(index(path, at), version, detail));
  });
  if (versions.some((version) => reviewVersions.includes(version))) return;
  const detail = `must include at least one of ${reviewVersions.join(", ")}`;
  out.push(invalidValue(path, versions, detail));
}

function checkRule(out: FieldError[], rule: Fields, path: string): void {
  checkOperations(out, rule, path);
  checkResourceRule(out, rule, path);
}

export function checkOperations(out: FieldError[], rule: Fields, path: string): void {
  const given = texts(rule, "operations");
  const at = child(path, "operations");
  if (given.length === 0) out.push(required(at));
  if (given.length > 1 && given.includes("*")) {
    const detail = "if '*' is present, must not specify other operations";
    out.push(invalidValue(at, given, detail));
  }
  given.forEach((operation, i) => {
    if (operations.includes(operation)) return;
    out.push(notSupported(index(at, i), operation, operations));
  });
}

export function checkResourceRule(out: FieldError[], rule: Fields, path: string): void {
  const lists = [
    ["apiGroups", "API groups"],
    ["apiVersions", "API versions"],
  ] as const;
  for (const [field, words] of lists) {
    const given = texts(rule, field);
    const at = child(path, field);
    if (given.length === 0) out.push(required(at));
    if (given.length > 1 && given.includes("*")) {
      const detail = `if '*' is present, must not specify other ${words}`;
      out.push(invalidValue(at, given, detail));
    }
    if (field === "apiGroups") continue;
    given.forEach((version, i) => {
      if (version === "") out.push(required(index(at, i)));
    });
  }
  checkResources(out, texts(rule, "resources"), child(path, "resources"));
  checkIfGiven(out, rule["scope"], scopes, child(path, "scope"));
}

/** A wildcard and resources it covers must not be listed together. */
function checkResources(out: FieldError[], resources: readonly string[], path: string): void {
  if (resources.length === 0) out.push(required(path));
  const wholes = new Set<string>();
  const subresources = new Set<string>();
  resources.forEach((resource, at) => {
    const here = index(path, at);
    if (resource === "") out.push(required(here));
    if (resource === "*/*" && resources.length > 1) {
      const detail = "if '*/*' is present, must not specify other resources";
      out.push(invalidValue(path, resources, detail));
    }
    const [name = "", sub] = resource.split("/");
    if (wholes.has(name) && sub !== undefined) {
      const detail = `if '${name}/*' is present, must not specify ${resource}`;
      out.push(invalidValue(here, resource, detail));
    }
    if (sub !== undefined && subresources.has(sub) && name !== "*") {
      const detail = `if '*/${sub}' is present, must not specify ${resource}`;
      out.push(invalidValue(here, resource, detail));
    }
    if (sub === "*") wholes.add(name);
    if (name === "*" && sub !== undefined) subresources.add(sub);
  });
  if (
    resources.length > 1 &&
    resources.includes("*") &&
    resources.some((each) => each !== "*" && !each.includes("/"))
  ) {
    const detail = "if '*' is present, must not specify other resources without subresources";
    out.push(invalidValue(path, resources, detail));
  }
}

const oneOfText = "exactly one of url or service is required";

/** The location of a webhook; also used for conversion webhooks. */
export function checkClient(out: FieldError[], client: Fields, path: string): void {
  const service = maybe(client, "service");
  const url = maybeText(client, "url");
  if ((service === undefined) === (url === undefined)) {
    out.push(required(path, oneOfText));
    return;
  }
  if (url !== undefined) checkUrl(out, url, child(path, "url"));
  if (service !== undefined) checkService(out, service, child(path, "service"));
}

const form = "; desired format: https://host[/path]";

function checkUrl(out: FieldError[], value: string, path: string): void {
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    out.push(required(path, `url must be a valid URL: parse ${JSON.stringify(value)}${form}`));
    return;
  }
  if (url.protocol !== "https:") {
    const scheme = url.protocol.slice(0, -1);
    const detail = `'https' is the only allowed URL scheme${form}`;
    out.push(invalidValue(path, scheme, detail));
  }
  // The URL parser treats the first path segment as the host if there is none.
  const [, authority = ""] = /^[^:/?#]+:\/\/([^/?#]*)/.exec(value) ?? [];
  if (url.host === "" || authority.replace(/^.*@/, "") === "")
    out.push(invalidValue(path, "", `host must be specified${form}`));
  if (url.username !== "" || url.password !== "") {
    const detail = "user information is not permitted in the URL";
    out.push(invalidValue(path, url.username, detail));
  }
  if (url.hash !== "") {
    out.push(invalidValue(path, url.hash.slice(1), "fragments are not permitted in the URL"));
  }
  if (url.search !== "") {
    const detail = "query parameters are not permitted in the URL";
    out.push(invalidValue(path, url.search.slice(1), detail));
  }
}

function checkService(out: FieldError[], service: Fields, path: string): void {
  // Upstream reports a missing namespace as a missing name.
  if (text(service, "namespace") === "") out.push(required(child(path, "name")));
  if (text(service, "name") === "") out.push(required(child(path, "namespace")));
  if (has(service, "port")) {
    const port = number(service, "port");
    const errors = portNumberErrors(port).map((detail) => `port is not valid: ${detail}`);
    append(out, invalidEach(child(path, "port"), port, errors));
  }
  const urlPath = text(service, "path");
  if (urlPath === "" || urlPath === "/") return;
  const at = child(path, "path");
  if (urlPath === "//") {
    out.push(invalidValue(at, urlPath, "segment[0] may not be empty"));
    return;
  }
  if (!urlPath.startsWith("/")) out.push(invalidValue(at, urlPath, "must start with a '/'"));
  const steps = urlPath.slice(1).replace(/\/$/, "").split("/");
  steps.forEach((step, i) => {
    if (step === "") out.push(invalidValue(at, urlPath, `segment[${i}] may not be empty`));
    else {
      const errors = dnsSubdomainName(step, false).map((why) => `segment[${i}]: ${why}`);
      append(out, invalidEach(at, urlPath, errors));
    }
  });
}

/** Checks names and presence; the evaluator compiles the expressions. */
export function checkConditions(
  out: FieldError[],
  conditions: readonly Fields[],
  path: string,
): void {
  if (conditions.length > conditionsMax) {
    out.push(tooMany(path, conditions.length, conditionsMax));
    return;
  }
  const names = new Set<string>();
  conditions.forEach((condition, at) => {
    const here = index(path, at);
    if (text(condition, "expression") === "") out.push(required(child(here, "expression")));
    const name = text(condition, "name");
    const field = child(here, "name");
    if (name === "") out.push(required(field));
    else {
      append(out, invalidEach(field, name, qualifiedNameErrors(name)));
      if (names.has(name)) out.push(duplicate(field, name));
    }
    names.add(name);
  });
}
