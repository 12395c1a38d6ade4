/** Volumes of pods: exactly one source each, with the rules of that source. */
import { ownEntry } from "#base/own.ts";
import type { FieldError } from "../status.ts";
import { dns1123LabelErrors, dnsSubdomainName } from "../names.ts";
import { validateLabelSelector } from "../meta.ts";
import { tryParseQuantity } from "../values/quantity.ts";
import type { Fields } from "./fields.ts";
import { count, has, items, maybe, maybeNumber, number, part, text } from "./fields.ts";
import {
  child,
  duplicate,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  append,
} from "./errors.ts";
import { checkContainerFieldRef, checkDownwardFieldRef } from "./downward.ts";
import { checkClaimSpec } from "./claims.ts";
import {
  checkDriverName,
  checkLocalPath,
  checkNoBacksteps,
  checkRelativePath,
  rangeText,
} from "./text.ts";

type SourceCheck = (out: FieldError[], source: Fields, path: string) => void;

const modeText = "must be a number between 0 and 0777 (octal), both inclusive";

function requires(...fields: readonly string[]): SourceCheck {
  return (out, source, path) => {
    for (const field of fields) {
      const value = source[field];
      const given = Array.isArray(value) ? value.length > 0 : text(source, field) !== "";
      if (!given) out.push(required(child(path, field)));
    }
  };
}

function checkMode(out: FieldError[], fields: Fields, name: string, path: string): void {
  const mode = maybeNumber(fields, name);
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return;
  out.push(invalidValue(child(path, name), mode, modeText));
}

const hostPathTypes = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];

const checkHostPath: SourceCheck = (out, source, path) => {
  const hostPath = text(source, "path");
  if (hostPath === "") {
    out.push(required(child(path, "path")));
    return;
  }
  checkNoBacksteps(out, hostPath, child(path, "path"));
  const type = text(source, "type");
  if (!hostPathTypes.includes(type)) {
    out.push(notSupported(child(path, "type"), type, hostPathTypes));
  }
};

const checkEmptyDir: SourceCheck = (out, source, path) => {
  const limit = source["sizeLimit"];
  if (limit === undefined || limit === null) return;
  const amount =
    typeof limit === "string" || typeof limit === "number" ? tryParseQuantity(limit) : undefined;
  if (amount !== undefined && amount.nanos >= 0n) return;
  const detail = "SizeLimit field must be a valid resource quantity";
  out.push(forbiddenField(child(path, "sizeLimit"), detail));
};

const checkKeyToPath: SourceCheck = (out, item, path) => {
  if (text(item, "key") === "") out.push(required(child(path, "key")));
  if (text(item, "path") === "") out.push(required(child(path, "path")));
  checkLocalPath(out, text(item, "path"), child(path, "path"));
  checkMode(out, item, "mode", path);
};

function keyed(nameField: string): SourceCheck {
  return (out, source, path) => {
    if (text(source, nameField) === "") out.push(required(child(path, nameField)));
    checkMode(out, source, "defaultMode", path);
    items(source, "items").forEach((item, at) => {
      checkKeyToPath(out, item, index(child(path, "items"), at));
    });
  };
}

const checkDownwardFile: SourceCheck = (out, file, path) => {
  if (text(file, "path") === "") out.push(required(child(path, "path")));
  checkLocalPath(out, text(file, "path"), child(path, "path"));
  const field = maybe(file, "fieldRef");
  const resource = maybe(file, "resourceFieldRef");
  if (field !== undefined) {
    checkDownwardFieldRef(out, field, "volume", child(path, "fieldRef"));
    if (resource !== undefined) {
      const detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
      out.push(invalidValue(path, "resource", detail));
    }
  } else if (resource !== undefined) {
    checkContainerFieldRef(out, resource, "volume", child(path, "resourceFieldRef"));
  } else out.push(required(path, "one of fieldRef and resourceFieldRef is required"));
  checkMode(out, file, "mode", path);
};

const checkDownwardApi: SourceCheck = (out, source, path) => {
  checkMode(out, source, "defaultMode", path);
  for (const file of items(source, "items")) checkDownwardFile(out, file, path);
};

const tenMinutes = 600;
const tokenSecondsMax = 2 ** 32;

const checkTokenProjection: SourceCheck = (out, token, path) => {
  const seconds = number(token, "expirationSeconds");
  const at = child(path, "expirationSeconds");
  if (seconds < tenMinutes) {
    out.push(invalidValue(at, seconds, "may not specify a duration less than 10 minutes"));
  }
  if (seconds > tokenSecondsMax) {
    out.push(invalidValue(at, seconds, "may not specify a duration larger than 2^32 seconds"));
  }
};

const checkTrustBundle: SourceCheck = (out, bundle, path) => {
  const byName = has(bundle, "name");
  const bySigner = has(bundle, "signerName");
  if (byName && bySigner) {
    out.push(invalidValue(path, bundle, "only one of name and signerName may be used"));
  } else if (!byName && !bySigner) {
    out.push(required(path, "either name or signerName must be specified"));
  } else if (bySigner) {
    const selector = maybe(bundle, "labelSelector");
    append(out, validateLabelSelector(selector, child(path, "labelSelector")));
  } else if (has(bundle, "labelSelector")) {
    const detail = "labelSelector must be unset if name is specified";
    out.push(invalidValue(child(path, "labelSelector"), bundle["labelSelector"], detail));
  }
  if (text(bundle, "path") === "") out.push(required(child(path, "path")));
  checkLocalPath(out, text(bundle, "path"), child(path, "path"));
};

const checkProjected: SourceCheck = (out, source, path) => {
  checkMode(out, source, "defaultMode", path);
  const paths = new Set<string>();
  items(source, "sources").forEach((projection, at) => {
    const here = index(child(path, "sources"), at);
    checkProjection(out, projection, { here, path });
    checkProjectedPaths(out, projection, paths, path);
  });
};

function checkProjection(
  out: FieldError[],
  projection: Fields,
  at: { readonly here: string; readonly path: string },
): void {
  let kinds = 0;
  const on = (name: string, check: SourceCheck): void => {
    const source = maybe(projection, name);
    if (source === undefined) return;
    kinds += 1;
    check(out, source, child(at.here, name));
  };
  on("secret", keyed("name"));
  on("configMap", keyed("name"));
  on("downwardAPI", (errors, source, path) => {
    for (const file of items(source, "items")) checkDownwardFile(errors, file, path);
  });
  on("serviceAccountToken", (errors, token, path) => {
    checkTokenProjection(errors, token, path);
    const file = text(token, "path");
    if (file === "") errors.push(required(child(at.path, "path")));
    else checkLocalPath(errors, file, child(at.path, "path"));
  });
  on("clusterTrustBundle", checkTrustBundle);
  on("podCertificate", () => {});
  if (kinds > 1) {
    out.push(forbiddenField(at.here, "may not specify more than 1 volume type per source"));
  }
}

function checkProjectedPaths(
  out: FieldError[],
  projection: Fields,
  paths: Set<string>,
  path: string,
): void {
  for (const kind of ["secret", "configMap", "downwardAPI"]) {
    const source = part(projection, kind);
    for (const item of items(source, "items")) {
      const file = text(item, "path");
      if (file === "") continue;
      if (paths.has(file)) {
        const shown = kind === "downwardAPI" ? file : text(source, "name");
        out.push(invalidValue(path, shown, "conflicting duplicate paths"));
      }
      paths.add(file);
    }
  }
}

const checkNfs: SourceCheck = (out, source, path) => {
  requires("server", "path")(out, source, path);
  const at = text(source, "path");
  if (!at.startsWith("/")) {
    out.push(invalidValue(child(path, "path"), at, "must be an absolute path"));
  }
};

const hostPortPair = /^(?:\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/;
const tenantLengthMax = 64;

const checkQuobyte: SourceCheck = (out, source, path) => {
  const registry = text(source, "registry");
  const pairs = "must be a host:port pair or multiple pairs separated by commas";
  if (registry === "") out.push(required(child(path, "registry"), pairs));
  else if (text(source, "tenant").length > tenantLengthMax) {
    const tenant = "must be a UUID and may not exceed a length of 64 characters";
    out.push(required(child(path, "tenant"), tenant));
  } else {
    for (const pair of registry.split(",")) {
      if (!hostPortPair.test(pair))
        out.push(invalidValue(child(path, "registry"), registry, pairs));
    }
  }
  requires("volume")(out, source, path);
};

const checkGitRepo: SourceCheck = (out, source, path) => {
  requires("repository")(out, source, path);
  checkRelativePath(out, text(source, "directory"), child(path, "directory"));
};

function disk(nameField: string): SourceCheck {
  return (out, source, path) => {
    requires(nameField)(out, source, path);
    const partition = number(source, "partition");
    if (partition >= 0 && partition <= 255) return;
    out.push(invalidValue(child(path, "partition"), partition, rangeText(1, 255)));
  };
}

const checkIscsi: SourceCheck = (out, source, path) => {
  requires("targetPortal", "iqn")(out, source, path);
  const lun = number(source, "lun");
  if (lun < 0 || lun > 255) out.push(invalidValue(child(path, "lun"), lun, rangeText(0, 255)));
};

const checkFibreChannel: SourceCheck = (out, source, path) => {
  const names = count(source, "targetWWNs");
  const ids = count(source, "wwids");
  const at = child(path, "targetWWNs");
  if (names + ids === 0) {
    out.push(required(at, "must specify either targetWWNs or wwids, but not both"));
  }
  if (names > 0 && ids > 0) {
    const detail = "targetWWNs and wwids can not be specified simultaneously";
    out.push(invalidValue(at, source["targetWWNs"], detail));
  }
  if (names > 0 && !has(source, "lun")) {
    out.push(required(child(path, "lun"), "lun is required if targetWWNs is specified"));
  }
};

const pullPolicies = ["Always", "IfNotPresent", "Never"];

export function checkPullPolicy(out: FieldError[], policy: string, path: string): void {
  if (policy === "") out.push(required(path));
  else if (!pullPolicies.includes(policy)) out.push(notSupported(path, policy, pullPolicies));
}

/** Rules of every source except `image` and `ephemeral`, which depend on the pod. */
export const sourceChecks: Readonly<Record<string, SourceCheck>> = {
  emptyDir: checkEmptyDir,
  hostPath: checkHostPath,
  gitRepo: checkGitRepo,
  gcePersistentDisk: disk("pdName"),
  awsElasticBlockStore: disk("volumeID"),
  secret: keyed("secretName"),
  nfs: checkNfs,
  iscsi: checkIscsi,
  glusterfs: requires("endpoints", "path"),
  flocker: () => {},
  persistentVolumeClaim: requires("claimName"),
  rbd: requires("monitors", "image"),
  cinder: requires("volumeID"),
  cephfs: requires("monitors"),
  quobyte: checkQuobyte,
  downwardAPI: checkDownwardApi,
  fc: checkFibreChannel,
  flexVolume: requires("driver"),
  configMap: keyed("name"),
  azureFile: requires("secretName", "shareName"),
  vsphereVolume: requires("volumePath"),
  photonPersistentDisk: requires("pdID"),
  portworxVolume: requires("volumeID"),
  azureDisk: requires("diskName", "diskURI"),
  storageos: () => {},
  projected: checkProjected,
  scaleIO: requires("gateway", "system", "volumeName"),
  csi: (out, source, path) => checkDriverName(out, text(source, "driver"), child(path, "driver")),
};

export interface PodContext {
  /** Absent in templates, where names of volumes made for the pod are unknown. */
  readonly podName: string | undefined;
  readonly isPod: boolean;
}

/** @returns the sources of valid volumes, by name. */
export function checkVolumes(
  out: FieldError[],
  spec: Fields,
  pod: PodContext,
  path: string,
): ReadonlyMap<string, Fields> {
  const named = new Map<string, Fields>();
  items(spec, "volumes").forEach((volume, at) => {
    const errors: FieldError[] = [];
    const here = index(path, at);
    checkSource(errors, volume, pod, here);
    const name = text(volume, "name");
    if (name === "") errors.push(required(child(here, "name")));
    else append(errors, invalidEach(child(here, "name"), name, dns1123LabelErrors(name)));
    if (named.has(name)) errors.push(duplicate(child(here, "name"), name));
    if (errors.length === 0) named.set(name, volume);
    append(out, errors);
  });
  return named;
}

function checkSource(out: FieldError[], volume: Fields, pod: PodContext, path: string): void {
  let found = 0;
  for (const name of Object.keys(volume)) {
    const source = maybe(volume, name);
    if (source === undefined) continue;
    found += 1;
    const at = child(path, name);
    if (found > 1) out.push(forbiddenField(at, "may not specify more than 1 volume type"));
    else if (name === "image") checkImage(out, source, pod, at);
    else if (name === "ephemeral") checkEphemeral(out, source, volume, { pod, path });
    else ownEntry(sourceChecks, name)?.(out, source, at);
  }
  if (found === 0) out.push(required(path, "must specify a volume type"));
}

function checkImage(out: FieldError[], source: Fields, pod: PodContext, path: string): void {
  if (pod.isPod && text(source, "reference") === "") out.push(required(child(path, "reference")));
  checkPullPolicy(out, text(source, "pullPolicy"), child(path, "pullPolicy"));
}

function checkEphemeral(
  out: FieldError[],
  source: Fields,
  volume: Fields,
  at: { readonly pod: PodContext; readonly path: string },
): void {
  const here = child(at.path, "ephemeral", "volumeClaimTemplate");
  const template = maybe(source, "volumeClaimTemplate");
  if (template === undefined) out.push(required(here));
  else checkClaimSpec(out, part(template, "spec"), child(here, "spec"));
  const name = text(volume, "name");
  if (at.pod.podName === undefined || name === "") return;
  const claim = `${at.pod.podName}-${name}`;
  for (const detail of dnsSubdomainName(claim, false)) {
    out.push(
      invalidValue(child(at.path, "name"), name, `PVC name ${JSON.stringify(claim)}: ${detail}`),
    );
  }
}
