/**
 * Texts that clients see as Warning headers: values that are accepted but do not have the intended effect. One function
 * per kind, in upstream's words and order; those of pods, addresses and labels of nodes are in files of their own.
 */
import { compareQuantities, tryParseQuantity } from "../values/quantity.ts";
import { decodeBase64Text } from "../defaults/base64.ts";
import { semanticEqual } from "./equal.ts";
import type { Fields } from "./fields.ts";
import { count, has, items, maybeNumber, part, text, textMap, texts } from "./fields.ts";
import { child, index, key } from "./errors.ts";
import { pemBlocks } from "./pem.ts";
import { warnAddress, warnRange } from "./warnings-addresses.ts";
import { claimSpecWarnings } from "./warnings-fractions.ts";
import { warnNodeSelectorTerm } from "./warnings-labels.ts";
import { nameWarnings, templateSpecWarnings } from "./warnings-pods.ts";

type Warnings = (object: Fields, old: Fields | undefined) => readonly string[];

const podNames = "used in Pod names and hostnames";

/** For kinds whose pods are named after them. */
export const namedWarnings: Warnings = (object, old) =>
  old === undefined ? nameWarnings(object, podNames) : [];

/** Upstream checks a template again when its owner has a new generation. */
function isNewGeneration(object: Fields, old: Fields | undefined): boolean {
  if (old === undefined) return true;
  return generationOf(object) !== generationOf(old);
}

function generationOf(object: Fields): unknown {
  return part(object, "metadata")["generation"] ?? 0;
}

/** For a kind with a pod template at `at`. */
export function templateWarnings(at: readonly string[]): Warnings {
  return (object, old) =>
    isNewGeneration(object, old)
      ? templateSpecWarnings(at.reduce(part, object), at.join("."), "template")
      : [];
}

const specTemplate = ["spec", "template"];

/** For an updated controller, upstream checks the old template. */
export const controllerWarnings: Warnings = (object, old) =>
  isNewGeneration(object, old) ? templateWarnings(specTemplate)(old ?? object, undefined) : [];

/** For daemon sets, only a changed template is checked. */
export const daemonWarnings: Warnings = (object, old) => {
  const template = part(part(object, "spec"), "template");
  const before = old && part(part(old, "spec"), "template");
  if (before !== undefined && semanticEqual(template, before)) return [];
  return templateSpecWarnings(template, specTemplate.join("."), "template");
};

export const statefulSetWarnings: Warnings = (object, old) => {
  const spec = part(object, "spec");
  // On updates the field has its Go name.
  const field = old === undefined ? [] : ["Spec"];
  const claims = items(spec, "volumeClaimTemplates").flatMap((claim, at) => {
    const path = child(index(child("spec", "volumeClaimTemplates"), at), ...field);
    return claimSpecWarnings(part(claim, "spec"), path);
  });
  const history = maybeNumber(spec, "revisionHistoryLimit") ?? 0;
  const kept =
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
  return [
    ...templateWarnings(specTemplate)(object, old),
    ...claims,
    ...(history < 0 ? [kept] : []),
  ];
};

const completionsTracked = 100_000;
const parallelismTracked = 10_000;

/** For a kind with a job spec at `at`. */
export function jobSpecWarnings(at: readonly string[]): Warnings {
  const template = templateWarnings([...at, "template"]);
  return (object, old) => {
    if (!isNewGeneration(object, old)) return [];
    const spec = at.reduce(part, object);
    const isMany =
      text(spec, "completionMode") === "Indexed" &&
      (maybeNumber(spec, "completions") ?? 0) > completionsTracked &&
      (maybeNumber(spec, "parallelism") ?? 0) > parallelismTracked;
    const many =
      "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail";
    return [...(isMany ? [`${at.join(".")}: ${many}`] : []), ...template(object, old)];
  };
}

const zoneInSchedule =
  "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details";

export const scheduleWarnings: Warnings = (object, old) =>
  old !== undefined && text(part(object, "spec"), "schedule").includes("TZ")
    ? [zoneInSchedule]
    : [];

export function ingressWarnings(ingress: Fields, old: Fields | undefined): readonly string[] {
  const annotation = "kubernetes.io/ingress.class";
  const given = textMap(part(ingress, "metadata"), "annotations")[annotation];
  if (old !== undefined || given === undefined) return [];
  if (has(part(ingress, "spec"), "ingressClassName")) return [];
  return [`annotation "${annotation}" is deprecated, please use 'spec.ingressClassName' instead`];
}

export function claimWarnings(claim: Fields): readonly string[] {
  return [
    ...annotated(claim, [storageClassAnnotation]),
    ...claimSpecWarnings(part(claim, "spec"), "spec"),
  ];
}

type Annotation = readonly [name: string, why: string];

const storageClassAnnotation: Annotation = [
  "volume.beta.kubernetes.io/storage-class",
  'deprecated since v1.8; use "storageClassName" attribute instead',
];
const mountOptionsAnnotation: Annotation = [
  "volume.beta.kubernetes.io/mount-options",
  'deprecated since v1.31; use "mountOptions" attribute instead',
];
const mountableSecrets: Annotation = [
  "kubernetes.io/enforce-mountable-secrets",
  "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets",
];

function annotated(object: Fields, annotations: readonly Annotation[]): readonly string[] {
  const given = textMap(part(object, "metadata"), "annotations");
  return annotations
    .filter(([name]) => given[name] !== undefined)
    .map(([name, why]) => `${key("metadata.annotations", name)}: ${why}`);
}

export function serviceAccountWarnings(
  account: Fields,
  old: Fields | undefined,
): readonly string[] {
  if (old !== undefined && annotated(old, [mountableSecrets]).length > 0) return [];
  return annotated(account, [mountableSecrets]);
}

/** In upstream's order. */
const goneVolumes: readonly (readonly [string, string])[] = [
  ["cephfs", "deprecated in v1.28, non-functional in v1.31+"],
  ["photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"],
  ["scaleIO", "deprecated in v1.16, non-functional in v1.22+"],
  ["storageos", "deprecated in v1.22, non-functional in v1.25+"],
  ["glusterfs", "deprecated in v1.25, non-functional in v1.26+"],
  ["rbd", "deprecated in v1.28, non-functional in v1.31+"],
];

export function volumeWarnings(volume: Fields): readonly string[] {
  const spec = part(volume, "spec");
  const out = [...annotated(volume, [storageClassAnnotation, mountOptionsAnnotation])];
  if (text(spec, "persistentVolumeReclaimPolicy") === "Recycle") {
    const why =
      "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";
    out.push(`spec.persistentVolumeReclaimPolicy: ${why}`);
  }
  const terms = child("spec", "nodeAffinity", "required", "nodeSelectorTerms");
  items(part(part(spec, "nodeAffinity"), "required"), "nodeSelectorTerms").forEach((term, at) =>
    warnNodeSelectorTerm(out, term, index(terms, at), "names"),
  );
  for (const [source, why] of goneVolumes) {
    const shown = source === "storageos" ? "storageOS" : source;
    if (has(spec, source)) out.push(`${child("spec", shown)}: ${why}`);
  }
  return out;
}

export function nodeWarnings(node: Fields): readonly string[] {
  const out: string[] = [];
  const spec = part(node, "spec");
  if (has(spec, "configSource")) out.push("spec.configSource: the feature is removed");
  if (text(spec, "externalID") !== "") {
    out.push("spec.externalID: this field is deprecated, and is unused by Kubernetes");
  }
  texts(spec, "podCIDRs").forEach((range, at) => warnRange(out, range, index("spec.podCIDRs", at)));
  return out;
}

export function serviceWarnings(service: Fields): readonly string[] {
  const out: string[] = [];
  const spec = part(service, "spec");
  const isName = text(spec, "type") === "ExternalName";
  const isHeadless = text(spec, "type") === "ClusterIP" && text(spec, "clusterIP") === "None";
  warnTopologyHints(out, service);
  if (text(spec, "clusterIP") !== "" && text(spec, "clusterIP") !== "None") {
    texts(spec, "clusterIPs").forEach((ip, at) =>
      warnAddress(out, ip, index("spec.clusterIPs", at)),
    );
  }
  if (isHeadless) warnHeadless(out, spec);
  texts(spec, "externalIPs").forEach((ip, at) =>
    warnAddress(out, ip, index("spec.externalIPs", at)),
  );
  const hasExternalIPs = count(spec, "externalIPs") > 0;
  if (hasExternalIPs && !isHeadless && !isName) {
    out.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
  }
  warnAddress(out, text(spec, "loadBalancerIP"), "spec.loadBalancerIP");
  texts(spec, "loadBalancerSourceRanges").forEach((range, at) =>
    warnRange(out, range, index("spec.loadBalancerSourceRanges", at)),
  );
  if (isName && hasExternalIPs) {
    out.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  }
  if (!isName && text(spec, "externalName") !== "") {
    out.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  if (text(spec, "trafficDistribution") === "PreferClose") {
    out.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  }
  return out;
}

function warnTopologyHints(out: string[], service: Fields): void {
  const hints = "service.kubernetes.io/topology-aware-hints";
  if (textMap(part(service, "metadata"), "annotations")[hints] === undefined) return;
  const mode = "service.kubernetes.io/topology-mode";
  out.push(`annotation ${hints} is deprecated, please use ${mode} instead`);
}

function warnHeadless(out: string[], spec: Fields): void {
  const ignored = "is ignored for headless services";
  if (text(spec, "loadBalancerIP") !== "") out.push(`spec.loadBalancerIP ${ignored}`);
  if (count(spec, "externalIPs") > 0) out.push(`spec.externalIPs ${ignored}`);
  if (text(spec, "sessionAffinity") !== "None") out.push(`spec.SessionAffinity ${ignored}`);
}

/** Warns about a new quota whose requests exceed its limits. */
export function quotaWarnings(quota: Fields, old: Fields | undefined): readonly string[] {
  if (old !== undefined) return [];
  const hard = part(part(quota, "spec"), "hard");
  return ["cpu", "memory", "storage", "ephemeral-storage"].flatMap((resource) => {
    const asked = `requests.${resource}`;
    const isPlain = !has(hard, asked) && (resource === "cpu" || resource === "memory");
    return aboveLimit(hard, isPlain ? resource : asked, `limits.${resource}`);
  });
}

function aboveLimit(hard: Fields, request: string, limit: string): readonly string[] {
  const [askedText, mostText] = [text(hard, request), text(hard, limit)];
  const [asked, most] = [tryParseQuantity(askedText), tryParseQuantity(mostText)];
  if (asked === undefined || most === undefined || compareQuantities(asked, most) <= 0) return [];
  return [`ResourceQuota ${request} (${askedText}) should be less than ${limit} (${mostText})`];
}

/** Go's errors about a TLS key pair that cannot be parsed. Whether key and certificate match is not checked. */
export function secretWarnings(secret: Fields): readonly string[] {
  if (text(secret, "type") !== "kubernetes.io/tls") return [];
  const data = textMap(secret, "data");
  const why =
    pairFault(data["tls.crt"] ?? "", "certificate") ?? pairFault(data["tls.key"] ?? "", "key");
  return why === undefined ? [] : [`tls: ${why}`];
}

function pairFault(base64: string, what: "certificate" | "key"): string | undefined {
  const labels = pemBlocks(decodeBase64Text(base64) ?? "").map(({ label }) => label);
  const isCertificate = (label: string): boolean => label === "CERTIFICATE";
  const isKey = (label: string): boolean =>
    label === "PRIVATE KEY" || label.endsWith(" PRIVATE KEY");
  if (labels.length === 0) return `failed to find any PEM data in ${what} input`;
  if (labels.some(what === "key" ? isKey : isCertificate)) return undefined;
  const skipped = `after skipping PEM blocks of the following types: [${labels.join(" ")}]`;
  const [only = ""] = labels;
  if (what === "key") {
    return labels.length === 1 && isCertificate(only)
      ? "found a certificate rather than a key in the PEM for the private key"
      : `failed to find PEM block with type ending in "PRIVATE KEY" in key input ${skipped}`;
  }
  return labels.length === 1 && isKey(only)
    ? "failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched"
    : `failed to find "CERTIFICATE" PEM block in certificate input ${skipped}`;
}

export function driverWarnings(driver: Fields, old: Fields | undefined): readonly string[] {
  const spec = part(driver, "spec");
  const isSame =
    old !== undefined && semanticEqual(part(old, "spec")["tokenRequests"], spec["tokenRequests"]);
  if (isSame || count(spec, "tokenRequests") === 0) return [];
  if (has(spec, "serviceAccountTokenInSecrets")) return [];
  return [
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes",
  ];
}

export function resourceSliceWarnings(slice: Fields): readonly string[] {
  const driver = text(part(slice, "spec"), "driver");
  if (driver === driver.toLowerCase()) return [];
  const shown = JSON.stringify(driver);
  return [`spec.driver: driver names should be lowercase; ${shown} contains uppercase characters`];
}

/** For the kinds of the admission API itself. */
export function staticNameWarnings(object: Fields): readonly string[] {
  if (!text(part(object, "metadata"), "name").endsWith(".static.k8s.io")) return [];
  return [
    'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API',
  ];
}
