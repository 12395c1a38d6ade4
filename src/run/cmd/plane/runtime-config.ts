/**
 * `--runtime-config`: which built-in kinds are served, as kube-apiserver decides it.
 *
 * In     `api/all`, `api/ga`, `api/beta`, `api/alpha`, GROUP/VERSION and GROUP/VERSION/RESOURCE, true or false.
 * Holds  a resource's own key counts before its group-version's, that before the kind of version, and that
 *        before `api/all`. Without any key GA versions are served, and nothing else.
 * After  apiserver resourceconfig/helpers.go and options/api_enablement.go; controlplane options.go.
 * Differs  group-versions of gates that 1.36 has off are served when they are named, whatever the gate. No other
 *        key turns them on, unless the gate is on too.
 */
import { ownEntry } from "#base/own.ts";
import { aggregatorGroup } from "#api/schema/group-priorities.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { builtinResources } from "#api/schema/resources.ts";
import { UsageError } from "../shared/usage-error.ts";

/** Values by key, both unchanged from the flag. */
export type RuntimeConfig = ReadonlyMap<string, string>;

/** Adds `text` to the values of earlier flags of the same name. A key without a value gets an empty one. */
export function runtimeConfig(text: string, earlier: RuntimeConfig): RuntimeConfig {
  const config = new Map(earlier);
  for (const pair of text.split(",").filter((part) => part !== "")) {
    const [key = "", ...value] = pair.split("=");
    config.set(key.trim(), value.join("=").trim());
  }
  return config;
}

/** Patterns of versions, in the order in which they apply. A later one overrides an earlier one. */
const versionPatterns: Readonly<Record<string, RegExp>> = {
  "api/all": /^/,
  "api/ga": /^v\d+$/,
  "api/beta": /^v\d+beta\d+$/,
  "api/alpha": /^v\d+alpha\d+$/,
};

const noGates: ReadonlySet<string> = new Set();

/** By group version: its feature gate. PodCertificateRequest's gate is omitted, because it shares a version with another one. */
const gatedVersions: Readonly<Record<string, string>> = {
  "certificates.k8s.io/v1alpha1": "ClusterTrustBundle",
  "certificates.k8s.io/v1beta1": "ClusterTrustBundle",
  "scheduling.k8s.io/v1alpha2": "GenericWorkload",
  "storagemigration.k8s.io/v1beta1": "StorageVersionMigrator",
};

/** Versions that Kubernetes 1.36 knows but no server serves. Naming one is allowed and has no effect. */
const retiredVersions: Readonly<Record<string, readonly string[]>> = {
  "admission.k8s.io": ["v1", "v1beta1"],
  "apiextensions.k8s.io": ["v1beta1"],
  "apiregistration.k8s.io": ["v1beta1"],
  apps: ["v1beta1", "v1beta2"],
  "authentication.k8s.io": ["v1alpha1", "v1beta1"],
  "authorization.k8s.io": ["v1beta1"],
  batch: ["v1beta1"],
  "discovery.k8s.io": ["v1beta1"],
  "events.k8s.io": ["v1beta1"],
  extensions: ["v1beta1"],
  "flowcontrol.apiserver.k8s.io": ["v1beta1", "v1beta2", "v1beta3"],
  "imagepolicy.k8s.io": ["v1alpha1"],
  "node.k8s.io": ["v1alpha1", "v1beta1"],
  policy: ["v1beta1"],
  "rbac.authorization.k8s.io": ["v1alpha1", "v1beta1"],
  "scheduling.k8s.io": ["v1beta1"],
  "storage.k8s.io": ["v1alpha1"],
};

/** Returns the built-in kinds to serve. @throws UsageError with upstream's text. */
export function servedResources(
  given: RuntimeConfig,
  gates: ReadonlySet<string> = noGates,
): readonly ResourceInfo[] {
  const config = withCoreKeys(given);
  const faults = configFaults(config);
  if (faults.length > 0) throw refusal(aggregate(faults));
  const preferred = preferences(config);
  const served = builtinResources().filter((info) => isServed(info, config, preferred, gates));
  if (served.some(({ group }) => group === aggregatorGroup)) {
    return gates.size === 0 ? served : served.map((info) => ({ ...info, gates }));
  }
  throw refusal(`API group/version ${aggregatorGroup}/v1 must be enabled`);
}

/** Maps `v1` and keys below it to the whole core group. Drops `api/legacy`, which has no effect any more. */
function withCoreKeys(given: RuntimeConfig): RuntimeConfig {
  const config = new Map<string, string>();
  for (const [key, value] of given) {
    if (key === "api/legacy") continue;
    config.set(/^(?:api\/)?v1(?:\/|$)/.test(key) ? "/v1" : key, value);
  }
  return config;
}

function isServed(
  { group, version, resource }: ResourceInfo,
  config: RuntimeConfig,
  preferred: ReadonlyMap<string, boolean>,
  gates: ReadonlySet<string>,
): boolean {
  const groupVersion = `${group}/${version}`;
  const named = preferred.get(`${groupVersion}/${resource}`) ?? preferred.get(groupVersion);
  if (named !== undefined) return named;
  const gate = ownEntry(gatedVersions, groupVersion);
  if (gate !== undefined && !gates.has(gate)) return false;
  const values = Object.entries(versionPatterns)
    .filter(([, pattern]) => pattern.test(version))
    .flatMap(([key]) => config.get(key) ?? []);
  const last = values.at(-1);
  return last === undefined ? /^v\d+$/.test(version) : last === "true";
}

/** Returns all faults before any value is applied. The error message names all of them. */
function configFaults(config: RuntimeConfig): readonly string[] {
  const conflict = flowControlConflict(config);
  return [...(conflict === undefined ? [] : [conflict]), ...keyFaults(config)];
}

/** Priority and fairness cannot be switched off, and its objects need v1. */
function flowControlConflict(config: RuntimeConfig): string | undefined {
  const keys = ["flowcontrol.apiserver.k8s.io/v1", "api/ga", "api/all"];
  const key = keys.find((one) => config.get(one) === "true" || config.get(one) === "false");
  return key === undefined || config.get(key) === "true"
    ? undefined
    : `--runtime-config=${key}=false conflicts with --enable-priority-and-fairness=true`;
}

function keyFaults(config: RuntimeConfig): readonly string[] {
  if (config.size === 1 && config.get("api/all") === "false") {
    return ["invalid runtime-config with only api/all=false"];
  }
  const names = [...config.keys()].filter((key) => !Object.hasOwn(versionPatterns, key));
  const invalid = names.find((key) => !/^[^/]*(?:\/[^/]*){1,2}$/.test(key));
  if (invalid !== undefined) return [`runtime-config invalid key ${invalid}`];
  const unknown = names
    .map(groupVersionOf)
    .filter(({ group }) => !registeredVersions.has(group))
    .map(groupVersionText);
  return unknown.length === 0 ? [] : [`unknown api groups ${sortedTexts(unknown).join(",")}`];
}

/** Returns the settings of single group versions and resources. @throws UsageError for the first mistake. */
function preferences(config: RuntimeConfig): ReadonlyMap<string, boolean> {
  for (const key of Object.keys(versionPatterns)) {
    const value = config.get(key) ?? "true";
    if (value !== "true" && value !== "false") {
      throw refusal(`invalid value ${key}=${value}`);
    }
  }
  return new Map(
    [...config]
      .filter(([key]) => !Object.hasOwn(versionPatterns, key))
      .map(([key, value]) => [key, preference(key, value)]),
  );
}

function preference(key: string, value: string): boolean {
  const { group, version } = groupVersionOf(key);
  if (registeredVersions.get(group)?.has(version) !== true) {
    const name = groupVersionText({ group, version });
    throw refusal(`group version ${name} that has not been registered`);
  }
  const isEnabled = value === "" ? true : booleans.get(value);
  if (isEnabled === undefined) {
    const cause = `strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`;
    throw refusal(`invalid value of ${key}: ${value}, err: ${cause}`);
  }
  const resource = key.split("/")[2] ?? "";
  if (resource !== resource.toLowerCase()) {
    const rule = "group/version/resource and resource is always lowercase plural";
    throw refusal(`invalid key ${key}: ${rule}, not ${JSON.stringify(resource)}`);
  }
  return isEnabled;
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

function groupVersionOf(key: string): GroupVersion {
  const [group = "", version = ""] = key.split("/");
  return { group, version };
}

function groupVersionText({ group, version }: GroupVersion): string {
  return group === "" ? version : `${group}/${version}`;
}

/** By group: the versions that Kubernetes 1.36 knows, served or not. */
const registeredVersions: ReadonlyMap<string, ReadonlySet<string>> = registered();

function registered(): ReadonlyMap<string, ReadonlySet<string>> {
  const versions = new Map<string, Set<string>>(
    Object.entries(retiredVersions).map(([group, names]) => [group, new Set(names)]),
  );
  for (const { group, version } of builtinResources()) {
    const known = versions.get(group) ?? new Set();
    versions.set(group, known.add(version));
  }
  return versions;
}

/** Boolean texts, as Go parses them. */
const booleans: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "TRUE", "true", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => [text, false] as const),
]);

function sortedTexts(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}

/** Returns an error with upstream's text behind the flag's name. */
function refusal(text: string): UsageError {
  return new UsageError(`--runtime-config: ${text}`);
}

/** Joins several errors in upstream's format. */
function aggregate(faults: readonly string[]): string {
  return faults.length === 1 ? faults.join() : `[${faults.join(", ")}]`;
}
