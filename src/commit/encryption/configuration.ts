/**
 * An EncryptionConfiguration of apiserver.config.k8s.io/v1, with upstream's findings
 * (pkg/apis/apiserver/validation/validation_encryption.go). Unknown fields are errors, as upstream's strict decoder.
 */
import { parseGoDuration } from "#api/go/go-duration.ts";
import { isRecord } from "#base/is-record.ts";
import type { CipherKind } from "./providers.ts";

export interface EncryptionConfiguration {
  readonly resources: readonly ResourceProviders[];
}

interface ResourceProviders {
  /** Patterns of resources: `secrets`, `deployments.apps`, `*.apps`, `*.`, `*.*`. */
  readonly resources: readonly string[];
  /** Providers in order: the first one seals new values, all of them open stored values. */
  readonly providers: readonly Provider[];
}

export type Provider =
  | { readonly kind: "identity" }
  | KmsSettings
  | { readonly kind: CipherKind; readonly keys: readonly ProviderKey[] };

export interface KmsSettings {
  readonly kind: "kms";
  /** Name of the provider, unique in the configuration. */
  readonly name: string;
  /** Path of the plugin's unix socket; `\0name` in Linux's abstract namespace. */
  readonly path: string;
  /** Time limit of each call, in milliseconds; more than 0. */
  readonly timeoutMs: number;
}

interface ProviderKey {
  readonly name: string;
  readonly secret: Uint8Array;
}

/** Mistakes of the operator in the configuration; one text lists all of them. */
export class ConfigurationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ConfigurationError";
  }
}

export function kmsSettingsOf({ resources }: EncryptionConfiguration): readonly KmsSettings[] {
  return resources.flatMap(({ providers }) => providers.filter((one) => one.kind === "kms"));
}

type Fields = Readonly<Record<string, unknown>>;

const keyBytes: Readonly<Record<CipherKind, readonly number[]>> = {
  aesgcm: [16, 24, 32],
  aescbc: [16, 24, 32],
  secretbox: [32],
};

/** @throws ConfigurationError */
export function readConfiguration(document: unknown): EncryptionConfiguration {
  const findings: string[] = [];
  const root = fieldsOf(document, "the document", ["apiVersion", "kind", "resources"]);
  const { apiVersion, kind } = root;
  if (!versions.has(String(apiVersion)) || kind !== "EncryptionConfiguration")
    throw new ConfigurationError(
      `no kind "${String(kind)}" is registered for version "${String(apiVersion)}"`,
    );
  const resources = listOf(root["resources"], "resources");
  if (resources.length === 0)
    throw new ConfigurationError(`resources: Required value: at least one resources is required`);
  const read = resources.map((one, at) => entryOf(one, `resources[${at}]`, findings));
  findings.push(...duplicateFindings(read));
  if (findings.length > 0) throw new ConfigurationError(aggregate(findings));
  return { resources: read };
}

const versions = new Set(["apiserver.config.k8s.io/v1", "v1"]);

/** Joins several errors as Go's aggregate does. */
function aggregate(findings: readonly string[]): string {
  const distinct = [...new Set(findings)];
  return distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
}

function fieldsOf(value: unknown, path: string, known: readonly string[]): Fields {
  if (!isRecord(value)) throw new ConfigurationError(`${path} must be an object`);
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined)
    throw new ConfigurationError(`strict decoding error: unknown field "${path}.${unknown}"`);
  return value;
}

function listOf(value: unknown, path: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new ConfigurationError(`${path} must be a list`);
  return value;
}

function textOf(value: unknown, path: string): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw new ConfigurationError(`${path} must be a text`);
  return value;
}

function entryOf(value: unknown, path: string, findings: string[]): ResourceProviders {
  const entry = fieldsOf(value, path, ["resources", "providers"]);
  const at = `${path}.resources`;
  const resources = listOf(entry["resources"], at).map((one) => textOf(one, at));
  if (resources.length === 0)
    findings.push(`${at}: Required value: at least one ${at} is required`);
  findings.push(...overlapFindings(resources, at));
  for (const [index, one] of resources.entries())
    findings.push(...nameFindings(one, `${at}[${index}]`));
  const place = `${path}.providers`;
  const providers = listOf(entry["providers"], place);
  if (providers.length === 0)
    findings.push(`${place}: Required value: at least one ${place} is required`);
  return {
    resources,
    providers: providers.flatMap((one, index) => providerOf(one, `${place}[${index}]`, findings)),
  };
}

interface GroupPattern {
  readonly group: string;
  readonly resource: string;
}

/** Parses a pattern such as `deployments.apps`; without a dot it means the core group. */
export function patternOf(text: string): GroupPattern {
  const dot = text.indexOf(".");
  return dot < 0
    ? { group: "", resource: text }
    : { group: text.slice(dot + 1), resource: text.slice(0, dot) };
}

function overlapFindings(resources: readonly string[], path: string): readonly string[] {
  const patterns = resources.map(patternOf);
  const isSame = (a: GroupPattern, b: GroupPattern): boolean =>
    a.group === b.group && a.resource === b.resource;
  const pairs = patterns.flatMap((a, i) => patterns.slice(i + 1).map((b) => [a, b] as const));
  const isRepeated = pairs.some(([a, b]) => isSame(a, b));
  const isAny = ({ group, resource }: GroupPattern): boolean => group === "*" && resource === "*";
  const isMasked = pairs.some(([a, b]) => {
    if (isSame(a, b)) return false;
    if (isAny(a) || isAny(b)) return true;
    return a.group === b.group && (a.resource === "*" || b.resource === "*");
  });
  return [
    ...(isRepeated
      ? [invalid(path, resources, "the same resource cannot be specified multiple times")]
      : []),
    ...(isMasked
      ? [
          invalid(
            path,
            resources,
            "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked",
          ),
        ]
      : []),
  ];
}

const withoutApi = new Set([
  "apiserveripinfo",
  "serviceipallocations",
  "servicenodeportallocations",
]);

function nameFindings(text: string, path: string): readonly string[] {
  const why = nameFault(text);
  return why === undefined ? [] : [invalid(path, text, why)];
}

function nameFault(text: string): string | undefined {
  const { group, resource } = patternOf(text);
  if (text !== text.toLowerCase()) return "resource name should not contain capital letters";
  if (text === "*")
    return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
  if (withoutApi.has(text)) return "resources which do not have REST API/s cannot be encrypted";
  if (group === "events.k8s.io")
    return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file";
  if (group === "extensions")
    return "'extensions' group has been removed and cannot be used for encryption";
  if (group === "*" && resource !== "*")
    return "encrypting the same resource across groups is not supported";
  return undefined;
}

const v1Refused =
  "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead. It was switched off in Kubernetes 1.29 and is not served here";
const kmsFields = ["apiVersion", "name", "cachesize", "endpoint", "timeout"] as const;
const kmsTimeoutMs = 3_000;

function kmsOf(value: unknown, path: string, findings: string[]): KmsSettings {
  const fields = fieldsOf(value, path, kmsFields);
  const name = textOf(fields["name"], `${path}.name`);
  const version = textOf(fields["apiVersion"], `${path}.apiVersion`) || "v1";
  if (name === "")
    findings.push(`${path}.name: Required value: name is a mandatory field for a provider`);
  if (version === "v1") findings.push(`${path}.apiVersion: Invalid value: "v1": ${v1Refused}`);
  else if (version !== "v2")
    findings.push(
      invalid(
        `${path}.apiVersion`,
        version,
        "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported",
      ),
    );
  if (name.includes(":"))
    findings.push(
      invalid(`${path}.name`, name, `invalid KMS provider name ${name}, must not contain ':'`),
    );
  if (version !== "v1" && fields["cachesize"] !== undefined)
    findings.push(
      invalid(`${path}.cachesize`, fields["cachesize"], "cachesize is not supported in v2"),
    );
  return {
    kind: "kms",
    name,
    path: socketOf(textOf(fields["endpoint"], `${path}.endpoint`), `${path}.endpoint`, findings),
    timeoutMs: timeoutOf(fields["timeout"], `${path}.timeout`, findings),
  };
}

function timeoutOf(value: unknown, path: string, findings: string[]): number {
  if (value === undefined || value === null) return kmsTimeoutMs;
  const timeoutMs = parseGoDuration(textOf(value, path));
  if (timeoutMs === undefined)
    throw new ConfigurationError(`${path}: time: invalid duration ${JSON.stringify(value)}`);
  if (timeoutMs <= 0) findings.push(invalid(path, value, "timeout should be a positive value"));
  return timeoutMs;
}

/** Returns the socket's path of an endpoint `unix:///path` or `unix:///@name`. */
function socketOf(endpoint: string, path: string, findings: string[]): string {
  if (endpoint === "") {
    findings.push(`${path}: Invalid value: "": endpoint is a mandatory field for a kms`);
    return "";
  }
  const url = URL.parse(endpoint);
  const scheme = url?.protocol.slice(0, -1) ?? "";
  if (url === null || scheme !== "unix") {
    const why = `unsupported scheme ${JSON.stringify(scheme)} for KMS provider, only unix is supported`;
    findings.push(invalid(path, endpoint, why));
    return "";
  }
  const socket = decodeURIComponent(url.pathname);
  return socket.startsWith("/@") ? `\0${socket.slice(2)}` : socket;
}

/** Finds duplicate names as upstream does: a name in two entries would mean two plugins under one prefix. */
function duplicateFindings(resources: readonly ResourceProviders[]): readonly string[] {
  const names = new Set<string>();
  return resources.flatMap(({ providers }, entry) =>
    providers.flatMap((provider, at) => {
      if (provider.kind !== "kms" || provider.name === "") return [];
      const isKnown = names.has(provider.name);
      names.add(provider.name);
      if (!isKnown) return [];
      const path = `resources[${entry}].providers[${at}].kms.name`;
      const why = `duplicate KMS provider name ${provider.name}, names must be unique`;
      return [invalid(path, provider.name, why)];
    }),
  );
}

const providerNames = ["aesgcm", "aescbc", "secretbox", "identity", "kms"] as const;

function providerOf(value: unknown, path: string, findings: string[]): readonly Provider[] {
  const fields = fieldsOf(value, path, providerNames);
  const given = providerNames.filter((name) => fields[name] !== undefined && fields[name] !== null);
  const [kind] = given;
  if (kind === undefined) {
    const why =
      "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity";
    findings.push(invalid(path, value, why));
    return [];
  }
  if (given.length > 1) {
    const why =
      "more than one provider specified in a single element, should split into different list elements";
    findings.push(`${path}: Invalid value: ${why}`);
    return [];
  }
  if (kind === "identity") return [{ kind }];
  if (kind === "kms") return [kmsOf(fields["kms"], `${path}.kms`, findings)];
  const keyed = fieldsOf(fields[kind], `${path}.${kind}`, ["keys"]);
  return [{ kind, keys: keysOf(keyed["keys"], `${path}.${kind}.keys`, keyBytes[kind], findings) }];
}

function keysOf(
  value: unknown,
  path: string,
  lengths: readonly number[],
  findings: string[],
): readonly ProviderKey[] {
  const keys = listOf(value, path);
  if (keys.length === 0) findings.push(`${path}: Required value: at least one keys is required`);
  return keys.map((one, at) => keyOf(one, `${path}[${at}]`, lengths, findings));
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Parses a key. The text of a finding never contains a secret. */
function keyOf(
  value: unknown,
  path: string,
  lengths: readonly number[],
  findings: string[],
): ProviderKey {
  const fields = fieldsOf(value, path, ["name", "secret"]);
  const name = textOf(fields["name"], `${path}.name`);
  const text = textOf(fields["secret"], `${path}.secret`).replace(/[\r\n]/g, "");
  if (name === "")
    findings.push(`${path}.name: Required value: name is a mandatory field for a key`);
  const at = `${path}.secret`;
  if (text === "") findings.push(`${at}: Required value: secret is a mandatory field for a key`);
  else if (!base64.test(text))
    findings.push(`${at}: Invalid value: "REDACTED": secrets must be base64 encoded`);
  const secret = Uint8Array.from(Buffer.from(text, "base64"));
  if (text !== "" && base64.test(text) && !lengths.includes(secret.length)) {
    const why = `secret is not of the expected length, got ${secret.length}, expected one of [${lengths.join(" ")}]`;
    findings.push(`${at}: Invalid value: "REDACTED": ${why}`);
  }
  return { name, secret };
}

function invalid(path: string, value: unknown, why: string): string {
  return `${path}: Invalid value: ${JSON.stringify(value)}: ${why}`;
}
