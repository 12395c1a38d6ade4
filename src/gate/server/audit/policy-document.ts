/**
 * Reads a Policy of audit.k8s.io/v1 from a document, with upstream's error texts (apis/audit/validation/validation.go).
 * Unknown fields are ignored, as in upstream's lenient decoder, and reported to the caller.
 */
import { isRecord } from "#base/is-record.ts";
import {
  type AuditPolicy,
  type Level,
  levels,
  type PolicyRule,
  type Stage,
  stages,
} from "./policy.ts";

type PolicyRead =
  | { readonly kind: "policy"; readonly policy: AuditPolicy; readonly unknown: readonly string[] }
  | { readonly kind: "refused"; readonly why: string };

type Fields = Readonly<Record<string, unknown>>;
type GroupResources = PolicyRule["resources"][number];

const policyFields = ["apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"];
const ruleFields = [
  "level",
  "users",
  "userGroups",
  "verbs",
  "resources",
  "namespaces",
  "nonResourceURLs",
  "omitStages",
  "omitManagedFields",
];
const groupFields = ["group", "resources", "resourceNames"];

export function readPolicy(document: unknown): PolicyRead {
  const reader = new Reader();
  const root = reader.record(document, "", policyFields);
  const { apiVersion, kind } = root;
  if (apiVersion !== "audit.k8s.io/v1" || kind !== "Policy") {
    const said = `${textOf(apiVersion)}, Kind=${textOf(kind)}`;
    return { kind: "refused", why: `unknown group version field ${said} in policy` };
  }
  const policy: AuditPolicy = {
    rules: reader.list(root["rules"], "rules").map((rule, at) => ruleOf(reader, rule, at)),
    omitStages: reader.texts(root["omitStages"], "omitStages") as readonly Stage[], // checked below
    omitManagedFields: reader.flag(root["omitManagedFields"], "omitManagedFields") ?? false,
  };
  if (reader.wrong !== undefined) return { kind: "refused", why: reader.wrong };
  const findings = policyFindings(policy);
  if (findings.length > 0) return { kind: "refused", why: aggregate(findings) };
  if (policy.rules.length === 0)
    return { kind: "refused", why: "loaded illegal policy with 0 rules" };
  return { kind: "policy", policy, unknown: reader.unknown };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Text of several errors, like Go's aggregate. */
function aggregate(findings: readonly string[]): string {
  const distinct = [...new Set(findings)];
  return distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
}

function ruleOf(reader: Reader, document: unknown, at: number): PolicyRule {
  const path = `rules[${at}]`;
  const rule = reader.record(document, path, ruleFields);
  const texts = (field: string): readonly string[] => reader.texts(rule[field], `${path}.${field}`);
  return {
    level: reader.text(rule["level"], `${path}.level`) as Level, // checked below
    users: texts("users"),
    userGroups: texts("userGroups"),
    verbs: texts("verbs"),
    resources: reader
      .list(rule["resources"], `${path}.resources`)
      .map((one, index) => groupOf(reader, one, `${path}.resources[${index}]`)),
    namespaces: texts("namespaces"),
    nonResourceURLs: texts("nonResourceURLs"),
    omitStages: texts("omitStages") as readonly Stage[], // checked below
    omitManagedFields: reader.flag(rule["omitManagedFields"], `${path}.omitManagedFields`),
  };
}

function groupOf(reader: Reader, document: unknown, path: string): GroupResources {
  const fields = reader.record(document, path, groupFields);
  return {
    group: reader.text(fields["group"], `${path}.group`),
    resources: reader.texts(fields["resources"], `${path}.resources`),
    resourceNames: reader.texts(fields["resourceNames"], `${path}.resourceNames`),
  };
}

/** Reads fields by type. `wrong` describes the first field with another type. */
class Reader {
  wrong: string | undefined;
  readonly unknown: string[] = [];

  record(value: unknown, path: string, known: readonly string[]): Fields {
    if (!isRecord(value)) return this.#refuse(value, path, "an object", {});
    for (const key of Object.keys(value))
      if (!known.includes(key)) this.unknown.push(path === "" ? key : `${path}.${key}`);
    return value;
  }

  list(value: unknown, path: string): readonly unknown[] {
    if (value === undefined || value === null) return [];
    return Array.isArray(value) ? value : this.#refuse(value, path, "a list", []);
  }

  texts(value: unknown, path: string): readonly string[] {
    return this.list(value, path).map((one, at) => this.text(one, `${path}[${at}]`));
  }

  text(value: unknown, path: string): string {
    if (value === undefined || value === null) return "";
    return typeof value === "string" ? value : this.#refuse(value, path, "a text", "");
  }

  flag(value: unknown, path: string): boolean | undefined {
    if (value === undefined || value === null) return undefined;
    return typeof value === "boolean" ? value : this.#refuse(value, path, "true or false", false);
  }

  #refuse<T>(value: unknown, path: string, wanted: string, instead: T): T {
    const given = Array.isArray(value) ? "a list" : typeof value;
    this.wrong ??= `failed decoding: ${path === "" ? "the document" : path} must be ${wanted}, not ${given}`;
    return instead;
  }
}

function policyFindings({ rules, omitStages }: AuditPolicy): readonly string[] {
  return [
    ...stageFindings(omitStages, "omitStages"),
    ...rules.flatMap((rule, at) => ruleFindings(rule, `rules[${at}]`)),
  ];
}

function ruleFindings(rule: PolicyRule, path: string): readonly string[] {
  const { nonResourceURLs: urls, resources, namespaces } = rule;
  const isBoth = urls.length > 0 && (resources.length > 0 || namespaces.length > 0);
  const both = "rules cannot apply to both regular resources and non-resource URLs";
  return [
    ...levelFindings(rule.level, `${path}.level`),
    ...urls.flatMap((url, at) => urlFindings(url, `${path}.nonResourceURLs[${at}]`)),
    ...resources.flatMap((one) => groupFindings(one, `${path}.resources`)),
    ...stageFindings(rule.omitStages, `${path}.omitStages`),
    ...(isBoth ? [invalid(`${path}.nonResourceURLs`, urls, both)] : []),
  ];
}

function levelFindings(level: string, path: string): readonly string[] {
  if (level === "") return [`${path}: Required value`];
  if (levels.some((one) => one === level)) return [];
  const supported = levels.map((one) => JSON.stringify(one)).join(", ");
  return [`${path}: Unsupported value: ${JSON.stringify(level)}: supported values: ${supported}`];
}

function urlFindings(url: string, path: string): readonly string[] {
  if (url === "*") return [];
  const start = "non-resource URL rules must begin with a '/' character";
  const end = "non-resource URL wildcards '*' must be the final character of the rule";
  return [
    ...(url.startsWith("/") ? [] : [invalid(path, url, start)]),
    ...(url.slice(0, -1).includes("*") ? [invalid(path, url, end)] : []),
  ];
}

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const subdomainLengthMax = 253;
const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

function groupFindings(
  { group, resources, resourceNames }: GroupResources,
  path: string,
): readonly string[] {
  const messages = [
    ...(group.length > subdomainLengthMax
      ? [`must be no more than ${subdomainLengthMax} characters`]
      : []),
    ...(subdomain.test(group) ? [] : [subdomainText]),
  ];
  const isNamed = group !== "" && group !== "*" && messages.length > 0;
  const names = "using resourceNames requires at least one resource";
  const areNamesAlone = resourceNames.length > 0 && resources.length === 0;
  return [
    ...(isNamed ? [invalid(`${path}.group`, group, messages.join(","))] : []),
    ...(areNamesAlone ? [invalid(`${path}.resourceNames`, resourceNames, names)] : []),
  ];
}

function stageFindings(given: readonly string[], path: string): readonly string[] {
  const why = `allowed stages are ${stages.join(",")}`;
  return given.flatMap((stage, at) =>
    stages.some((one) => one === stage) ? [] : [invalid(`${path}[${at}]`, stage, why)],
  );
}

function invalid(path: string, value: string | readonly string[], why: string): string {
  return `${path}: Invalid value: ${JSON.stringify(value)}: ${why}`;
}
