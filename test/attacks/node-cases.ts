/** What a compromised node tries. The answers of stock 1.36.3 are in answers/nodes.json. */
import { certificateRequest } from "./certificate-requests.ts";
import type { Attack } from "./attacked-plane.ts";
import {
  askToken,
  createMirror,
  get,
  mergePatch,
  mirrorAnnotation,
  mirrorPod,
  n1,
  patch,
  team,
} from "./node-world.ts";
import type { Known, TitledAttack } from "./recorded.ts";

const volume = (source: object): ((uid: Known) => Attack) =>
  createMirror({ volumes: [{ name: "v", ...source }] });
const container = (more: object): object => ({ name: "c", image: "i", ...more });

export const mirrorCases: readonly TitledAttack[] = [
  { title: "nothing", attack: createMirror({}) },
  { title: "a host path", attack: volume({ hostPath: { path: "/" } }) },
  {
    title: "a secret through a CSI volume",
    attack: volume({ csi: { driver: "d.example.com", nodePublishSecretRef: { name: "crown" } } }),
  },
  { title: "an inline CSI volume", attack: volume({ csi: { driver: "d.example.com" } }) },
  {
    title: "a config map through envFrom",
    attack: createMirror({
      containers: [container({ envFrom: [{ configMapRef: { name: "c" } }] })],
    }),
  },
  {
    title: "a secret through the env of an init container",
    attack: createMirror({
      initContainers: [
        container({
          name: "i",
          env: [{ name: "E", valueFrom: { secretKeyRef: { name: "crown", key: "k" } } }],
        }),
      ],
    }),
  },
  {
    title: "an image pull secret",
    attack: createMirror({ imagePullSecrets: [{ name: "crown" }] }),
  },
  { title: "a service account", attack: createMirror({ serviceAccountName: "admin" }) },
  {
    title: "a service account by its old field",
    attack: createMirror({ serviceAccount: "admin" }),
  },
  {
    title: "a claim",
    attack: volume({ persistentVolumeClaim: { claimName: "theirs" } }),
  },
  {
    title: "an ephemeral volume",
    attack: volume({
      ephemeral: {
        volumeClaimTemplate: {
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      },
    }),
  },
  {
    title: "a resource claim",
    attack: createMirror({ resourceClaims: [{ name: "r", resourceClaimName: "theirs" }] }),
  },
  {
    title: "a trust bundle",
    attack: volume({
      projected: { sources: [{ clusterTrustBundle: { name: "b", path: "p" } }] },
    }),
  },
  {
    title: "a pod certificate",
    attack: volume({
      projected: {
        sources: [
          {
            podCertificate: {
              signerName: "e.com/s",
              keyType: "ED25519",
              credentialBundlePath: "b",
            },
          },
        ],
      },
    }),
  },
  {
    title: "a projected token",
    attack: volume({ projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }),
  },
  {
    title: "a projected secret",
    attack: volume({ projected: { sources: [{ secret: { name: "crown" } }] } }),
  },
  {
    title: "a config map volume without a name",
    attack: volume({ configMap: {} }),
  },
  {
    title: "a secret of a flex volume",
    attack: volume({ flexVolume: { driver: "d/x", secretRef: { name: "crown" } } }),
  },
  {
    title: "another node",
    attack: createMirror({ nodeName: "n2" }),
  },
];

const slices = "/apis/resource.k8s.io/v1/resourceslices";
const claims = "/apis/resource.k8s.io/v1/namespaces/team/resourceclaims";

export const readCases: readonly TitledAttack[] = [
  { title: "a secret its pod mounts", attack: get(`${team}/secrets/mounted`) },
  { title: "a secret no pod of it mounts", attack: get(`${team}/secrets/crown`) },
  { title: "all secrets", attack: get(`${team}/secrets`) },
  {
    title: "a list of the secret its pod mounts",
    attack: get(`${team}/secrets?fieldSelector=metadata.name%3Dmounted`),
  },
  {
    title: "a list of a secret no pod of it mounts",
    attack: get(`${team}/secrets?fieldSelector=metadata.name%3Dcrown`),
  },
  {
    title: "a list of all secrets but one",
    attack: get(`${team}/secrets?fieldSelector=metadata.name!%3Dmounted`),
  },
  { title: "all pods", attack: get("/api/v1/pods") },
  { title: "its pods by selector", attack: get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1") },
  {
    title: "pods of other nodes by selector",
    attack: get("/api/v1/pods?fieldSelector=spec.nodeName!%3Dn1"),
  },
  {
    title: "a config map a mirror pod names",
    attack: get(`${team}/configmaps/named-by-mirror`),
  },
  {
    title: "the secret of a volume its pod uses",
    attack: get("/api/v1/namespaces/storage/secrets/publish-mine"),
  },
  {
    title: "the secret of a foreign volume",
    attack: get("/api/v1/namespaces/storage/secrets/publish-theirs"),
  },
  {
    title: "a volume's secret for controllers",
    attack: get("/api/v1/namespaces/storage/secrets/controllers-only"),
  },
  { title: "its claim", attack: get(`${claims}/mine`) },
  { title: "a foreign resource claim", attack: get(`${claims}/theirs`) },
  { title: "all resource claims", attack: get(claims) },
  {
    title: "a resource claim's status",
    attack: patch(`${claims}/mine/status`, { status: {} }),
  },
  { title: "its own slice", attack: get(`${slices}/slice-n1`) },
  { title: "a foreign slice", attack: get(`${slices}/slice-n2`) },
  { title: "all slices", attack: get(slices) },
  {
    title: "its slices by selector",
    attack: get(`${slices}?fieldSelector=spec.nodeName%3Dn1`),
  },
  {
    title: "its attachment",
    attack: get("/apis/storage.k8s.io/v1/volumeattachments/va-n1"),
  },
  {
    title: "a foreign attachment",
    attack: get("/apis/storage.k8s.io/v1/volumeattachments/va-n2"),
  },
  { title: "the account of its pod", attack: get(`${team}/serviceaccounts/app`) },
  { title: "a foreign account", attack: get(`${team}/serviceaccounts/admin`) },
  {
    title: "all pod certificate requests",
    attack: get("/apis/certificates.k8s.io/v1beta1/podcertificaterequests"),
  },
  {
    title: "pod certificate requests by selector",
    attack: get(
      "/apis/certificates.k8s.io/v1beta1/podcertificaterequests?fieldSelector=spec.nodeName%3Dn1",
    ),
  },
];

const slice = (nodeName?: string): object => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceSlice",
  metadata: { name: "made" },
  spec: {
    driver: "gpus.example.com",
    ...(nodeName === undefined ? { allNodes: true } : { nodeName }),
    pool: { name: "p", generation: 1, resourceSliceCount: 1 },
    devices: [],
  },
});
const create =
  (path: string, body: object): (() => Attack) =>
  () => ({ as: n1, method: "POST", path: `${path}?dryRun=All`, body });
const remove =
  (path: string): (() => Attack) =>
  () => ({ as: n1, method: "DELETE", path });
const lease = (name: string): object => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name },
});
const csiNode = (name: string): object => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "CSINode",
  metadata: { name },
  spec: { drivers: [] },
});
const signingRequest = (signerName: string, commonName: string): object => ({
  apiVersion: "certificates.k8s.io/v1",
  kind: "CertificateSigningRequest",
  metadata: { name: "attack" },
  spec: {
    signerName,
    request: certificateRequest({ commonName, organizations: ["system:nodes"] }),
    usages: ["digital signature", "client auth"],
  },
});
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const kubeletClient = "kubernetes.io/kube-apiserver-client-kubelet";

export const writeCases: readonly TitledAttack[] = [
  { title: "deletes a foreign slice", attack: remove(`${slices}/slice-n2`) },
  { title: "deletes all slices", attack: remove(slices) },
  {
    title: "deletes slices of another node by selector",
    attack: remove(`${slices}?fieldSelector=spec.nodeName%3Dn2`),
  },
  { title: "makes a slice of another node", attack: create(slices, slice("n2")) },
  { title: "makes a slice of all nodes", attack: create(slices, slice()) },
  { title: "makes a slice of its own", attack: create(slices, slice("n1")) },
  {
    title: "patches a foreign slice",
    attack: patch(`${slices}/slice-n2`, { metadata: { labels: { a: "b" } } }),
  },
  {
    title: "asks for a client certificate of another node",
    attack: create(requests, signingRequest(kubeletClient, "system:node:n2")),
  },
  {
    title: "asks for a serving certificate of another node",
    attack: create(requests, signingRequest("kubernetes.io/kubelet-serving", "system:node:n2")),
  },
  {
    title: "asks for its own certificate",
    attack: create(requests, signingRequest(kubeletClient, "system:node:n1")),
  },
  {
    title: "makes another node's lease",
    attack: create("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", lease("n2")),
  },
  {
    title: "makes another node's CSINode",
    attack: create("/apis/storage.k8s.io/v1/csinodes", csiNode("n2")),
  },
  {
    title: "deletes another node's CSINode",
    attack: remove("/apis/storage.k8s.io/v1/csinodes/n2"),
  },
  { title: "deletes a foreign pod", attack: remove(`${team}/pods/theirs`) },
  {
    title: "evicts a foreign pod",
    attack: () => ({
      as: n1,
      method: "POST",
      path: `${team}/pods/theirs/eviction`,
      body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "theirs" } },
    }),
  },
  {
    title: "reports on a foreign pod",
    attack: patch(`${team}/pods/theirs/status`, { status: { reason: "x" } }),
  },
  {
    title: "changes labels through pod status",
    attack: patch(`${team}/pods/mine/status`, { metadata: { labels: { app: "evil" } } }),
  },
  {
    title: "takes the mirror mark off a pod",
    attack: patch(`${team}/pods/static/status`, {
      metadata: { annotations: { [mirrorAnnotation]: null } },
    }),
  },
  {
    title: "names resource claims in a pod's status",
    attack: patch(`${team}/pods/mine/status`, {
      status: { resourceClaimStatuses: [{ name: "gpu", resourceClaimName: "theirs" }] },
    }),
  },
  {
    title: "names an extended resource claim in a pod's status",
    attack: patch(`${team}/pods/mine/status`, {
      status: { extendedResourceClaimStatus: { resourceClaimName: "theirs", requestMappings: [] } },
    }),
  },
  {
    title: "updates a pod",
    attack: patch(`${team}/pods/mine`, { metadata: { labels: { a: "b" } } }),
  },
  {
    title: "adds an ephemeral container",
    attack: patch(`${team}/pods/mine/ephemeralcontainers`, {
      spec: { ephemeralContainers: [{ name: "e", image: "i" }] },
    }),
  },
  {
    title: "reports a claim's capacity",
    attack: patch(`${team}/persistentvolumeclaims/mine/status`, {
      status: { capacity: { storage: "2Gi" } },
    }),
  },
  {
    title: "reports on a foreign claim",
    attack: patch(`${team}/persistentvolumeclaims/theirs/status`, {
      status: { capacity: { storage: "2Gi" } },
    }),
  },
  {
    title: "taints its node",
    attack: patch("/api/v1/nodes/n1", {
      spec: { taints: [{ key: "k", effect: "NoExecute" }] },
    }),
  },
  {
    title: "labels its node",
    attack: patch("/api/v1/nodes/n1", {
      metadata: { labels: { "node-restriction.kubernetes.io/pci": "yes" } },
    }),
  },
  {
    title: "taints its node through status",
    attack: patch("/api/v1/nodes/n1/status", {
      spec: { taints: [{ key: "k", effect: "NoExecute" }] },
    }),
  },
  {
    title: "labels its node through status",
    attack: patch("/api/v1/nodes/n1/status", {
      metadata: { labels: { "node-role.kubernetes.io/control-plane": "" } },
    }),
  },
  {
    title: "makes another node",
    attack: create("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "n3" } }),
  },
  {
    title: "makes a node without a name",
    attack: create("/api/v1/nodes", {
      apiVersion: "v1",
      kind: "Node",
      metadata: { generateName: "n" },
    }),
  },
  {
    title: "gives its node an owner",
    attack: (uid) => ({
      as: n1,
      method: "PATCH",
      path: "/api/v1/nodes/n1",
      type: mergePatch,
      body: {
        metadata: {
          ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n2", uid: uid("nodes/n2") }],
        },
      },
    }),
  },
  {
    title: "sets its node's configSource",
    attack: patch("/api/v1/nodes/n1", {
      spec: {
        configSource: {
          configMap: { namespace: "team", name: "crown", kubeletConfigKey: "k" },
        },
      },
    }),
  },
  {
    title: "writes another node",
    attack: patch("/api/v1/nodes/n2/status", { status: { phase: "x" } }),
  },
  { title: "deletes its node", attack: remove("/api/v1/nodes/n1") },
  {
    title: "deletes its slices by selector",
    attack: remove(`${slices}?fieldSelector=spec.nodeName%3Dn1`),
  },
  {
    title: "a mirror pod with a foreign owner",
    attack: (uid) => {
      const pod = mirrorPod(uid, {}) as { metadata: { ownerReferences: object[] } };
      pod.metadata.ownerReferences = [
        { apiVersion: "v1", kind: "Node", name: "n1", uid: uid("nodes/n2"), controller: true },
      ];
      return { as: n1, method: "POST", path: `${team}/pods`, body: pod };
    },
  },
];

const podRequest =
  (over: (uid: Known) => object): ((uid: Known) => Attack) =>
  (uid) => ({
    as: n1,
    method: "POST",
    path: "/apis/certificates.k8s.io/v1beta1/namespaces/team/podcertificaterequests?dryRun=All",
    body: {
      apiVersion: "certificates.k8s.io/v1beta1",
      kind: "PodCertificateRequest",
      metadata: { name: "attack" },
      spec: {
        signerName: "e.com/s",
        podName: "mine",
        podUID: uid("pods/mine"),
        serviceAccountName: "app",
        serviceAccountUID: uid("serviceaccounts/app"),
        nodeName: "n1",
        nodeUID: uid("nodes/n1"),
        maxExpirationSeconds: 86400,
        pkixPublicKey: "eA==",
        proofOfPossession: "eA==",
        ...over(uid),
      },
    },
  });

export const credentialCases: readonly TitledAttack[] = [
  { title: "a token for an audience its pod mounts", attack: askToken(["vault"]) },
  { title: "a token for an audience of its pod's driver", attack: askToken(["disks"]) },
  { title: "a token for any audience", attack: askToken(["bank"]) },
  { title: "a token for the API server", attack: askToken([]) },
  { title: "a token for two audiences", attack: askToken(["vault", "bank"]) },
  {
    title: "a token bound to a pod that does not exist",
    attack: askToken(["vault"], (uid) => ({ name: "gone", uid: uid("pods/mine") })),
  },
  {
    title: "a token bound to a foreign pod",
    attack: askToken(["vault"], (uid) => ({ name: "theirs", uid: uid("pods/theirs") })),
  },
  {
    title: "a token bound to no uid",
    attack: askToken(["vault"], () => ({ name: "mine" })),
  },
  {
    title: "a token of a foreign account",
    attack: (uid) => ({
      ...askToken(["vault"])(uid),
      path: `${team}/serviceaccounts/admin/token`,
    }),
  },
  {
    title: "a pod certificate for another node",
    attack: podRequest((uid) => ({ nodeName: "n2", nodeUID: uid("nodes/n2") })),
  },
  {
    title: "a pod certificate for a foreign pod",
    attack: podRequest((uid) => ({
      podName: "theirs",
      podUID: uid("pods/theirs"),
      serviceAccountName: "admin",
      serviceAccountUID: uid("serviceaccounts/admin"),
    })),
  },
  {
    title: "a pod certificate for a foreign account",
    attack: podRequest((uid) => ({
      serviceAccountName: "admin",
      serviceAccountUID: uid("serviceaccounts/admin"),
    })),
  },
  {
    title: "a pod certificate for a mirror pod",
    attack: podRequest((uid) => ({ podName: "static", podUID: uid("pods/static") })),
  },
  {
    title: "a pod certificate with another node's uid",
    attack: podRequest((uid) => ({ nodeUID: uid("nodes/n2") })),
  },
  {
    title: "a pod certificate for a pod that does not exist",
    attack: podRequest(() => ({ podName: "gone" })),
  },
];
