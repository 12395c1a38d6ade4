/** What a node needs to join: a key with a request for it, a token, and the objects `kubeadm init` would make. */
import { createPrivateKey, sign } from "node:crypto";
import { request } from "node:https";
import type { CertificateSigningRequest, ConfigMap } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { der, derBitString, derInteger, derOid, derText, Tag } from "#auth/der.ts";
import { makeKeyPair, pemBlock } from "#auth/pki.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { refs } from "#controllers/framework/refs.ts";

export interface AskedNames {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
}

export interface KeyedRequest {
  /** spec.request. */
  readonly request: string;
  readonly privateKey: string;
}

export function keyedRequest(names: AskedNames): KeyedRequest {
  const { privateKey, publicKey } = makeKeyPair();
  const info = der(
    Tag.sequence,
    derInteger(Uint8Array.of(0)),
    subject(names),
    Buffer.from(publicKey.replace(/-----[^-]+-----/g, ""), "base64"),
    der(0xa0, ...alternatives(names.dnsNames ?? [])),
  );
  const bits = derBitString(sign("sha256", info, createPrivateKey(privateKey)));
  const algorithm = der(Tag.sequence, derOid("1.2.840.10045.4.3.2"));
  const pem = pemBlock("CERTIFICATE REQUEST", der(Tag.sequence, info, algorithm, bits));
  return { request: Buffer.from(pem).toString("base64"), privateKey };
}

function subject({ commonName, organizations = ["system:nodes"] }: AskedNames): Uint8Array {
  const attribute = (oid: string, text: string): Uint8Array =>
    der(Tag.set, der(Tag.sequence, derOid(oid), derText(text)));
  const groups = organizations.map((name) => attribute("2.5.4.10", name));
  return der(Tag.sequence, ...groups, attribute("2.5.4.3", commonName));
}

function alternatives(dnsNames: readonly string[]): readonly Uint8Array[] {
  if (dnsNames.length === 0) return [];
  const names = der(Tag.sequence, ...dnsNames.map((name) => der(0x82, Buffer.from(name))));
  const extension = der(Tag.sequence, derOid("2.5.29.17"), der(Tag.octetString, names));
  const extensions = der(Tag.set, der(Tag.sequence, extension));
  return [der(Tag.sequence, derOid("1.2.840.113549.1.9.14"), extensions)];
}

export const clientUsages = ["digital signature", "client auth"];
export const servingUsages = ["digital signature", "server auth"];

export function signingRequest(
  name: string,
  keyed: KeyedRequest,
  spec: { readonly signerName?: string; readonly usages?: readonly string[] } = {},
): CertificateSigningRequest {
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name },
    spec: {
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: clientUsages,
      ...spec,
      request: keyed.request,
    },
  };
}

/** Of `kubeadm token create`, ours ends when it says, or never. */
export function tokenSecret(id: string, more: Readonly<Record<string, string>> = {}): KubeObject {
  const stringData = {
    "token-id": id,
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    "usage-bootstrap-signing": "true",
    "auth-extra-groups": joiners,
    ...more,
  };
  const metadata = { name: `bootstrap-token-${id}`, namespace: "kube-system" };
  const secret = { apiVersion: "v1", kind: "Secret", type: "bootstrap.kubernetes.io/token" };
  return { ...secret, metadata, stringData } as KubeObject;
}

const joiners = "system:bootstrappers:kubeadm:default-node-token";
const rbac = (resource: string): ResourceRef => ({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  resource,
});
const approver = "system:certificates.k8s.io:certificatesigningrequests";

/** The bindings and cluster-info of `kubeadm init`. */
export async function prepareToJoin(client: Client, kubeconfig: string): Promise<void> {
  const bindings = [
    ["kubelet-bootstrap", "system:node-bootstrapper", joiners],
    ["node-autoapprove-bootstrap", `${approver}:nodeclient`, joiners],
    ["node-autoapprove-rotation", `${approver}:selfnodeclient`, "system:nodes"],
  ] as const;
  for (const [name, role, group] of bindings) {
    const binding = { metadata: { name }, ...roleOf("ClusterRole", role), ...groupOf(group) };
    await client.create(rbac("clusterrolebindings"), "", binding as KubeObject);
  }
  const name = "cluster-info";
  const rule = {
    apiGroups: [""],
    resources: ["configmaps"],
    resourceNames: [name],
    verbs: ["get"],
  };
  const role = { metadata: { name }, rules: [rule] } as KubeObject;
  await client.create(rbac("roles"), "kube-public", role);
  const reader = {
    metadata: { name },
    ...roleOf("Role", name),
    ...groupOf("system:unauthenticated"),
  };
  await client.create(rbac("rolebindings"), "kube-public", reader as KubeObject);
  const map: ConfigMap = { metadata: { name, namespace: "kube-public" }, data: { kubeconfig } };
  await client.create(refs.configmaps, "kube-public", map);
}

function roleOf(kind: string, name: string) {
  return { roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name } };
}

function groupOf(name: string) {
  return { subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name }] };
}

/** Watches an object until `isDone`; resolves to it as it is then. */
export async function untilObject<T extends KubeObject>(
  client: Client,
  ref: ResourceRef,
  namespace: string,
  name: string,
  isDone: (object: T) => boolean,
): Promise<T> {
  const fieldSelector = `metadata.name=${name}`;
  const { items, metadata } = await client.list<T>(ref, { namespace, fieldSelector });
  let found = items.find(isDone);
  const { resourceVersion = "" } = metadata;
  while (found === undefined) {
    const done = new AbortController();
    const call = { namespace, fieldSelector, resourceVersion, signal: done.signal };
    await client.watch<T>(ref, call, (events) => {
      found ??= events.map(({ object }) => object).find(isDone);
      if (found !== undefined) done.abort();
    });
  }
  return found;
}

export interface Credentials {
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

export interface JoinAnswer {
  readonly status: number;
  readonly message: string;
  readonly body: KubeObject;
}

/** A request with these credentials, or none. */
export function askAs(
  url: string,
  { cert, key, token }: Credentials,
  method: string,
  path: string,
  body?: object,
): Promise<JoinAnswer> {
  const headers = {
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const options = { method, headers, cert, key, rejectUnauthorized: false, agent: false } as const;
  return new Promise((resolve, reject) => {
    const call = request(url + path, options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("error", reject);
      response.on("end", () => {
        const parsed = JSON.parse(text) as KubeObject & { readonly message?: string };
        const { message = "" } = parsed;
        resolve({ status: response.statusCode ?? 0, message, body: parsed });
      });
    });
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
