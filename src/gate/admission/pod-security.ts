/**
 * PodSecurity: labels of a namespace say which Pod Security Standard is enforced on its pods, and which only gives
 * warnings.
 *
 * Pods are refused. Workloads only get warnings, because the pods that they create are checked. A namespace whose
 * labels are made stricter warns about the pods it already has, a bounded number. The operator may give other defaults,
 * and exempt users, namespaces and runtime classes. The audit event contains the enforced standard, the violations of
 * the audit label's standard, and the reason of an exemption.
 */
import { ownEntry } from "#base/own.ts";
import type { Container, Pod, PodTemplateSpec } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import type { FieldError } from "#api/status.ts";
import { internalError, invalid } from "#api/status.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { describeViolations, judgePod } from "./pod-security-checks.ts";
import type { Violation } from "./pod-security-checks.ts";
import type { PodSecurityMetrics } from "./pod-security-metrics.ts";
import {
  latestMinor,
  type Level,
  levels,
  minorOf,
  type Mode,
  podSecurityDefaults,
  type PodSecuritySettings,
  type Standard,
} from "./pod-security-settings.ts";
import { forbiddenError } from "./request.ts";

interface Policy {
  readonly enforce: Standard;
  readonly warn: Standard;
  readonly audit: Standard;
  readonly errors: readonly FieldError[];
}

const prefix = "pod-security.kubernetes.io/";
/** Maximum existing pods checked when a namespace becomes stricter; upstream's default. */
const podsCheckedMax = 3000;

/** Subresources that cannot change what a pod runs. */
const ignoredSubresources: ReadonlySet<string> = new Set([
  "exec",
  "attach",
  "binding",
  "eviction",
  "log",
  "portforward",
  "proxy",
  "status",
]);

/** The pod template of each kind of workload. */
const templates: Readonly<Record<string, (object: AnyObject) => PodTemplateSpec | undefined>> = {
  "/replicationcontrollers": specTemplate,
  "/podtemplates": (object) => object["template"] as PodTemplateSpec | undefined,
  "apps/replicasets": specTemplate,
  "apps/deployments": specTemplate,
  "apps/statefulsets": specTemplate,
  "apps/daemonsets": specTemplate,
  "batch/jobs": specTemplate,
  "batch/cronjobs": (object) => {
    const spec = object["spec"] as { readonly jobTemplate?: AnyObject } | undefined;
    return spec?.jobTemplate && specTemplate(spec.jobTemplate);
  },
};

function specTemplate(object: AnyObject): PodTemplateSpec | undefined {
  return (object["spec"] as { readonly template?: PodTemplateSpec } | undefined)?.template;
}

interface PluginDeps {
  readonly lookup: Lister;
  /** Absent: nothing is counted. */
  readonly podSecurityMetrics?: PodSecurityMetrics;
}

interface Deps {
  readonly lookup: Lister;
  readonly settings: PodSecuritySettings;
  readonly metrics: PodSecurityMetrics | undefined;
}

export function podSecurity(
  { lookup, podSecurityMetrics }: PluginDeps,
  settings: PodSecuritySettings = podSecurityDefaults,
): AdmissionPlugin {
  const deps = { lookup, settings, metrics: podSecurityMetrics };
  return {
    name: "PodSecurity",
    validate(request: AdmissionRequest): void {
      if (request.operation !== "CREATE" && request.operation !== "UPDATE") return;
      if (request.object === undefined) return;
      const resource = `${request.info.group}/${request.info.resource}`;
      if (resource === "/namespaces") validateNamespace(deps, request);
      else if (resource === "/pods") validatePod(deps, request);
      else validateWorkload(deps, request, resource);
    },
  };
}

function validatePod(deps: Deps, request: AdmissionRequest): void {
  if (ignoredSubresources.has(request.subresource)) return;
  if (isExempt(deps, request)) return;
  const policy = requiredPolicy(deps, request);
  if (isPrivileged(policy)) {
    annotate(request, "enforce-policy", "privileged:latest");
    deps.metrics?.evaluated(request, "enforce", policy.enforce, "allow");
    return;
  }
  const pod = request.object as Pod;
  const old = request.oldObject as Pod | undefined;
  if (request.operation === "UPDATE" && old && !isSignificant(pod, old)) return;
  if (isExemptClass(deps, pod, request)) return;
  noteFaults(deps, request, policy);
  annotate(request, "enforce-policy", standardText(policy.enforce));
  noteViolations(deps, request, policy.audit, pod);
  enforce(deps, request, policy.enforce, pod);
  warnAbout(deps, request, policy.warn, pod);
}

/** @throws ApiError 500 for a namespace that is not there. */
function requiredPolicy(deps: Deps, request: AdmissionRequest): Policy {
  const policy = namespacePolicy(deps, request.namespace);
  if (policy !== undefined) return policy;
  deps.metrics?.failed(request, true);
  throw internalError(`failed to lookup namespace "${request.namespace}"`);
}

/** @throws ApiError 403. */
function enforce(deps: Deps, request: AdmissionRequest, standard: Standard, pod: Pod): void {
  const forbidden = judge(standard, pod);
  const decision = forbidden.length > 0 ? "deny" : "allow";
  deps.metrics?.evaluated(request, "enforce", standard, decision);
  if (decision === "allow") return;
  const what = `violates PodSecurity "${standardText(standard)}"`;
  throw forbiddenError(request, `${what}: ${describeViolations(forbidden)}`);
}

function validateWorkload(deps: Deps, request: AdmissionRequest, resource: string): void {
  const template = ownEntry(templates, resource)?.(request.object ?? {});
  if (template === undefined || request.subresource !== "") return;
  if (isExempt(deps, request)) return;
  const policy = namespacePolicy(deps, request.namespace);
  if (policy === undefined) return deps.metrics?.failed(request, true);
  if (isAllPrivileged(policy)) return;
  if (isExemptClass(deps, template, request)) return;
  noteFaults(deps, request, policy);
  noteViolations(deps, request, policy.audit, template);
  warnAbout(deps, request, policy.warn, template);
}

function isAllPrivileged({ audit, warn, errors }: Policy): boolean {
  return errors.length === 0 && audit.level === "privileged" && warn.level === "privileged";
}

function isPrivileged(policy: Policy): boolean {
  return policy.enforce.level === "privileged" && isAllPrivileged(policy);
}

function annotate(request: AdmissionRequest, key: string, value: string): void {
  request.annotate?.(prefix + key, value);
}

function noteFaults({ metrics }: Deps, request: AdmissionRequest, { errors }: Policy): void {
  if (errors.length === 0) return;
  metrics?.failed(request, false);
  const texts = errors.map(({ field, message }) => `${field}: ${message}`);
  const why = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  annotate(request, "error", `Failed to parse policy: ${why}`);
}

function noteViolations(
  { metrics }: Deps,
  request: AdmissionRequest,
  standard: Standard,
  pod: Pod,
): void {
  const violations = judge(standard, pod);
  if (violations.length === 0) return;
  metrics?.evaluated(request, "audit", standard, "deny");
  const what = `would violate PodSecurity "${standardText(standard)}"`;
  annotate(request, "audit-violations", `${what}: ${describeViolations(violations)}`);
}

function isExempt({ settings, metrics }: Deps, request: AdmissionRequest): boolean {
  const { namespaces, usernames } = settings;
  const isOfNamespace = namespaces.has(request.namespace);
  if (!isOfNamespace && !usernames.has(request.user.name)) return false;
  annotate(request, "exempt", isOfNamespace ? "namespace" : "user");
  metrics?.exempted(request);
  return true;
}

function isExemptClass(
  { settings, metrics }: Deps,
  { spec }: Partial<Pod>,
  request: AdmissionRequest,
): boolean {
  const name = spec?.runtimeClassName;
  if (name === undefined || !settings.runtimeClasses.has(name)) return false;
  annotate(request, "exempt", "runtimeClass");
  metrics?.exempted(request);
  return true;
}

function warnAbout(
  { metrics }: Deps,
  request: AdmissionRequest,
  standard: Standard,
  pod: Pod,
): void {
  const violations = judge(standard, pod);
  if (violations.length === 0) return;
  metrics?.evaluated(request, "warn", standard, "deny");
  const what = `would violate PodSecurity "${standardText(standard)}"`;
  request.warn(`${what}: ${describeViolations(violations)}`);
}

function judge(standard: Standard, pod: Pod): readonly Violation[] {
  const minor = Math.min(minorOf(standard.version), latestMinor);
  const spec = pod.spec ?? { containers: [] };
  return judgePod({ metadata: pod.metadata ?? {}, spec, minor }, standard.level);
}

function standardText({ level, version }: Standard): string {
  return `${level}:${version}`;
}

/** Whether an update may matter: only images and ephemeral containers can change. */
function isSignificant(pod: Pod, old: Pod): boolean {
  const containersOf = ({ spec }: Pod): readonly Pick<Container, "name" | "image">[] => [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  const before = new Map(containersOf(old).map((container) => [container.name, container]));
  const after = containersOf(pod);
  if (after.length !== before.size) return true;
  return after.some((container) => before.get(container.name)?.image !== container.image);
}

function namespacePolicy({ lookup, settings }: Deps, name: string): Policy | undefined {
  const namespace = lookup.get({ group: "", resource: "namespaces" }, "", name);
  return namespace && policyOf(namespace, settings);
}

/** An invalid label counts as restricted for enforcing, and as privileged for warning. */
function policyOf(namespace: AnyObject, defaults: PodSecuritySettings): Policy {
  const labels = namespace.metadata?.labels ?? {};
  const errors: FieldError[] = [];
  const own = (name: string): string | undefined => labels[prefix + name];
  const levelOf = (mode: Mode, atFault: Level): Level => {
    const given = own(mode);
    if (given === undefined) return defaults[mode].level;
    if (levels.includes(given)) return given as Level; // one of them
    errors.push(labelError(mode, given, `must be one of ${levels.join(", ")}`));
    return atFault;
  };
  const standardOf = (mode: Mode, atFault: Level): Standard => {
    const level = levelOf(mode, atFault);
    const given = own(`${mode}-version`);
    if (given === undefined) return { level, version: defaults[mode].version };
    if (given === "latest" || /^v1\.(0|[1-9]\d*)$/.test(given)) return { level, version: given };
    errors.push(labelError(`${mode}-version`, given, `must be "latest" or "v1.x"`));
    return { level, version: "latest" };
  };
  const enforce = standardOf("enforce", "restricted");
  const audit = standardOf("audit", "privileged");
  const warn = standardOf("warn", "privileged");
  const isTakenOver =
    own("warn") === undefined &&
    own("enforce") === enforce.level &&
    levels.indexOf(enforce.level) > levels.indexOf(warn.level);
  if (!isTakenOver) return { enforce, warn, audit, errors };
  const version = own("warn-version") === undefined ? enforce.version : warn.version;
  return { enforce, warn: { level: enforce.level, version }, audit, errors };
}

function labelError(label: string, value: string, why: string): FieldError {
  return {
    reason: "FieldValueInvalid",
    field: `metadata.labels[${prefix}${label}]`,
    message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
  };
}

function validateNamespace({ lookup, settings }: Deps, request: AdmissionRequest): void {
  if (request.subresource !== "") return;
  const next = policyOf(request.object ?? {}, settings);
  const old = request.oldObject && policyOf(request.oldObject, settings);
  const texts = (errors: readonly FieldError[]): string => errors.map((e) => e.message).join();
  const sameFaults = old !== undefined && texts(old.errors) === texts(next.errors);
  if (next.errors.length > 0 && !sameFaults) {
    throw invalid({ group: "", kind: "Namespace" }, request.name, next.errors);
  }
  const isConcerned = old === undefined || isStricter(next.enforce, old.enforce);
  if (isConcerned && settings.namespaces.has(request.name)) {
    warnExempt(request, next, settings);
  } else if (old !== undefined && isConcerned) {
    warnExisting(lookup, request, next.enforce);
  }
}

/** Warns that the labels of an exempt namespace have no effect. */
function warnExempt(request: AdmissionRequest, next: Policy, defaults: PodSecuritySettings): void {
  const modes = ["enforce", "audit", "warn"] as const;
  const isSame = ({ level, version }: Standard, other: Standard): boolean =>
    level === other.level && (level === "privileged" || version === other.version);
  if (modes.every((mode) => next[mode].level === "privileged")) return;
  if (modes.every((mode) => isSame(next[mode], defaults[mode]))) return;
  const labels = request.object?.metadata?.labels ?? {};
  const isLabelled = (mode: Mode): boolean =>
    labels[prefix + mode] !== undefined || labels[`${prefix}${mode}-version`] !== undefined;
  const shown = modes
    .filter((mode) => next[mode].level !== "privileged" && isLabelled(mode))
    .map((mode) => `${mode}=${standardText(next[mode])}`);
  const what = `namespace ${JSON.stringify(request.name)} is exempt from Pod Security`;
  request.warn(`${what}, and the policy (${shown.join(", ")}) will be ignored`);
}

function isStricter(next: Standard, old: Standard): boolean {
  if (next.level === "privileged") return false;
  if (next.version !== old.version) return true;
  return levels.indexOf(next.level) > levels.indexOf(old.level);
}

function warnExisting(lookup: Lister, request: AdmissionRequest, standard: Standard): void {
  const all = lookup.list({ group: "", resource: "pods" }, request.name);
  const pods = all.slice(0, podsCheckedMax);
  const byReason = new Map<string, string[]>();
  for (const pod of pods) {
    const reasons = judge(standard, pod).map((violation) => violation.reason);
    if (reasons.length === 0) continue;
    const key = reasons.join(", ");
    byReason.set(key, [...(byReason.get(key) ?? []), pod.metadata?.name ?? ""]);
  }
  if (pods.length < all.length) {
    request.warn(
      `new PodSecurity enforce level only checked against the first ${pods.length} of ${all.length} existing pods`,
    );
  }
  if (byReason.size === 0) return;
  request.warn(
    `existing pods in namespace "${request.name}" violate the new PodSecurity enforce level "${standardText(standard)}"`,
  );
  const lines = [...byReason].map(([reason, names]) => `${podsText(names)}: ${reason}`);
  for (const line of lines.sort()) request.warn(line);
}

/** `a`, `a (and 1 other pod)`, `a (and 2 other pods)`. */
function podsText(names: readonly string[]): string {
  const [first = "", ...others] = names.toSorted();
  if (others.length === 0) return first;
  return `${first} (and ${others.length} other ${others.length === 1 ? "pod" : "pods"})`;
}
