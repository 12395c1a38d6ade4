/** What asks for certificates it must not get. The answers of stock 1.36.3 are in answers/certificates.json. */
import type { Attack } from "./attacked-plane.ts";
import { makeAuthority } from "#auth/pki.ts";
import { certificateRequest, pem } from "./certificate-requests.ts";
import type { TitledAttack } from "./recorded.ts";

/** May create, approve and write status of requests; signs for nobody. */
export const requester = { name: "mallory", groups: ["devs"], uid: "mallory-uid" };
export const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const bundles = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles";
export const clientSigner = "kubernetes.io/kube-apiserver-client";
export const ownSigner = "example.com/own";

export function requestBody(name: string, spec: object): object {
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name },
    spec: {
      signerName: ownSigner,
      request: certificateRequest({ commonName: "mallory" }),
      usages: ["client auth"],
      ...spec,
    },
  };
}

const role = (name: string, rules: readonly object[]): object => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name },
  rules,
});
const group = "certificates.k8s.io";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

export const certificateWorld = [
  {
    path: `${rbac}/clusterroles`,
    body: role("requester", [
      {
        apiGroups: [group],
        resources: [
          "certificatesigningrequests",
          "certificatesigningrequests/approval",
          "certificatesigningrequests/status",
          "clustertrustbundles",
        ],
        verbs: ["*"],
      },
      {
        apiGroups: [group],
        resources: ["signers"],
        resourceNames: ["granted.com/*"],
        verbs: ["*"],
      },
    ]),
  },
  {
    path: `${rbac}/clusterrolebindings`,
    body: {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "requester" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "requester" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "mallory" }],
    },
  },
  { path: requests, body: requestBody("stored", {}) },
  { path: requests, body: requestBody("granted", { signerName: "granted.com/a" }) },
];

const create =
  (spec: object): (() => Attack) =>
  () => ({
    as: requester,
    method: "POST",
    path: `${requests}?dryRun=All`,
    body: requestBody("attack", spec),
  });
const strategic = "application/strategic-merge-patch+json";
const patch =
  (path: string, body: object): (() => Attack) =>
  () => ({
    as: requester,
    method: "PATCH",
    path: `${requests}/${path}`,
    body,
    type: strategic,
  });
const condition = (type: string, status = "True"): object => ({
  status: { conditions: [{ type, status, reason: "r", message: "m" }] },
});
const certificate = Buffer.from("no certificate").toString("base64");
/** What upstream asks of a trust anchor: a certificate of an authority. */
const authority = makeAuthority("root", {
  validity: { notBeforeMs: 0, notAfterMs: 4e12 },
  serial: new Uint8Array(16).fill(1),
}).certificate;
const bundle = (name: string, signerName: string): object => ({
  apiVersion: "certificates.k8s.io/v1beta1",
  kind: "ClusterTrustBundle",
  metadata: { name },
  spec: { signerName, trustBundle: authority },
});

const masters = (signerName: string, commonName = "mallory"): object => ({
  signerName,
  request: certificateRequest({ commonName, organizations: ["devs", "system:masters"] }),
});

export const certificateCases: readonly TitledAttack[] = [
  { title: "system:masters of the client signer", attack: create(masters(clientSigner)) },
  { title: "system:masters of another signer", attack: create(masters(ownSigner)) },
  {
    title: "another user of the client signer",
    attack: create({
      signerName: clientSigner,
      request: certificateRequest({ commonName: "root", organizations: ["system:nodes"] }),
    }),
  },
  { title: "no signer", attack: create({ signerName: "" }) },
  { title: "a signer without a path", attack: create({ signerName: "example.com" }) },
  { title: "a signer without a domain", attack: create({ signerName: "local/own" }) },
  { title: "a signer of capitals", attack: create({ signerName: "example.com/Own" }) },
  { title: "the signer of old", attack: create({ signerName: "kubernetes.io/legacy-unknown" }) },
  { title: "no usages", attack: create({ usages: [] }) },
  { title: "usages twice", attack: create({ usages: ["client auth", "client auth"] }) },
  { title: "too short", attack: create({ expirationSeconds: 599 }) },
  { title: "approves what it may not", attack: patch("stored/approval", condition("Approved")) },
  { title: "denies what it may not", attack: patch("stored/approval", condition("Denied")) },
  { title: "approves through status", attack: patch("granted/status", condition("Approved")) },
  { title: "approves through the request", attack: patch("granted", condition("Approved")) },
  {
    title: "signs what it may not",
    attack: patch("stored/status", { status: { certificate } }),
  },
  {
    title: "fails what it may not",
    attack: patch("stored/status", condition("Failed")),
  },
  {
    title: "signs through approval",
    attack: patch("granted/approval", { status: { certificate } }),
  },
  {
    title: "signs with no certificate",
    attack: patch("granted/status", { status: { certificate } }),
  },
  {
    title: "signs with no PEM certificate block",
    attack: patch("granted/status", {
      status: { certificate: pem("PRIVATE KEY", Uint8Array.of(48, 0)) },
    }),
  },
  {
    title: "approves as false",
    attack: patch("granted/approval", condition("Approved", "False")),
  },
  {
    title: "approves and denies",
    attack: patch("granted/approval?dryRun=All", {
      status: {
        conditions: [
          { type: "Approved", status: "True" },
          { type: "Denied", status: "True" },
        ],
      },
    }),
  },
  { title: "approves what it may", attack: patch("granted/approval", condition("Approved")) },
  {
    title: "takes an approval back",
    attack: () => ({
      as: requester,
      method: "PATCH",
      path: `${requests}/granted/approval`,
      body: { status: { conditions: [] } },
      type: "application/merge-patch+json",
    }),
  },
  {
    title: "denies what is approved",
    attack: patch("granted/approval", condition("Denied")),
  },
  {
    title: "a bundle of another name than its signer's",
    attack: () => ({
      as: requester,
      method: "POST",
      path: `${bundles}?dryRun=All`,
      body: bundle("b", "granted.com/a"),
    }),
  },
  {
    title: "attests for a signer it may",
    attack: () => ({
      as: requester,
      method: "POST",
      path: `${bundles}?dryRun=All`,
      body: bundle("granted.com:a:b", "granted.com/a"),
    }),
  },
  {
    title: "attests for a signer it may not",
    attack: () => ({
      as: requester,
      method: "POST",
      path: `${bundles}?dryRun=All`,
      body: bundle("example.com:own:b", ownSigner),
    }),
  },
];
