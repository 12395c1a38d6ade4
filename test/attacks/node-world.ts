/** The cluster that a compromised node n1 finds: its own objects, and those of node n2. */
import type { Attack } from "./attacked-plane.ts";
import type { Known } from "./recorded.ts";

export const n1 = { name: "system:node:n1", groups: ["system:nodes"] };
export const team = "/api/v1/namespaces/team";
export const mirrorAnnotation = "kubernetes.io/config.mirror";

const core = (kind: string, name: string, more: object = {}): object => ({
  apiVersion: "v1",
  kind,
  metadata: { name },
  ...more,
});

const container = { name: "c", image: "i" };

const podOn = (
  nodeName: string,
  name: string,
  spec: object = {},
  metadata: object = {},
): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: name }, ...metadata },
  spec: { nodeName, containers: [container], automountServiceAccountToken: false, ...spec },
});

const volume = (name: string, claim: string, secret: string): object => ({
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name },
  spec: {
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteOnce"],
    claimRef: { namespace: "team", name: claim },
    csi: {
      driver: "disks.example.com",
      volumeHandle: name,
      nodePublishSecretRef: { namespace: "storage", name: secret },
      controllerPublishSecretRef: { namespace: "storage", name: "controllers-only" },
    },
  },
});

const claim = (name: string, volumeName: string): object => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name },
  spec: {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
    storageClassName: "",
    volumeName,
  },
});

const slice = (name: string, nodeName: string): object => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceSlice",
  metadata: { name },
  spec: {
    driver: "gpus.example.com",
    nodeName,
    pool: { name: nodeName, generation: 1, resourceSliceCount: 1 },
    devices: [{ name: "gpu-0" }],
  },
});

const resourceClaim = (name: string): object => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaim",
  metadata: { name },
  spec: { devices: {} },
});

const attachment = (name: string, nodeName: string): object => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "VolumeAttachment",
  metadata: { name },
  spec: { attacher: "disks.example.com", nodeName, source: { persistentVolumeName: "pv-mine" } },
});

const mine = podOn("n1", "mine", {
  serviceAccountName: "app",
  volumes: [
    { name: "secret", secret: { secretName: "mounted" } },
    { name: "data", persistentVolumeClaim: { claimName: "mine" } },
    {
      name: "token",
      projected: { sources: [{ serviceAccountToken: { audience: "vault", path: "t" } }] },
    },
  ],
  resourceClaims: [{ name: "gpu", resourceClaimName: "mine" }],
});

/** Made by an administrator, so that nothing but the authorizer keeps its config map from the node. */
const staticPod = podOn(
  "n1",
  "static",
  { volumes: [{ name: "config", configMap: { name: "named-by-mirror" } }] },
  { annotations: { [mirrorAnnotation]: "x" } },
);

const slices = "/apis/resource.k8s.io/v1/resourceslices";
const claims = "/apis/resource.k8s.io/v1/namespaces/team/resourceclaims";
const attachments = "/apis/storage.k8s.io/v1/volumeattachments";

export const nodeWorld = [
  { path: "/api/v1/namespaces", body: core("Namespace", "team") },
  { path: "/api/v1/namespaces", body: core("Namespace", "storage") },
  { path: `${team}/serviceaccounts`, body: core("ServiceAccount", "default") },
  { path: `${team}/serviceaccounts`, body: core("ServiceAccount", "app") },
  { path: `${team}/serviceaccounts`, body: core("ServiceAccount", "admin") },
  { path: "/api/v1/nodes", body: core("Node", "n1") },
  { path: "/api/v1/nodes", body: core("Node", "n2") },
  { path: `${team}/secrets`, body: core("Secret", "mounted") },
  { path: `${team}/secrets`, body: core("Secret", "crown") },
  { path: `${team}/configmaps`, body: core("ConfigMap", "named-by-mirror") },
  { path: "/api/v1/namespaces/storage/secrets", body: core("Secret", "publish-mine") },
  { path: "/api/v1/namespaces/storage/secrets", body: core("Secret", "publish-theirs") },
  { path: "/api/v1/namespaces/storage/secrets", body: core("Secret", "controllers-only") },
  { path: "/api/v1/persistentvolumes", body: volume("pv-mine", "mine", "publish-mine") },
  { path: "/api/v1/persistentvolumes", body: volume("pv-theirs", "theirs", "publish-theirs") },
  { path: `${team}/persistentvolumeclaims`, body: claim("mine", "pv-mine") },
  { path: `${team}/persistentvolumeclaims`, body: claim("theirs", "pv-theirs") },
  {
    path: "/apis/storage.k8s.io/v1/csidrivers",
    body: {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSIDriver",
      metadata: { name: "disks.example.com" },
      spec: { tokenRequests: [{ audience: "disks" }] },
    },
  },
  { path: slices, body: slice("slice-n1", "n1") },
  { path: slices, body: slice("slice-n2", "n2") },
  { path: claims, body: resourceClaim("mine") },
  { path: claims, body: resourceClaim("theirs") },
  { path: attachments, body: attachment("va-n1", "n1") },
  { path: attachments, body: attachment("va-n2", "n2") },
  { path: `${team}/pods`, body: mine },
  { path: `${team}/pods`, body: podOn("n2", "theirs", { serviceAccountName: "admin" }) },
  { path: `${team}/pods`, body: staticPod },
];

/** A mirror pod as a kubelet makes it. */
export function mirrorPod(uid: Known, spec: object, name = "static-attack"): object {
  const owner = {
    apiVersion: "v1",
    kind: "Node",
    name: "n1",
    uid: uid("nodes/n1"),
    controller: true,
  };
  const metadata = { annotations: { [mirrorAnnotation]: "x" }, ownerReferences: [owner] };
  return podOn("n1", name, spec, metadata);
}

/** n1 creates a mirror pod with `spec`. */
export function createMirror(spec: object): (uid: Known) => Attack {
  return (uid) => ({
    as: n1,
    method: "POST",
    path: `${team}/pods?dryRun=All`,
    body: mirrorPod(uid, spec),
  });
}

export function get(path: string): () => Attack {
  return () => ({ as: n1, method: "GET", path });
}

export const mergePatch = "application/merge-patch+json";

export function patch(path: string, body: object): () => Attack {
  return () => ({ as: n1, method: "PATCH", path, body, type: mergePatch });
}

/** n1 asks for a token of account `app`. */
export function askToken(
  audiences: readonly string[],
  pod: (uid: Known) => object = (uid) => ({ name: "mine", uid: uid("pods/mine") }),
): (uid: Known) => Attack {
  return (uid) => ({
    as: n1,
    method: "POST",
    path: `${team}/serviceaccounts/app/token`,
    body: {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { audiences, boundObjectRef: { apiVersion: "v1", kind: "Pod", ...pod(uid) } },
    },
  });
}
