/**
 * AppArmor profiles in annotations, with the container's name after the prefix. The container and the form must be
 * known. The profile is set when the pod is made, never changes, and must agree with the field that replaces it.
 */
import { ownEntry } from "#base/own.ts";
import type { AnyObject } from "../object.ts";
import type { FieldError } from "../status.ts";
import { child, forbiddenField, index, invalidValue, key } from "./errors.ts";
import type { Fields } from "./fields.ts";
import { items, maybe, part, text } from "./fields.ts";
import { semanticEqual } from "./equal.ts";

type Annotations = Readonly<Record<string, string>>;

const prefix = "container.apparmor.security.beta.kubernetes.io/";
const localhost = "localhost/";
const profileLengthMax = 4095;
const containerLists = ["initContainers", "containers", "ephemeralContainers"];
/** Profile types by annotation value. */
const types = new Map([
  ["runtime/default", "RuntimeDefault"],
  ["unconfined", "Unconfined"],
]);

/** The value of the field that replaced the annotation; undefined for a malformed annotation. */
export function profileOfAnnotation(annotation: string): Fields | undefined {
  const type = types.get(annotation);
  if (type !== undefined) return { type };
  if (!annotation.startsWith(localhost)) return undefined;
  const localhostProfile = annotation.slice(localhost.length);
  const isValid =
    localhostProfile !== "" &&
    localhostProfile === localhostProfile.trim() &&
    localhostProfile.length <= profileLengthMax;
  return isValid ? { type: "Localhost", localhostProfile } : undefined;
}

/** The profile in a container's annotation, if its field is not set. `name` is the annotation's. */
interface AnnotatedProfile {
  readonly name: string;
  /** Undefined: the annotation is malformed. */
  readonly profile: Fields | undefined;
}

/** Windows pods are exempt, because Windows has no AppArmor. */
function annotatedProfile(pod: Fields, container: Fields): AnnotatedProfile | undefined {
  const annotations = part(part(pod, "metadata"), "annotations");
  const name = prefix + text(container, "name");
  const said = ownEntry(annotations, name);
  if (typeof said !== "string") return undefined;
  if (maybe(part(container, "securityContext"), "appArmorProfile") !== undefined) return undefined;
  if (text(part(part(pod, "spec"), "os"), "name") === "windows") return undefined;
  const profile = profileOfAnnotation(said);
  const ofPod = maybe(part(part(pod, "spec"), "securityContext"), "appArmorProfile");
  if (profile !== undefined && ofPod !== undefined && semanticEqual(profile, ofPod))
    return undefined;
  return { name, profile };
}

/** Warnings about the pod as sent, before annotations are copied to fields. */
export function appArmorWarnings(pod: Fields): readonly string[] {
  const containers = containerLists.flatMap((list) => items(part(pod, "spec"), list));
  return containers.flatMap((container) => {
    const found = annotatedProfile(pod, container);
    if (found === undefined) return [];
    const at = key("metadata.annotations", found.name);
    return [`${at}: deprecated since v1.30; use the "appArmorProfile" field instead`];
  });
}

/** Copies profiles from a pod's annotations to its fields. */
export function withAnnotatedProfiles(pod: AnyObject): AnyObject {
  const spec = part(pod, "spec");
  let next: Fields = spec;
  for (const list of containerLists) {
    const before = items(spec, list);
    const after = before.map((container) => withProfile(pod, container));
    if (after.some((container, at) => container !== before[at])) next = { ...next, [list]: after };
  }
  return next === spec ? pod : { ...pod, spec: next };
}

function withProfile(pod: Fields, container: Fields): Fields {
  const appArmorProfile = annotatedProfile(pod, container)?.profile;
  if (appArmorProfile === undefined) return container;
  const securityContext = { ...part(container, "securityContext"), appArmorProfile };
  return { ...container, securityContext };
}

function profilesIn(annotations: Annotations): readonly string[] {
  return Object.keys(annotations)
    .filter((name) => name.startsWith(prefix))
    .toSorted();
}

/** Checks the annotations at `path`, of a pod or a template. */
export function checkAppArmorAnnotations(
  out: FieldError[],
  annotations: Annotations,
  spec: Fields,
  path: string,
): void {
  const annotated = profilesIn(annotations);
  if (annotated.length === 0) return;
  const names = containerLists.flatMap((list) =>
    items(spec, list).map((each) => text(each, "name")),
  );
  const known = new Set(names);
  for (const name of annotated) {
    const at = key(path, name);
    const container = name.slice(prefix.length);
    const profile = annotations[name] ?? "";
    if (!known.has(container)) out.push(invalidValue(at, container, "container not found"));
    if (profile === "" || types.has(profile) || profile.startsWith(localhost)) continue;
    const detail = `invalid AppArmor profile name: ${JSON.stringify(profile)}`;
    out.push(invalidValue(at, profile, detail));
  }
}

export function checkAppArmorUnchanged(
  out: FieldError[],
  next: Annotations,
  old: Annotations,
  path: string,
): void {
  for (const name of profilesIn(old)) {
    if (next[name] === old[name]) continue;
    out.push(forbiddenField(key(path, name), "may not remove or update AppArmor annotations"));
  }
  for (const name of profilesIn(next)) {
    if (old[name] !== undefined) continue;
    out.push(forbiddenField(key(path, name), "may not add AppArmor annotations"));
  }
}

/** Checks on create that annotation and field agree where both are set. */
export function checkAppArmorAgrees(
  out: FieldError[],
  annotations: Annotations,
  spec: Fields,
): void {
  if (profilesIn(annotations).length === 0) return;
  for (const list of containerLists) {
    items(spec, list).forEach((container, at) => {
      const annotated = annotations[prefix + text(container, "name")] ?? "";
      const profile = maybe(part(container, "securityContext"), "appArmorProfile");
      if (profile === undefined || annotated === "" || annotated === localhost) return;
      const path = child(index(child("spec", list), at), "securityContext", "appArmorProfile");
      checkAgrees(out, annotated, profile, path);
    });
  }
}

function checkAgrees(out: FieldError[], annotated: string, profile: Fields, path: string): void {
  const file = annotated.startsWith(localhost) ? annotated.slice(localhost.length) : undefined;
  const type = file === undefined ? types.get(annotated) : "Localhost";
  // A malformed profile is reported by the check of its form.
  if (type === undefined) return;
  if (text(profile, "type") !== type) {
    const detail = "apparmor type in annotation and field must match";
    out.push(forbiddenField(child(path, "type"), detail));
  } else if (file !== undefined && text(profile, "localhostProfile") !== file) {
    const detail = "apparmor profile in annotation and field must match";
    out.push(forbiddenField(child(path, "localhostProfile"), detail));
  }
}
