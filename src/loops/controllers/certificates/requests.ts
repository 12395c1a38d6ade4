/**
 * Reads certificate signing requests: their conditions, and the checks of upstream's signers with upstream's texts.
 * Pure.
 */
import type { CertificateSigningRequest } from "#api/gen/types.ts";
import type { RequestNames } from "./authority.ts";

export const signers = {
  client: "kubernetes.io/kube-apiserver-client",
  kubelet: "kubernetes.io/kube-apiserver-client-kubelet",
  serving: "kubernetes.io/kubelet-serving",
  /** Only requests stored by old versions can have this signer. */
  legacyUnknown: "kubernetes.io/legacy-unknown",
} as const;

export function hasCondition({ status }: CertificateSigningRequest, type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type) ?? false;
}

export function isIssued({ status }: CertificateSigningRequest): boolean {
  return (status?.certificate ?? "") !== "";
}

/** A request that may be signed: approved, not denied, not failed. */
export function isSignable(request: CertificateSigningRequest): boolean {
  const { conditions = [] } = request.status ?? {};
  const isFailed = conditions.some(
    ({ type, status }) => type === "Failed" && (status === "" || status === "True"),
  );
  return hasCondition(request, "Approved") && !hasCondition(request, "Denied") && !isFailed;
}

/** Why the signer refuses a request; undefined: it does not. */
export function signerFault(
  signerName: string,
  names: RequestNames,
  usages: readonly string[],
): string | undefined {
  switch (signerName) {
    case signers.client:
      return clientFault(usages);
    case signers.kubelet:
      return kubeletClientFault(names, usages);
    case signers.serving:
      return kubeletServingFault(names, usages);
    default:
      return undefined;
  }
}

export function isSigner(signerName: string): boolean {
  return Object.values<string>(signers).includes(signerName);
}

function clientFault(usages: readonly string[]): string | undefined {
  const other = usages.find((usage) => !clientUsages.includes(usage));
  if (other !== undefined) return `invalid usage for client certificate: ${other}`;
  return usages.includes("client auth")
    ? undefined
    : "missing required usage for client certificate: client auth";
}

const clientUsages = ["digital signature", "key encipherment", "client auth"];

export function kubeletClientFault(
  names: RequestNames,
  usages: readonly string[],
): string | undefined {
  if (!isOfNodes(names)) return notOfNodes;
  if (names.dnsNames > 0) return "DNS subjectAltNames are not allowed";
  if (names.emails > 0) return "Email subjectAltNames are not allowed";
  if (names.addresses > 0) return "IP subjectAltNames are not allowed";
  if (names.uris > 0) return "URI subjectAltNames are not allowed";
  return nameFault(names) ?? usagesFault("client auth", usages);
}

function kubeletServingFault(names: RequestNames, usages: readonly string[]): string | undefined {
  if (!isOfNodes(names)) return notOfNodes;
  if (names.dnsNames + names.addresses === 0) return "DNS or IP subjectAltName is required";
  if (names.emails > 0) return "Email subjectAltNames are not allowed";
  if (names.uris > 0) return "URI subjectAltNames are not allowed";
  return usagesFault("server auth", usages) ?? nameFault(names);
}

const notOfNodes = "subject organization is not system:nodes";

function isOfNodes({ organizations }: RequestNames): boolean {
  return organizations.length === 1 && organizations[0] === "system:nodes";
}

function nameFault({ commonName }: RequestNames): string | undefined {
  if (commonName.startsWith("system:node:")) return undefined;
  return "subject common name does not begin with system:node:";
}

/** Digital signature and `own` are required; key encipherment, which RSA keys need, is optional. */
function usagesFault(own: string, usages: readonly string[]): string | undefined {
  const required = ["digital signature", "key encipherment", own].toSorted();
  const given = new Set([...usages, "key encipherment"]);
  const isSame = given.size === required.length && required.every((usage) => given.has(usage));
  return isSame ? undefined : `usages did not match [${required.join(" ")}]`;
}
