/**
 * The audit policy: decides the level at which a request is recorded, and which stages and fields are left out. The
 * first matching rule decides; without a match nothing is recorded.
 *
 * After  apiserver pkg/audit/policy/checker.go. Rules see the authenticated user, before impersonation, and the request
 *        info of the path, before anything is looked up.
 */
import type { UserInfo } from "#platform/http.ts";
import type { RequestInfo } from "../request-info.ts";

export const levels = ["None", "Metadata", "Request", "RequestResponse"] as const;
export type Level = (typeof levels)[number];

export const stages = ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"] as const;
export type Stage = (typeof stages)[number];

export interface AuditPolicy {
  readonly rules: readonly PolicyRule[];
  readonly omitStages: readonly Stage[];
  readonly omitManagedFields: boolean;
}

/** A rule of the policy. An empty list matches everything. */
export interface PolicyRule {
  readonly level: Level;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly GroupResources[];
  /** Namespaces; "" matches resources without a namespace. */
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: readonly Stage[];
  /** Undefined: the setting of the policy applies. */
  readonly omitManagedFields: boolean | undefined;
}

interface GroupResources {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

/** How one request is recorded. */
export interface AuditConfig {
  readonly level: Level;
  readonly omitStages: ReadonlySet<Stage>;
  readonly omitManagedFields: boolean;
}

const emptyRule: PolicyRule = {
  level: "None",
  users: [],
  userGroups: [],
  verbs: [],
  resources: [],
  namespaces: [],
  nonResourceURLs: [],
  omitStages: [],
  omitManagedFields: undefined,
};

/** Records each request once or twice, without bodies. Used by `--audit-log` when no policy is given. */
export const metadataPolicy: AuditPolicy = {
  rules: [{ ...emptyRule, level: "Metadata" }],
  omitStages: ["RequestReceived"],
  omitManagedFields: false,
};

export class PolicyEvaluator {
  readonly #rules: readonly { readonly rule: PolicyRule; readonly config: AuditConfig }[];
  readonly #otherwise: AuditConfig;

  constructor({ rules, omitStages, omitManagedFields }: AuditPolicy) {
    this.#rules = rules.map((rule) => ({
      rule,
      config: {
        level: rule.level,
        omitStages: new Set([...omitStages, ...rule.omitStages]),
        omitManagedFields: rule.omitManagedFields ?? omitManagedFields,
      },
    }));
    this.#otherwise = { level: "None", omitStages: new Set(omitStages), omitManagedFields };
  }

  /** `user` is undefined when authentication failed. */
  configOf(user: UserInfo | undefined, info: RequestInfo): AuditConfig {
    for (const { rule, config } of this.#rules) if (isMatch(rule, user, info)) return config;
    return this.#otherwise;
  }
}

function isMatch(rule: PolicyRule, user: UserInfo | undefined, info: RequestInfo): boolean {
  const { users, userGroups, verbs, resources, namespaces, nonResourceURLs } = rule;
  if (users.length > 0 && (user === undefined || !users.includes(user.name))) return false;
  if (userGroups.length > 0 && !userGroups.some((group) => user?.groups.includes(group)))
    return false;
  if (verbs.length > 0 && !verbs.includes(info.verb)) return false;
  if (namespaces.length > 0 || resources.length > 0) return isResourceMatch(rule, info);
  if (nonResourceURLs.length === 0) return true;
  return !info.isResourceRequest && nonResourceURLs.some((spec) => isPathMatch(info.path, spec));
}

function isPathMatch(path: string, spec: string): boolean {
  if (spec === "*" || spec === path) return true;
  return spec.endsWith("*") && path.startsWith(spec.replace(/\*+$/, ""));
}

function isResourceMatch({ namespaces, resources }: PolicyRule, info: RequestInfo): boolean {
  if (!info.isResourceRequest) return false;
  if (namespaces.length > 0 && !namespaces.includes(info.namespace)) return false;
  return resources.length === 0 || resources.some((one) => isGroupMatch(one, info));
}

function isGroupMatch(
  { group, resources, resourceNames }: GroupResources,
  { group: asked, resource, subresource, name }: RequestInfo,
): boolean {
  if (group !== asked && group !== "*") return false;
  if (resources.length === 0) return true;
  if (resourceNames.length > 0 && !resourceNames.includes(name)) return false;
  const whole = subresource === "" ? resource : `${resource}/${subresource}`;
  return resources.some(
    (one) =>
      one === whole ||
      one === "*" ||
      (subresource !== "" && one === `*/${subresource}`) ||
      one === `${resource}/*`,
  );
}
