/** Persistent volumes. Texts as upstream's core/validation. */
import { checkDriverName } from "./text.ts";
import { ownEntry } from "#base/own.ts";
import type { FieldError } from "../status.ts";
import { dnsSubdomainName } from "../names.ts";
import type { Fields } from "./fields.ts";
import { hasEntries, has, isFields, items, maybe, maybeText, part, text, texts } from "./fields.ts";
import {
  child,
  forbiddenField,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  append,
} from "./errors.ts";
import { checkAccessModes, volumeModes } from "./claims.ts";
import { checkIfGiven } from "./choices.ts";
import { describeChange } from "./describe.ts";
import { semanticEqual } from "./equal.ts";
import { goStruct } from "./go-struct.ts";
import { checkImmutable, immutableText } from "./immutable.ts";
import { checkResourceList, checkResourceName } from "./resources.ts";
import { checkNodeSelector } from "./scheduling.ts";
import { sourceChecks } from "./volumes.ts";

const reclaimPolicies = ["Delete", "Recycle", "Retain"];

/** Sources with other fields than in pods, which need their own checks. */
const sources = [
  "awsElasticBlockStore",
  "azureDisk",
  "azureFile",
  "cephfs",
  "cinder",
  "csi",
  "fc",
  "flexVolume",
  "flocker",
  "gcePersistentDisk",
  "glusterfs",
  "hostPath",
  "iscsi",
  "local",
  "nfs",
  "photonPersistentDisk",
  "portworxVolume",
  "quobyte",
  "rbd",
  "scaleIO",
  "storageos",
  "vsphereVolume",
];

export function validateVolume(volume: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(volume, "spec");
  checkAccessModes(out, texts(spec, "accessModes"), "spec.accessModes", "");
  checkCapacity(out, spec);
  const policy = text(spec, "persistentVolumeReclaimPolicy");
  if (policy !== "" && !reclaimPolicies.includes(policy)) {
    out.push(notSupported("spec.persistentVolumeReclaimPolicy", policy, reclaimPolicies));
  }
  checkAffinity(out, spec);
  checkSource(out, spec);
  const mode = maybeText(spec, "volumeMode");
  checkIfGiven(out, mode, volumeModes, "spec.volumeMode");
  for (const field of ["storageClassName", "volumeAttributesClassName"]) {
    const name = text(spec, field);
    if (name === "") continue;
    append(out, invalidEach(child("spec", field), name, dnsSubdomainName(name, false)));
  }
  return out;
}

function checkCapacity(out: FieldError[], spec: Fields): void {
  const path = "spec.capacity";
  if (!hasEntries(spec, "capacity")) out.push(required(path));
  const capacity = part(spec, "capacity");
  const names = Object.keys(capacity);
  if (names.length > 1 || !names.includes("storage")) {
    out.push(notSupported(path, capacity, ["storage"]));
  }
  const amounts = checkResourceList(out, capacity, checkResourceName, path);
  const storage = amounts.get("storage");
  if (storage !== undefined && storage.nanos <= 0n) {
    const detail = "must be greater than zero";
    out.push(invalidValue(`${path}[storage]`, capacity["storage"], detail));
  }
}

function checkAffinity(out: FieldError[], spec: Fields): void {
  const affinity = maybe(spec, "nodeAffinity");
  if (affinity === undefined) return;
  const wanted = maybe(affinity, "required");
  const path = "spec.nodeAffinity.required";
  if (wanted === undefined) out.push(required(path, "must specify required node constraints"));
  else checkNodeSelector(out, wanted, path);
}

function checkSource(out: FieldError[], spec: Fields): void {
  const given = sources.filter((name) => isFields(spec[name]));
  if (given.length === 0) out.push(required("spec", "must specify a volume type"));
  given.forEach((name, at) => {
    const path = child("spec", name);
    if (at > 0) {
      out.push(forbiddenField(path, "may not specify more than 1 volume type"));
      return;
    }
    const source = part(spec, name);
    if (name === "local") checkLocal(out, spec, source, path);
    else if (name === "csi") checkCsi(out, source, path);
    else ownEntry(sourceChecks, name)?.(out, source, path);
  });
  const path = text(part(spec, "hostPath"), "path");
  if (path === "/" && text(spec, "persistentVolumeReclaimPolicy") === "Recycle") {
    const detail = "may not be 'recycle' for a hostPath mount of '/'";
    out.push(forbiddenField("spec.persistentVolumeReclaimPolicy", detail));
  }
}

function checkLocal(out: FieldError[], spec: Fields, source: Fields, path: string): void {
  const local = text(source, "path");
  if (local === "") out.push(required(child(path, "path")));
  if (local.split("/").includes("..")) {
    out.push(invalidValue(child(path, "path"), local, "must not contain '..'"));
  }
  if (has(part(spec, "nodeAffinity"), "required")) return;
  out.push(required("spec.nodeAffinity", "Local volume requires node affinity"));
}

function checkCsi(out: FieldError[], source: Fields, path: string): void {
  checkDriverName(out, text(source, "driver"), child(path, "driver"));
  if (text(source, "volumeHandle") === "") out.push(required(child(path, "volumeHandle")));
  const secrets = [
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
  ];
  for (const field of secrets) {
    const secret = maybe(source, field);
    if (secret === undefined) continue;
    for (const name of ["name", "namespace"]) {
      if (text(secret, name) === "") out.push(required(child(path, field, name)));
    }
  }
}

/** The source is immutable; node affinity can be set once. */
export function validateVolumeUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateVolume(next);
  const spec = part(next, "spec");
  const before = part(old, "spec");
  const source = sourceOf(spec);
  const was = sourceOf(before);
  if (!semanticEqual(source, was)) {
    const detail = `spec.persistentvolumesource is immutable after creation${describeChange(was, source)}`;
    out.push(forbiddenField("spec.persistentvolumesource", detail));
  }
  // Upstream's paths of these two begin in the specification.
  checkImmutable(out, spec, before, { field: "volumeMode", path: "" });
  checkNodesKept(out, maybe(spec, "nodeAffinity"), maybe(before, "nodeAffinity"));
  checkAttributes(out, spec, before);
  return out;
}

function checkNodesKept(
  out: FieldError[],
  next: Fields | undefined,
  old: Fields | undefined,
): void {
  if (old === undefined || semanticEqual(next, old)) return;
  const detail = `${immutableText}, except for updating from beta label to GA`;
  out.push(invalidValue("nodeAffinity", next === undefined ? null : shownNodes(next), detail));
}

function shownNodes(affinity: Fields): unknown {
  const terms = items(part(affinity, "required"), "nodeSelectorTerms").map((term) => ({
    MatchExpressions: shownRequirements(term, "matchExpressions"),
    MatchFields: shownRequirements(term, "matchFields"),
  }));
  return { Required: has(affinity, "required") ? { NodeSelectorTerms: terms } : null };
}

function shownRequirements(term: Fields, field: string): unknown {
  const all = items(term, field).map((requirement) =>
    goStruct(requirement, { key: "", operator: "", values: null }),
  );
  return all.length === 0 ? null : all;
}

/** Secrets may be added to a CSI source that had none for growing. */
function sourceOf(spec: Fields): Fields {
  const named = sources.filter((name) => isFields(spec[name]));
  return Object.fromEntries(
    named.map((name) => {
      const source: Record<string, unknown> = { ...part(spec, name) };
      if (name === "csi") delete source["controllerExpandSecretRef"];
      return [name, source];
    }),
  );
}

function checkAttributes(out: FieldError[], spec: Fields, before: Fields): void {
  const field = "volumeAttributesClassName";
  if (!has(before, field) || has(spec, field)) return;
  const detail = "update from non-nil value to nil is forbidden";
  out.push(forbiddenField(child("spec", field), detail));
}
