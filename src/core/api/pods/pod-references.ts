/**
 * The objects that a pod refers to by name: secrets, config maps, claims, resource claims and its service account.
 * The node authorizer lets a node read these; NodeRestriction refuses a mirror pod that has any.
 *
 * In     a decoded, defaulted pod.
 * Holds  every volume source of the schema is in `volumeSources` or `projectedSources`; a source that is
 *        in neither counts as a reference. pod-references.test.ts checks this against the generated schema.
 * After  upstream pkg/api/pod/util.go (VisitPodSecretNames, VisitPodConfigmapNames, HasAPIObjectReference).
 */
import type { AnyObject } from "../object.ts";
import type { Fields } from "../validation/fields.ts";
import { items, maybe, part, text } from "../validation/fields.ts";

export interface PodReferences {
  readonly secrets: readonly string[];
  readonly configMaps: readonly string[];
  readonly claims: readonly string[];
  readonly resourceClaims: readonly string[];
  readonly serviceAccounts: readonly string[];
}

interface Source {
  /** The field that contains the name of a secret, or an object with that name. */
  readonly secret?: string;
  readonly configMap?: string;
  /** What the kubelet requests from the API server to mount it, in upstream's words. Absent: nothing. */
  readonly needs?: string;
}

const alone: Source = {};
const withSecret: Source = { secret: "secretRef" };

/** By field name of Volume. */
const volumeSources: ReadonlyMap<string, Source> = new Map([
  ["awsElasticBlockStore", alone],
  ["azureDisk", alone],
  ["azureFile", { secret: "secretName", needs: "secrets (via azureFile volumes)" }],
  ["cephfs", withSecret],
  ["cinder", withSecret],
  ["configMap", { configMap: "name", needs: "configmaps (via configmap volumes)" }],
  ["csi", { secret: "nodePublishSecretRef", needs: "csidrivers (via CSI volumes)" }],
  ["downwardAPI", alone],
  ["emptyDir", alone],
  ["ephemeral", { needs: "persistentvolumeclaims (via ephemeral volumes)" }],
  ["fc", alone],
  ["flexVolume", withSecret],
  ["flocker", alone],
  ["gcePersistentDisk", alone],
  ["gitRepo", alone],
  ["glusterfs", { needs: "endpoints (via glusterFS volumes)" }],
  ["hostPath", alone],
  ["image", alone],
  ["iscsi", withSecret],
  ["nfs", alone],
  ["persistentVolumeClaim", { needs: "persistentvolumeclaims" }],
  ["photonPersistentDisk", alone],
  ["portworxVolume", alone],
  ["projected", alone],
  ["quobyte", alone],
  ["rbd", withSecret],
  ["scaleIO", withSecret],
  ["secret", { secret: "secretName", needs: "secrets (via secret volumes)" }],
  ["storageos", withSecret],
  ["vsphereVolume", alone],
]);

/** By field name of VolumeProjection. */
const projectedSources: ReadonlyMap<string, Source> = new Map([
  ["clusterTrustBundle", { needs: "clustertrustbundles" }],
  ["configMap", { configMap: "name", needs: "configmaps (via projected volumes)" }],
  ["downwardAPI", alone],
  ["podCertificate", { needs: "podcertificates" }],
  ["secret", { secret: "name", needs: "secrets (via projected volumes)" }],
  ["serviceAccountToken", { needs: "serviceaccounts (via projected volumes)" }],
]);

const known = new WeakMap<AnyObject, PodReferences>();

/** Computed once per pod object, because objects are immutable. */
export function podReferences(pod: AnyObject): PodReferences {
  const seen = known.get(pod);
  if (seen !== undefined) return seen;
  const references = collect(pod);
  known.set(pod, references);
  return references;
}

function collect(pod: AnyObject): PodReferences {
  const spec = part(pod, "spec");
  const secrets = items(spec, "imagePullSecrets").map((reference) => text(reference, "name"));
  const configMaps: string[] = [];
  const claims: string[] = [];
  for (const container of allContainers(spec)) collectEnv(container, secrets, configMaps);
  for (const volume of items(spec, "volumes")) {
    collectSources(volume, volumeSources, secrets, configMaps);
    for (const source of items(part(volume, "projected"), "sources")) {
      collectSources(source, projectedSources, secrets, configMaps);
    }
    claims.push(claimOf(pod, volume));
  }
  return {
    secrets: present(secrets),
    configMaps: present(configMaps),
    claims: present(claims),
    resourceClaims: present(resourceClaimNames(pod)),
    serviceAccounts: present([accountOf(spec)]),
  };
}

function allContainers(spec: Fields): readonly Fields[] {
  return ["initContainers", "containers", "ephemeralContainers"].flatMap((list) =>
    items(spec, list),
  );
}

function collectEnv(container: Fields, secrets: string[], configMaps: string[]): void {
  for (const entry of items(container, "envFrom")) {
    secrets.push(text(part(entry, "secretRef"), "name"));
    configMaps.push(text(part(entry, "configMapRef"), "name"));
  }
  for (const entry of items(container, "env")) {
    const from = part(entry, "valueFrom");
    secrets.push(text(part(from, "secretKeyRef"), "name"));
    configMaps.push(text(part(from, "configMapKeyRef"), "name"));
  }
}

function collectSources(
  holder: Fields,
  sources: ReadonlyMap<string, Source>,
  secrets: string[],
  configMaps: string[],
): void {
  for (const name of Object.keys(holder)) {
    const source = sources.get(name);
    const fields = maybe(holder, name);
    if (source === undefined || fields === undefined) continue;
    if (source.secret !== undefined) secrets.push(nameIn(fields, source.secret));
    if (source.configMap !== undefined) configMaps.push(nameIn(fields, source.configMap));
  }
}

/** `field` is a name, or an object with a name. */
function nameIn(fields: Fields, field: string): string {
  return text(fields, field) || text(part(fields, field), "name");
}

/** The claim of an ephemeral volume has the name POD-VOLUME. */
function claimOf(pod: AnyObject, volume: Fields): string {
  if (maybe(volume, "ephemeral") !== undefined) {
    return `${pod.metadata?.name ?? ""}-${text(volume, "name")}`;
  }
  return text(part(volume, "persistentVolumeClaim"), "claimName");
}

/** The name of a generated claim is in the pod's status, which only controllers and the scheduler write. */
function resourceClaimNames(pod: AnyObject): readonly string[] {
  const status = part(pod, "status");
  const made = items(status, "resourceClaimStatuses");
  const names = items(part(pod, "spec"), "resourceClaims").map((claim) => {
    const given = text(claim, "resourceClaimName");
    if (given !== "" || text(claim, "resourceClaimTemplateName") === "") return given;
    const own = made.find((each) => text(each, "name") === text(claim, "name"));
    return own === undefined ? "" : text(own, "resourceClaimName");
  });
  return [...names, text(part(status, "extendedResourceClaimStatus"), "resourceClaimName")];
}

/** `serviceAccount` is the old name of the field. */
function accountOf(spec: Fields): string {
  return text(spec, "serviceAccountName") || text(spec, "serviceAccount");
}

function present(names: readonly string[]): readonly string[] {
  return names.filter((name) => name !== "");
}

type ApiReference =
  | { readonly kind: "none" }
  /** What the pod refers to, in upstream's words: `secrets`, `configmaps (via projected volumes)`. */
  | { readonly kind: "reference"; readonly resource: string }
  /** A source that is missing in this table and may refer to anything. */
  | { readonly kind: "unknown"; readonly fault: string };

const none: ApiReference = { kind: "none" };

/** The first reference for which a pod needs the API server, in upstream's order, so that the text is the same. */
export function apiReferenceOf(pod: AnyObject): ApiReference {
  const spec = part(pod, "spec");
  const { secrets, configMaps, serviceAccounts } = podReferences(pod);
  if (serviceAccounts.length > 0) return reference("serviceaccounts");
  if (secrets.length > 0) return reference("secrets");
  if (configMaps.length > 0) return reference("configmaps");
  if (items(spec, "resourceClaims").length > 0) return reference("resourceclaims");
  for (const volume of items(spec, "volumes")) {
    const found = volumeReference(volume);
    if (found.kind !== "none") return found;
  }
  return none;
}

function reference(resource: string): ApiReference {
  return { kind: "reference", resource };
}

function volumeReference(volume: Fields): ApiReference {
  const name = JSON.stringify(text(volume, "name"));
  const { name: own, ...sources } = volume;
  void own;
  const found = sourcesReference(sources, volumeSources, `unknown volume type for volume  ${name}`);
  if (found.kind !== "none") return found;
  for (const source of items(part(volume, "projected"), "sources")) {
    const fault = `unknown source for projected volume ${name}`;
    const projected = sourcesReference(source, projectedSources, fault);
    if (projected.kind !== "none") return projected;
  }
  return none;
}

function sourcesReference(
  holder: Fields,
  sources: ReadonlyMap<string, Source>,
  fault: string,
): ApiReference {
  const given = Object.keys(holder).filter((name) => maybe(holder, name) !== undefined);
  if (given.length === 0) return { kind: "unknown", fault };
  for (const name of given) {
    const source = sources.get(name);
    if (source === undefined) return { kind: "unknown", fault };
    if (source.needs !== undefined) return reference(source.needs);
  }
  return none;
}
