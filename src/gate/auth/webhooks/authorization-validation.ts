/**
 * Checks an AuthorizationConfiguration and compiles its conditions, in upstream's order and with its texts.
 *
 * Source: k8s.io/apiserver pkg/apis/apiserver/validation/validation.go, 1.36.
 */
import { isAbsolute } from "node:path";
import { dnsSubdomainName } from "#api/names.ts";
import type { FieldError } from "#api/status.ts";
import { aggregateText } from "#api/validation/aggregate.ts";
import {
  append,
  duplicate,
  invalidValue,
  notSupported,
  required,
  tooMany,
} from "#api/validation/errors.ts";
import type {
  AuthorizationConfiguration,
  WebhookConfiguration,
} from "../configuration/authorization.ts";
import { ConfigurationError } from "../configuration/shape.ts";
import { compileCondition } from "./access-review.ts";
import type { WebhookAuthorizerOptions } from "./webhook-authorizer.ts";

/** Upstream's modes that call no other server. */
type LocalMode = "AlwaysAllow" | "AlwaysDeny" | "Node" | "RBAC";

export type CompiledAuthorizer =
  | { readonly type: LocalMode; readonly name: string }
  | {
      readonly type: "Webhook";
      readonly name: string;
      readonly kubeConfigFile: string;
      readonly timeoutMs: number;
      readonly options: WebhookAuthorizerOptions;
    };

/** Returns why a kubeconfig file cannot be read, as upstream's finding. Undefined: it can be read. */
type FileFault = (path: string) => string | undefined;

const modes = ["ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"];
const conditionsMax = 64;
const authorizedTtlMs = 300_000;
const unauthorizedTtlMs = 30_000;

/** @throws ConfigurationError with all findings. */
export function compileAuthorization(
  { authorizers }: AuthorizationConfiguration,
  fileFault: FileFault,
): readonly CompiledAuthorizer[] {
  const faults: FieldError[] = [];
  if (authorizers.length === 0) {
    faults.push(required("authorizers", "at least one authorization mode must be defined"));
  }
  const types = new Set<string>();
  const names = new Set<string>();
  const compiled = authorizers.flatMap(({ type, name, webhook }, at) => {
    const path = `authorizers[${at}]`;
    if (!isGoodType(faults, type, types, `${path}.type`)) return [];
    checkName(faults, name, names, `${path}.name`);
    if (type !== "Webhook") {
      const why = "may only be specified when type=Webhook";
      if (webhook !== undefined) faults.push(invalidValue(`${path}.webhook`, "non-null", why));
      return [{ type: type as LocalMode, name }]; // the types that are known, but two
    }
    if (webhook === undefined) {
      faults.push(required(`${path}.webhook`, "required when type=Webhook"));
      return [];
    }
    return compileWebhook(faults, { name, webhook, path, fileFault });
  });
  if (faults.length === 0) return compiled;
  throw new ConfigurationError(
    aggregateText(faults.map(({ field, message }) => `${field}: ${message}`)),
  );
}

function isGoodType(out: FieldError[], type: string, seen: Set<string>, field: string): boolean {
  if (type === "") out.push(required(field));
  else if (!modes.includes(type)) out.push(notSupported(field, type, modes));
  else if (type === "ABAC") out.push(invalidValue(field, type, abacRefusal));
  else if (seen.has(type) && type !== "Webhook") out.push(duplicate(field, type));
  else {
    seen.add(type);
    return true;
  }
  return false;
}

export const abacRefusal =
  "it is not served here: say what its policy file says by roles and bindings, and use RBAC";

function checkName(out: FieldError[], name: string, seen: Set<string>, field: string): void {
  const faults = dnsSubdomainName(name, false);
  if (name === "") out.push(required(field));
  else if (seen.has(name)) out.push(duplicate(field, name));
  else if (faults.length > 0) {
    out.push(invalidValue(field, name, `authorizer name is invalid: ${faults.join(", ")}`));
  }
  seen.add(name);
}

interface Given {
  readonly name: string;
  readonly webhook: WebhookConfiguration;
  readonly path: string;
  readonly fileFault: FileFault;
}

function compileWebhook(
  out: FieldError[],
  { name, webhook, path, fileFault }: Given,
): readonly CompiledAuthorizer[] {
  const { timeout = 0, authorizedTTL, unauthorizedTTL, failurePolicy } = webhook;
  if (timeout === 0) out.push(required(`${path}.timeout`));
  else if (timeout < 0 || timeout > 30_000) {
    out.push(invalidValue(`${path}.timeout`, goDuration(timeout), "must be > 0s and <= 30s"));
  }
  checkTtl(out, authorizedTTL, `${path}.authorizedTTL`);
  checkTtl(out, unauthorizedTTL, `${path}.unauthorizedTTL`);
  checkVersions(out, webhook, path);
  const policies = ["NoOpinion", "Deny"];
  if (failurePolicy === "") out.push(required(`${path}.failurePolicy`));
  else if (!policies.includes(failurePolicy)) {
    out.push(notSupported(`${path}.failurePolicy`, failurePolicy, policies));
  }
  const file = checkConnection(out, webhook.connectionInfo, `${path}.connectionInfo`, fileFault);
  const conditions = compileConditions(out, webhook.matchConditions, `${path}.matchConditions`);
  const { cacheAuthorizedRequests = true, cacheUnauthorizedRequests = true } = webhook;
  const options = {
    name,
    version: webhook.subjectAccessReviewVersion === "v1beta1" ? "v1beta1" : "v1",
    authorizedTtlMs: cacheAuthorizedRequests ? (authorizedTTL ?? authorizedTtlMs) : 0,
    unauthorizedTtlMs: cacheUnauthorizedRequests ? (unauthorizedTTL ?? unauthorizedTtlMs) : 0,
    failurePolicy: failurePolicy === "Deny" ? "Deny" : "NoOpinion",
    conditions,
  } as const;
  return [{ type: "Webhook", name, kubeConfigFile: file, timeoutMs: timeout, options }];
}

/** Checks a duration of the cache. Zero means the default, as upstream fills it in. */
function checkTtl(out: FieldError[], ttlMs: number | undefined, field: string): void {
  if (ttlMs === undefined || ttlMs >= 0) return;
  out.push(invalidValue(field, goDuration(ttlMs), "must be > 0s"));
}

function checkVersions(out: FieldError[], webhook: WebhookConfiguration, path: string): void {
  const { subjectAccessReviewVersion: version, matchConditions } = webhook;
  const { matchConditionSubjectAccessReviewVersion: shown } = webhook;
  const field = `${path}.subjectAccessReviewVersion`;
  if (version === "") out.push(required(field));
  else if (version !== "v1" && version !== "v1beta1") {
    out.push(notSupported(field, version, ["v1", "v1beta1"]));
  }
  const shownField = `${path}.matchConditionSubjectAccessReviewVersion`;
  if (shown === "" && matchConditions.length > 0) {
    out.push(required(shownField, "required if match conditions are specified"));
  }
  if (shown !== "" && shown !== "v1") out.push(notSupported(shownField, shown, ["v1"]));
}

function checkConnection(
  out: FieldError[],
  { type, kubeConfigFile }: WebhookConfiguration["connectionInfo"],
  path: string,
  fileFault: FileFault,
): string {
  const field = `${path}.kubeConfigFile`;
  if (type === "") out.push(required(`${path}.type`));
  else if (type === "InClusterConfig") {
    const why = "it would ask this API server itself: name a kubeconfig";
    out.push(invalidValue(`${path}.type`, type, why));
  } else if (type !== "KubeConfigFile") {
    const shown = { Type: type, KubeConfigFile: kubeConfigFile ?? null };
    out.push(notSupported(`${path}.type`, shown, ["InClusterConfig", "KubeConfigFile"]));
  } else if (kubeConfigFile === undefined || kubeConfigFile === "") out.push(required(field));
  else {
    const why = isAbsolute(kubeConfigFile) ? fileFault(kubeConfigFile) : "must be an absolute path";
    if (why !== undefined) out.push(invalidValue(field, kubeConfigFile, why));
  }
  return kubeConfigFile ?? "";
}

function compileConditions(
  out: FieldError[],
  conditions: WebhookConfiguration["matchConditions"],
  path: string,
): WebhookAuthorizerOptions["conditions"] {
  if (conditions.length > conditionsMax) {
    out.push(tooMany(path, conditions.length, conditionsMax));
    return [];
  }
  const seen = new Set<string>();
  const faults: FieldError[] = [];
  const compiled = conditions.flatMap(({ expression }, at) => {
    const field = `${path}[${at}].expression`;
    if (expression.trim() === "") faults.push(required(field));
    else if (seen.has(expression)) faults.push(duplicate(field, expression));
    else {
      seen.add(expression);
      const one = compileCondition(expression);
      if (typeof one !== "string") return [one];
      faults.push(invalidValue(field, expression, one));
    }
    return [];
  });
  append(out, faults);
  return compiled;
}

/** Prints a duration of whole milliseconds as Go does. */
function goDuration(ms: number): string {
  const sign = ms < 0 ? "-" : "";
  const seconds = Math.abs(ms) / 1_000;
  if (seconds < 1) return seconds === 0 ? "0s" : `${sign}${seconds * 1_000}ms`;
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${sign}${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${sign}${minutes}m${rest}` : sign + rest;
}
