/** Certificate requests for tests, and a fake authority. */
import type { CertificateSigningRequest } from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import type { CertificateAuthority, RequestNames } from "../certificates/authority.ts";

export const nodeNames: RequestNames = {
  commonName: "system:node:n1",
  organizations: ["system:nodes"],
  dnsNames: 0,
  emails: 0,
  addresses: 0,
  uris: 0,
};

export const clientUsages = ["digital signature", "client auth"];

/** `names`: the names in every request; a signature is its order as text. */
export function fakeAuthority(names: RequestNames | { readonly fault: string } = nodeNames) {
  const orders: string[] = [];
  const authority: CertificateAuthority = {
    readRequest: () => names,
    serves: () => true,
    sign(request, { usages, ttlMs }) {
      orders.push(`${request} ${usages.join(",")} ${ttlMs}`);
      return `signed ${request}`;
    },
    endMs: (certificate) => Date.parse(certificate),
  };
  return { authority, orders };
}

type Conditions = NonNullable<CertificateSigningRequest["status"]>["conditions"];

export function condition(type: string, lastUpdateTime?: string) {
  const at = given({ lastUpdateTime });
  return { type, status: "True", reason: "r", message: "m", ...at };
}

export function signingRequest(
  name: string,
  fields: {
    readonly signerName?: string;
    readonly username?: string;
    readonly usages?: readonly string[];
    readonly expirationSeconds?: number;
    readonly created?: string;
    readonly certificate?: string;
    readonly conditions?: Conditions;
  } = {},
): CertificateSigningRequest {
  const { created, certificate, conditions, ...spec } = fields;
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name, uid: name, ...given({ creationTimestamp: created }) },
    spec: {
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      request: name,
      usages: clientUsages,
      username: "system:bootstrap:abcdef",
      groups: ["system:bootstrappers"],
      ...spec,
    },
    status: {
      ...given({ conditions }),
      ...(certificate === undefined ? {} : { certificate: btoa(certificate) }),
    },
  };
}
