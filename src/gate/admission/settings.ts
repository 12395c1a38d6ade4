/**
 * Reads and checks the operator's configuration of plugins (AdmissionConfiguration).
 *
 * Holds  the result is complete: defaults are filled in, and each value has its type.
 * Fails  with SettingsError, with upstream's text where there is one. Unknown fields are ignored where upstream ignores
 *        them.
 */
import { dns1123LabelErrors, dnsSubdomainName } from "#api/names.ts";
import type { AnyObject } from "#api/object.ts";
import type { FieldError } from "#api/status.ts";
import type { Fields } from "#api/validation/fields.ts";
import { checkTolerations } from "#api/validation/scheduling.ts";
import type { EventLimit } from "./event-rate-limit.ts";
import { levels, type PodSecuritySettings, podSecurityDefaults } from "./pod-security-settings.ts";
import type { TolerationSettings } from "./pod-toleration-restriction.ts";
import type { LimitedResource } from "./resource-quota.ts";
import { list, number, record, SettingsError, text, texts } from "./settings-fields.ts";

/** Absent settings have upstream's defaults. */
export interface AdmissionSettings {
  readonly podSecurity?: PodSecuritySettings;
  readonly eventLimits?: readonly EventLimit[];
  readonly tolerations?: TolerationSettings;
  /** Selectors by namespace; `clusterDefaultNodeSelector` is the default. */
  readonly nodeSelectors?: Readonly<Record<string, string>>;
  readonly limitedResources?: readonly LimitedResource[];
}

const limitTypes: readonly string[] = ["Server", "Namespace", "User", "SourceAndObject"];

/** Readers of plugins with a configuration, by name; as upstream, others' are ignored. */
export const settingsReaders: Readonly<Record<string, (value: unknown) => AdmissionSettings>> = {
  PodSecurity: (value) => ({ podSecurity: podSecurityOf(value) }),
  EventRateLimit: (value) => ({ eventLimits: eventLimitsOf(value) }),
  PodTolerationRestriction: (value) => ({ tolerations: tolerationsOf(value) }),
  PodNodeSelector: (value) => ({ nodeSelectors: nodeSelectorsOf(value) }),
  ResourceQuota: (value) => ({ limitedResources: limitedResourcesOf(value) }),
};

/** @throws SettingsError unless `value` has that kind and one of these group-versions. */
export function typed(value: unknown, kind: string, apiVersions: readonly string[]): Fields {
  const fields = record(value, "");
  const apiVersion = text(fields, "apiVersion", "");
  const found = text(fields, "kind", "");
  if (found === "") throw new SettingsError(`Object 'Kind' is missing in '${shown(value)}'`);
  if (apiVersion === "")
    throw new SettingsError(`Object 'apiVersion' is missing in '${shown(value)}'`);
  if (found !== kind || !apiVersions.includes(apiVersion))
    throw new SettingsError(`no kind "${found}" is registered for version "${apiVersion}"`);
  return fields;
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "").slice(0, 1_000);
}

function podSecurityOf(value: unknown): PodSecuritySettings {
  const group = "pod-security.admission.config.k8s.io";
  const apiVersions = ["v1", "v1beta1", "v1alpha1"].map((version) => `${group}/${version}`);
  const root = typed(value, "PodSecurityConfiguration", apiVersions);
  const defaults = record(root["defaults"] ?? {}, "defaults");
  const exemptions = record(root["exemptions"] ?? {}, "exemptions");
  const errors: string[] = [];
  const level = (name: string): string => {
    const given = text(defaults, name, "defaults") || "privileged";
    const why = `must be one of ${levels.join(", ")}`;
    if (!levels.includes(given)) errors.push(invalid(`defaults.${name}`, given, why));
    return given;
  };
  const version = (name: string): string => {
    const given = text(defaults, name, "defaults") || "latest";
    const isVersion = given === "latest" || /^v1\.(0|[1-9]\d*)$/.test(given);
    if (!isVersion) errors.push(invalid(`defaults.${name}`, given, 'must be "latest" or "v1.x"'));
    return given;
  };
  const mode = (name: string): { level: string; version: string } => ({
    level: level(name),
    version: version(`${name}-version`),
  });
  const [enforce, warn, audit] = [mode("enforce"), mode("warn"), mode("audit")];
  const names = (field: string, check: (name: string) => readonly string[]): readonly string[] => {
    const given = texts(exemptions, field, "exemptions");
    for (const [at, name] of given.entries()) {
      const path = `exemptions.${field}[${at}]`;
      const faults = check(name);
      if (faults.length > 0) errors.push(invalid(path, name, faults.join(", ")));
      else if (given.indexOf(name) < at) errors.push(`${path}: Duplicate value: ${quoted(name)}`);
    }
    return given;
  };
  const settings = {
    ...podSecurityDefaults,
    enforce,
    warn,
    audit,
    namespaces: new Set(names("namespaces", dns1123LabelErrors)),
    runtimeClasses: new Set(names("runtimeClasses", (name) => dnsSubdomainName(name, false))),
    usernames: new Set(
      names("usernames", (name) => (name === "" ? ["username must not be empty"] : [])),
    ),
  };
  refuse(errors);
  return settings as PodSecuritySettings; // levels are checked above
}

function eventLimitsOf(value: unknown): readonly EventLimit[] {
  const group = "eventratelimit.admission.k8s.io";
  const root = value === undefined ? {} : typed(value, "Configuration", [`${group}/v1alpha1`]);
  const limits = list(root, "limits", "").map((each, at) => {
    const path = `limits[${at}]`;
    const fields = record(each, path);
    return {
      type: text(fields, "type", path),
      qps: number(fields, "qps", path),
      burst: number(fields, "burst", path),
      cacheSize: number(fields, "cacheSize", path),
    };
  });
  refuse(eventLimitFaults(limits));
  return limits as readonly EventLimit[]; // types are checked above
}

function eventLimitFaults(
  limits: readonly (Omit<EventLimit, "type"> & { readonly type: string })[],
): readonly string[] {
  if (limits.length === 0) return ["limits: Invalid value: null: must not be empty"];
  return limits.flatMap(({ type, qps, burst, cacheSize }, at) => {
    const path = `limits[${at}]`;
    const supported = limitTypes.toSorted().map(quoted).join(", ");
    const faults = [];
    if (!limitTypes.includes(type)) {
      const what = `${path}.type: Unsupported value: ${quoted(type)}`;
      faults.push(`${what}: supported values: ${supported}`);
    }
    if (burst <= 0) faults.push(`${path}.burst: Invalid value: ${burst}: must be positive`);
    if (qps <= 0) faults.push(`${path}.qps: Invalid value: ${qps}: must be positive`);
    if (type !== "Server" && cacheSize < 0)
      faults.push(`${path}.cacheSize: Invalid value: ${cacheSize}: must not be negative`);
    return faults;
  });
}

function tolerationsOf(value: unknown): TolerationSettings {
  const group = "podtolerationrestriction.admission.k8s.io";
  const root = typed(value, "Configuration", [`${group}/v1alpha1`]);
  const read = (name: string): readonly Fields[] =>
    list(root, name, "").map((each, at) => {
      const path = `${name}[${at}]`;
      const fields = record(each, path);
      for (const field of ["key", "operator", "value", "effect"]) text(fields, field, path);
      return fields;
    });
  const [given, whitelist] = [read("default"), read("whitelist")];
  const errors: FieldError[] = [];
  checkTolerations(errors, given, "podtolerationrestriction.default");
  checkTolerations(errors, whitelist, "podtolerationrestriction.whitelist");
  const faults = errors.map(({ field, message }) => `${field}: ${message}`);
  if (faults.length > 0) throw new SettingsError(`invalid config: ${aggregate(faults)}`);
  // The fields that plugins read were checked.
  return { default: given, whitelist } as unknown as TolerationSettings;
}

/** `podNodeSelectorPluginConfig`, a map without a version. */
function nodeSelectorsOf(value: unknown): Readonly<Record<string, string>> {
  const root = record(value, "");
  const key = Object.keys(root).find(
    (name) => name.toLowerCase() === "podnodeselectorpluginconfig",
  );
  const selectors = record((key === undefined ? undefined : root[key]) ?? {}, key ?? "");
  for (const name of Object.keys(selectors)) text(selectors, name, key ?? "");
  return Object.fromEntries(
    Object.entries(selectors).map(([name, given]) => [name, (given ?? "") as string]),
  );
}

function limitedResourcesOf(value: unknown): readonly LimitedResource[] {
  const isOld = (value as AnyObject | null)?.kind === "Configuration";
  const root = isOld
    ? typed(value, "Configuration", [
        "resourcequota.admission.k8s.io/v1beta1",
        "resourcequota.admission.k8s.io/v1alpha1",
      ])
    : typed(value, "ResourceQuotaConfiguration", ["apiserver.config.k8s.io/v1"]);
  return list(root, "limitedResources", "").map((each, at) => {
    const path = `limitedResources[${at}]`;
    const fields = record(each, path);
    const resource = text(fields, "resource", path);
    if (resource === "") throw new SettingsError(`${path}.resource: Required value`);
    const { matchScopes } = fields;
    if (Array.isArray(matchScopes) && matchScopes.length > 0)
      throw new SettingsError(`${path}.matchScopes: not served here`);
    const apiGroup = text(fields, "apiGroup", path);
    return { group: apiGroup, resource, matchContains: texts(fields, "matchContains", path) };
  });
}

function invalid(path: string, value: string, why: string): string {
  return `${path}: Invalid value: ${quoted(value)}: ${why}`;
}

function quoted(value: string): string {
  return JSON.stringify(value);
}

function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new SettingsError(aggregate(faults));
}

function aggregate(faults: readonly string[]): string {
  const [first = "", ...more] = new Set(faults);
  return more.length === 0 ? first : `[${[first, ...more].join(", ")}]`;
}
