/**
 * RBAC policy rules as values: does a rule allow, does a set of rules cover another, what is missing.
 *
 * Matching as upstream (component-helpers auth/rbac/validation): `*` anywhere, `*` + `/sub` for any
 * resource's subresource, a trailing `*` in URLs, no resource names = all of them.
 */

export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** The part of a request that rules speak about. */
export interface PolicyQuestion {
  readonly resourceRequest: boolean;
  readonly verb: string;
  readonly path: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
}

export function ruleAllows(rule: PolicyRule, question: PolicyQuestion): boolean {
  if (!hasOrAll(rule.verbs, question.verb)) return false;
  if (!question.resourceRequest) {
    return (rule.nonResourceURLs ?? []).some((url) => urlMatches(url, question.path));
  }
  return (
    hasOrAll(rule.apiGroups ?? [], question.group) &&
    resourceMatches(rule.resources ?? [], question.resource, question.subresource) &&
    nameMatches(rule.resourceNames ?? [], question.name)
  );
}

function hasOrAll(list: readonly string[], wanted: string): boolean {
  return list.includes("*") || list.includes(wanted);
}

function resourceMatches(list: readonly string[], resource: string, subresource: string): boolean {
  if (list.includes("*")) return true;
  if (subresource === "") return list.includes(resource);
  return list.includes(`${resource}/${subresource}`) || list.includes(`*/${subresource}`);
}

function nameMatches(names: readonly string[], wanted: string): boolean {
  return names.length === 0 || names.includes(wanted);
}

function urlMatches(pattern: string, path: string): boolean {
  if (pattern === path) return true;
  return pattern.endsWith("*") && path.startsWith(pattern.replace(/\*+$/, ""));
}

/** The smallest parts of `wanted` that no rule of `owned` covers; empty when all are. */
export function uncoveredRules(
  owned: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): readonly PolicyRule[] {
  const parts = wanted.flatMap(breakDown);
  return parts.filter((part) => !owned.some((rule) => covers(rule, part)));
}

/** One verb, one group and resource (or one URL), at most one name each. */
function breakDown(rule: PolicyRule): readonly PolicyRule[] {
  const parts: PolicyRule[] = [];
  const names = rule.resourceNames ?? [];
  for (const group of rule.apiGroups ?? []) {
    for (const resource of rule.resources ?? []) {
      for (const verb of rule.verbs) {
        const part = { apiGroups: [group], resources: [resource], verbs: [verb] };
        if (names.length === 0) parts.push(part);
        for (const name of names) parts.push({ ...part, resourceNames: [name] });
      }
    }
  }
  for (const url of rule.nonResourceURLs ?? []) {
    for (const verb of rule.verbs) parts.push({ nonResourceURLs: [url], verbs: [verb] });
  }
  return parts;
}

function covers(rule: PolicyRule, part: PolicyRule): boolean {
  const every = (list: readonly string[] | undefined, holds: (entry: string) => boolean) =>
    (list ?? []).every(holds);
  const ownedNames = rule.resourceNames ?? [];
  const partNames = part.resourceNames ?? [];
  const namesCovered =
    ownedNames.length === 0 ||
    (partNames.length > 0 && partNames.every((name) => ownedNames.includes(name)));
  return (
    namesCovered &&
    every(part.verbs, (verb) => hasOrAll(rule.verbs, verb)) &&
    every(part.apiGroups, (group) => hasOrAll(rule.apiGroups ?? [], group)) &&
    every(part.resources, (resource) => coversResource(rule.resources ?? [], resource)) &&
    every(part.nonResourceURLs, (url) =>
      (rule.nonResourceURLs ?? []).some((pattern) => urlMatches(pattern, url)),
    )
  );
}

function coversResource(owned: readonly string[], resource: string): boolean {
  if (hasOrAll(owned, resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && owned.includes(`*${resource.slice(slash)}`);
}

/** Missing parts joined by verb and printed as upstream lists them, sorted, one text per rule. */
export function describeRules(parts: readonly PolicyRule[]): readonly string[] {
  const joined = new Map<string, PolicyRule>();
  for (const part of parts) {
    const key = JSON.stringify([
      part.apiGroups,
      part.resources,
      part.resourceNames,
      // URLs are listed one by one.
      part.nonResourceURLs === undefined ? "" : part,
    ]);
    const known = joined.get(key);
    joined.set(key, known ? { ...known, verbs: [...known.verbs, ...part.verbs] } : part);
  }
  return [...new Set([...joined.values()].map(describeRule))].sort();
}

/** `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}`. */
export function describeRule(rule: PolicyRule): string {
  const list = (name: string, values: readonly string[] | undefined): readonly string[] =>
    values === undefined || values.length === 0 ? [] : [`${name}:${quoteAll(values)}`];
  const parts = [
    ...list("APIGroups", rule.apiGroups),
    ...list("Resources", rule.resources),
    ...list("NonResourceURLs", rule.nonResourceURLs),
    ...list("ResourceNames", rule.resourceNames),
    ...list("Verbs", rule.verbs),
  ];
  return `{${parts.join(", ")}}`;
}

/** A list as Go's %q prints it: `["a" "b"]`. */
export function quoteAll(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(" ")}]`;
}
