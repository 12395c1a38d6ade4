/**
 * RBAC policy rules as values: whether a rule allows a request, whether a set of rules covers another, what is missing.
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

/** The part of a request to which rules refer. */
export interface PolicyQuestion {
  readonly isResourceRequest: boolean;
  readonly verb: string;
  readonly path: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
}

export function ruleAllows(rule: PolicyRule, question: PolicyQuestion): boolean {
  if (!hasOrAll(rule.verbs, question.verb)) return false;
  if (!question.isResourceRequest) {
    return (rule.nonResourceURLs ?? []).some((url) => urlMatches(url, question.path));
  }
  return (
    hasOrAll(rule.apiGroups ?? [], question.group) &&
    resourceMatches(rule.resources ?? [], question.resource, question.subresource) &&
    nameMatches(rule.resourceNames ?? [], question.name)
  );
}

export function hasOrAll(list: readonly string[], wanted: string): boolean {
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

export function urlMatches(pattern: string, path: string): boolean {
  if (pattern === path) return true;
  if (!pattern.endsWith("*")) return false;
  let end = pattern.length;
  while (pattern[end - 1] === "*") end--;
  return path.startsWith(pattern.slice(0, end));
}

/** Whether a list of an owned rule covers a wanted resource. */
export function coversResource(owned: readonly string[], resource: string): boolean {
  if (hasOrAll(owned, resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && owned.includes(`*${resource.slice(slash)}`);
}

/** Missing parts joined by verb and printed as upstream lists them, sorted, one text per rule. */
export function describeRules(parts: readonly PolicyRule[]): readonly string[] {
  const joined = new Map<string, PolicyRule & { verbs: string[] }>();
  for (const part of parts) {
    const key = JSON.stringify([
      part.apiGroups,
      part.resources,
      part.resourceNames,
      // URLs are listed one by one.
      part.nonResourceURLs === undefined ? "" : part,
    ]);
    const known = joined.get(key);
    if (known === undefined) joined.set(key, { ...part, verbs: [...part.verbs] });
    else for (const verb of part.verbs) known.verbs.push(verb);
  }
  return [...new Set([...joined.values()].map(describeRule))].sort();
}

/** `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}`. */
function describeRule(rule: PolicyRule): string {
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
