/**
 * NodeRestriction on tokens: a kubelet may request tokens bound to pods that run on its node, for an audience that such
 * a pod mounts. Another audience needs verb `request-serviceaccounts-token-audience` on a resource with the audience's
 * name.
 */
import type { Pod } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import type { Fields } from "#api/validation/fields.ts";
import { items, maybe, part, text, texts } from "#api/validation/fields.ts";
import type { Access } from "./access.ts";
import type { AdmissionRequest } from "./admission.ts";
import { findPod } from "./node-restriction-pods.ts";
import { quote, forbiddenError } from "./request.ts";

const audienceVerb = "request-serviceaccounts-token-audience";

interface Deps {
  readonly lookup: Lister;
  readonly access: Access;
}

export async function checkToken(
  request: AdmissionRequest,
  node: string,
  deps: Deps,
): Promise<void> {
  if (request.operation !== "CREATE" || request.subresource !== "token") return;
  const spec = part(request.object ?? {}, "spec");
  const ref = part(spec, "boundObjectRef");
  const name = text(ref, "name");
  if (text(ref, "apiVersion") !== "v1" || text(ref, "kind") !== "Pod" || name === "") {
    throw forbiddenError(request, "node requested token not bound to a pod");
  }
  const uid = text(ref, "uid");
  if (uid === "")
    throw forbiddenError(request, "node requested token with a pod binding without a uid");
  const pod = findPod(deps.lookup, request.namespace, name);
  if (pod.metadata?.uid !== uid) {
    throw forbiddenError(
      request,
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  if (pod.spec?.nodeName !== node) {
    throw forbiddenError(
      request,
      "node requested token bound to a pod scheduled on a different node",
    );
  }
  const fault = await audienceFault(request, texts(spec, "audiences"), pod, deps);
  if (fault !== undefined) throw forbiddenError(request, fault);
}

/** No audience means the API server's, which pods mount as "". */
async function audienceFault(
  request: AdmissionRequest,
  audiences: readonly string[],
  pod: Pod,
  deps: Deps,
): Promise<string | undefined> {
  if (audiences.length > 1) return "node may only request 0 or 1 audiences";
  const audience = audiences[0] ?? "";
  const found = mountsAudience(pod, audience, deps.lookup);
  if (found.kind === "mounted") return undefined;
  if (found.faults.length > 0) {
    const [first = ""] = found.faults;
    const all = found.faults.length === 1 ? first : `[${[...new Set(found.faults)].join(", ")}]`;
    return `error validating audience ${quote(audience)}: ${all}`;
  }
  const { user, namespace, name } = request;
  const question = { user, verb: audienceVerb, group: "", resource: audience, namespace, name };
  if (await deps.access.isAllowed(question)) return undefined;
  return `audience ${quote(audience)} not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`;
}

type Mounted =
  | { readonly kind: "mounted" }
  /** Why the driver of a volume could not be determined. */
  | { readonly kind: "absent"; readonly faults: readonly string[] };

function mountsAudience(pod: Pod, audience: string, lookup: Lister): Mounted {
  const faults: string[] = [];
  for (const volume of items(part(pod as AnyObject, "spec"), "volumes")) {
    if (projects(volume, audience)) return { kind: "mounted" };
    const driver = driverOf(pod, volume, lookup);
    if (driver.kind === "missing") faults.push(`${driver.what} not found`);
    if (driver.kind !== "driver") continue;
    const stored = lookup.get(csiDrivers, "", driver.name);
    if (stored === undefined)
      faults.push(`csidriver.storage.k8s.io ${quote(driver.name)} not found`);
    else if (asksFor(stored, audience)) return { kind: "mounted" };
  }
  return { kind: "absent", faults };
}

const csiDrivers = { group: "storage.k8s.io", resource: "csidrivers" };

function projects(volume: Fields, audience: string): boolean {
  return items(part(volume, "projected"), "sources").some((source) => {
    const token = maybe(source, "serviceAccountToken");
    return token !== undefined && text(token, "audience") === audience;
  });
}

function asksFor(driver: AnyObject, audience: string): boolean {
  const requests = items(part(driver, "spec"), "tokenRequests");
  return requests.some((request) => text(request, "audience") === audience);
}

type Driver =
  | { readonly kind: "none" }
  | { readonly kind: "driver"; readonly name: string }
  | { readonly kind: "missing"; readonly what: string };

const noDriver: Driver = { kind: "none" };

/** CSI drivers that replaced in-tree volumes (csi-translation-lib). */
const migrated: ReadonlyMap<string, string> = new Map([
  ["awsElasticBlockStore", "ebs.csi.aws.com"],
  ["azureDisk", "disk.csi.azure.com"],
  ["azureFile", "file.csi.azure.com"],
  ["cinder", "cinder.csi.openstack.org"],
  ["gcePersistentDisk", "pd.csi.storage.gke.io"],
  ["portworxVolume", "pxd.portworx.com"],
  ["vsphereVolume", "csi.vsphere.vmware.com"],
]);

function driverOf(pod: Pod, volume: Fields, lookup: Lister): Driver {
  const namespace = pod.metadata?.namespace ?? "";
  if (maybe(part(volume, "ephemeral"), "volumeClaimTemplate") !== undefined) {
    return driverOfClaim(namespace, `${pod.metadata?.name}-${text(volume, "name")}`, lookup);
  }
  const claim = maybe(volume, "persistentVolumeClaim");
  if (claim !== undefined) return driverOfClaim(namespace, text(claim, "claimName"), lookup);
  return driverIn(volume);
}

function driverIn(sources: Fields): Driver {
  const csi = maybe(sources, "csi");
  if (csi !== undefined) return { kind: "driver", name: text(csi, "driver") };
  const [, name] = [...migrated].find(([field]) => maybe(sources, field) !== undefined) ?? [];
  return name === undefined ? noDriver : { kind: "driver", name };
}

function driverOfClaim(namespace: string, name: string, lookup: Lister): Driver {
  const claim = lookup.get({ group: "", resource: "persistentvolumeclaims" }, namespace, name);
  if (claim === undefined) return { kind: "missing", what: `persistentvolumeclaim ${quote(name)}` };
  const volumeName = text(part(claim, "spec"), "volumeName");
  const volume = lookup.get({ group: "", resource: "persistentvolumes" }, "", volumeName);
  if (volume === undefined) {
    return { kind: "missing", what: `persistentvolume ${quote(volumeName)}` };
  }
  return driverIn(part(volume, "spec"));
}
