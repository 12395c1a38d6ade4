/** `extenders` of a KubeSchedulerConfiguration, as upstream validates them. */
import { isExtendedResource } from "#api/validation/resources.ts";
import { qualifiedNameErrors } from "#api/selectors/label-syntax.ts";
import { invalidEach, invalidValue } from "#api/validation/errors.ts";
import { parseGoDuration } from "#api/go/go-duration.ts";
import type { ExtenderSpec } from "#scheduler/extender.ts";
import type { ConfigFields } from "./config-fields.ts";

export interface ExtenderConfig extends ExtenderSpec {
  readonly managedResources: readonly ManagedResource[];
  readonly timeoutMs: number;
  readonly tls: ExtenderTls;
}

interface ManagedResource {
  readonly name: string;
  /** Whether NodeResourcesFit leaves the resource to the extender. */
  readonly isIgnoredByScheduler: boolean;
}

/** Files and PEM texts. A text takes precedence over its file. */
export interface ExtenderTls {
  readonly isHttps: boolean;
  readonly isInsecure: boolean;
  readonly serverName: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  readonly caFile: string | undefined;
  readonly certPem: string | undefined;
  readonly keyPem: string | undefined;
  readonly caPem: string | undefined;
}

/** Upstream's default timeout. */
const timeoutDefaultMs = 5_000;
/** Maximum number of extenders. Each one adds a round trip to every decision. */
const extendersMax = 16;
const fields = [
  "bindVerb",
  "enableHTTPS",
  "filterVerb",
  "httpTimeout",
  "ignorable",
  "managedResources",
  "nodeCacheCapable",
  "preemptVerb",
  "prioritizeVerb",
  "tlsConfig",
  "urlPrefix",
  "weight",
];

export function readExtenders(root: ConfigFields): readonly ExtenderConfig[] {
  const given = root.list("extenders");
  if (given.length > extendersMax) throw root.fault("extenders", `must be at most ${extendersMax}`);
  const seen = new Set<string>();
  const extenders = given.map((one) => readExtender(one, seen));
  const binders = extenders.filter(({ bindVerb }) => bindVerb !== undefined).length;
  if (binders > 1) {
    const found = `found ${binders} extenders implementing bind`;
    root.note(invalidValue("extenders", found, "only one extender can implement bind"));
  }
  return extenders;
}

/** Returns the resources that NodeResourcesFit must not check. */
export function ignoredOf(extenders: readonly ExtenderConfig[]): readonly string[] {
  const managed = extenders.flatMap(({ managedResources }) => managedResources);
  return managed.flatMap(({ name, isIgnoredByScheduler }) => (isIgnoredByScheduler ? [name] : []));
}

function readExtender(one: ConfigFields, seen: Set<string>): ExtenderConfig {
  one.refuseUnknown(fields);
  const weight = one.integer("weight") ?? 0;
  const prioritizeVerb = one.text("prioritizeVerb");
  if (prioritizeVerb !== undefined && weight <= 0) {
    const detail = "must have a positive weight applied to it";
    one.note(invalidValue(one.at("weight"), weight, detail));
  }
  return {
    urlPrefix: readUrl(one),
    filterVerb: one.text("filterVerb"),
    prioritizeVerb,
    preemptVerb: one.text("preemptVerb"),
    bindVerb: one.text("bindVerb"),
    weight,
    isNodeCacheCapable: one.flag("nodeCacheCapable") ?? false,
    managedResources: one.list("managedResources").map((managed) => readManaged(managed, seen)),
    isIgnorable: one.flag("ignorable") ?? false,
    timeoutMs: readTimeout(one),
    tls: readTls(one),
  };
}

function readUrl(one: ConfigFields): string {
  const url = one.text("urlPrefix") ?? "";
  const parsed = URL.parse(url);
  if (parsed?.protocol === "http:" || parsed?.protocol === "https:") return url;
  throw one.fault("urlPrefix", "must be an http:// or https:// URL");
}

function readTimeout(one: ConfigFields): number {
  const given = one.raw("httpTimeout");
  if (given === undefined) return timeoutDefaultMs;
  const ms = typeof given === "string" ? parseGoDuration(given) : undefined;
  if (ms === undefined || ms < 0) throw one.fault("httpTimeout", "must be a duration, as 5s");
  return ms === 0 ? timeoutDefaultMs : ms;
}

function readManaged(managed: ConfigFields, seen: Set<string>): ManagedResource {
  managed.refuseUnknown(["name", "ignoredByScheduler"]);
  const name = managed.text("name") ?? "";
  const at = managed.at("name");
  const errors = qualifiedNameErrors(name);
  managed.note(...invalidEach(at, name, errors));
  if (errors.length === 0 && !isExtendedResource(name)) {
    managed.note(invalidValue(at, name, "is an invalid extended resource name"));
  }
  if (seen.has(name)) {
    managed.note(invalidValue(at, name, "duplicate extender managed resource name"));
  }
  seen.add(name);
  return { name, isIgnoredByScheduler: managed.flag("ignoredByScheduler") ?? false };
}

const tlsFields = ["insecure", "serverName"];
const tlsFiles = ["certFile", "keyFile", "caFile"];
const tlsData = ["certData", "keyData", "caData"];

function readTls(one: ConfigFields): ExtenderTls {
  const tls = one.child("tlsConfig");
  tls.refuseUnknown([...tlsFields, ...tlsFiles, ...tlsData]);
  const data = (field: string): string | undefined => {
    const base64 = tls.text(field);
    return base64 === undefined ? undefined : Buffer.from(base64, "base64").toString("utf8");
  };
  return {
    isHttps: one.flag("enableHTTPS") ?? false,
    isInsecure: tls.flag("insecure") ?? false,
    serverName: tls.text("serverName"),
    certFile: tls.text("certFile"),
    keyFile: tls.text("keyFile"),
    caFile: tls.text("caFile"),
    certPem: data("certData"),
    keyPem: data("keyData"),
    caPem: data("caData"),
  };
}
