/**
 * Finds the FlowSchema of a request, and its flow within the schema. The lowest precedence wins; names break ties.
 *
 * Out    the schema, and the flow distinguisher: the user, the namespace or nothing.
 * Cost   checks the rules about the user up to the first match. For a new user, checks the subjects of all rules.
 */
import type {
  FlowSchema,
  FlowcontrolSubject,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
} from "#api/gen/types.ts";
import type { UserInfo } from "#platform/http.ts";

/** Facts of a request that rules can match. The server's RequestInfo has this shape. */
export interface FlowFacts {
  readonly verb: string;
  readonly path: string;
  readonly isResourceRequest: boolean;
  readonly group: string;
  /** Version, which no rule matches. Dumps show it. */
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** Returns the schemas whose level exists, in order of precedence. */
export function orderSchemas(
  schemas: readonly FlowSchema[],
  levelNames: ReadonlySet<string>,
): readonly FlowSchema[] {
  const precedence = (schema: FlowSchema): number => schema.spec?.matchingPrecedence ?? 1000;
  const name = (schema: FlowSchema): string => schema.metadata?.name ?? "";
  return schemas
    .filter((schema) => levelNames.has(levelOf(schema)))
    .toSorted((a, b) => precedence(a) - precedence(b) || (name(a) < name(b) ? -1 : 1));
}

export function levelOf(schema: FlowSchema): string {
  return schema.spec?.priorityLevelConfiguration?.name ?? "";
}

/** A schema, with those of its rules whose subjects include the user. */
interface Candidate {
  readonly schema: FlowSchema;
  readonly rules: readonly PolicyRulesWithSubjects[];
}

/**
 * Remembers for each user the rules with a subject that matches this user: subjects depend on nothing else of a
 * request. The key is the user as an object. Authenticators keep one per connection or token and never change it.
 */
export class Classifier {
  readonly #ordered: readonly FlowSchema[];
  readonly #byUser = new WeakMap<UserInfo, readonly Candidate[]>();

  /** @param ordered schemas in the order of `orderSchemas`. */
  constructor(ordered: readonly FlowSchema[]) {
    this.#ordered = ordered;
  }

  classify(facts: FlowFacts, user: UserInfo): FlowSchema | undefined {
    let own = this.#byUser.get(user);
    if (own === undefined) this.#byUser.set(user, (own = this.#candidates(user)));
    return own.find(({ rules }) => rules.some((rule) => ruleMatches(rule, facts)))?.schema;
  }

  #candidates(user: UserInfo): readonly Candidate[] {
    const candidates = this.#ordered.map((schema) => ({
      schema,
      rules: (schema.spec?.rules ?? []).filter((rule) =>
        (rule.subjects ?? []).some((subject) => subjectMatches(subject, user)),
      ),
    }));
    return candidates.filter(({ rules }) => rules.length > 0);
  }
}

export function distinguisherOf(schema: FlowSchema, facts: FlowFacts, user: UserInfo): string {
  const method = schema.spec?.distinguisherMethod?.type;
  if (method === "ByUser") return user.name;
  return method === "ByNamespace" ? facts.namespace : "";
}

function ruleMatches(rule: PolicyRulesWithSubjects, facts: FlowFacts): boolean {
  return facts.isResourceRequest
    ? (rule.resourceRules ?? []).some((entry) => resourceMatches(entry, facts))
    : (rule.nonResourceRules ?? []).some((entry) => urlMatches(entry, facts));
}

const serviceAccountPrefix = "system:serviceaccount:";

function subjectMatches(subject: FlowcontrolSubject, user: UserInfo): boolean {
  switch (subject.kind) {
    case "User":
      return subject.user?.name === "*" || subject.user?.name === user.name;
    case "Group": {
      const name = subject.group?.name ?? "";
      return name === "*" || user.groups.includes(name);
    }
    case "ServiceAccount": {
      const { namespace = "", name = "" } = subject.serviceAccount ?? {};
      // Most users are no service accounts, so no text is built for them.
      if (!user.name.startsWith(serviceAccountPrefix)) return false;
      const prefix = `${serviceAccountPrefix}${namespace}:`;
      return name === "*" ? user.name.startsWith(prefix) : user.name === prefix + name;
    }
    default:
      return false;
  }
}

function has(list: readonly string[] | undefined, wanted: string): boolean {
  return list !== undefined && (list.includes("*") || list.includes(wanted));
}

function resourceMatches(rule: ResourcePolicyRule, facts: FlowFacts): boolean {
  const { verb, group, resource, subresource, namespace } = facts;
  if (!has(rule.verbs, verb) || !has(rule.apiGroups, group)) return false;
  const combined = subresource === "" ? resource : `${resource}/${subresource}`;
  if (!has(rule.resources, combined)) return false;
  return namespace === "" ? rule.clusterScope === true : has(rule.namespaces, namespace);
}

/** Returns whether a rule matches the path. Its paths also cover everything below them, with or without a trailing star. */
function urlMatches(rule: NonResourcePolicyRule, facts: FlowFacts): boolean {
  if (!has(rule.verbs, facts.verb)) return false;
  return (rule.nonResourceURLs ?? []).some((url) => {
    if (url === "*" || url === facts.path) return true;
    const stem = url.endsWith("*") ? url.slice(0, -1) : url;
    return facts.path.startsWith(stem.endsWith("/") ? stem : `${stem}/`);
  });
}
