/**
 * Certificate signing requests: the server records the requester, and refuses a signature that does not prove
 * possession of the key. Upstream does both in the storage of requests.
 *
 * CertificateSubjectRestriction  refuses requests for a client certificate of group system:masters.
 * CertificateApproval, -Signing  approving or signing a request needs verb `approve` or `sign` on its signer.
 * ClusterTrustBundleAttest       writing a bundle of a signer needs verb `attest` on that signer.
 * PodCertificateSigning          the same for pod certificate requests, in upstream's storage of these.
 */
import type { AnyObject } from "#api/object.ts";
import type { ApiError } from "#api/status.ts";
import { invalid } from "#api/status.ts";
import { semanticEqual } from "#api/validation/equal.ts";
import type { Fields } from "#api/validation/fields.ts";
import { items, part, text, without } from "#api/validation/fields.ts";
import type { Access } from "./access.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import type { ReadCertificateRequest } from "./certificate-reader.ts";
import { isResource, isSubresource, quote, forbiddenError } from "./request.ts";

const group = "certificates.k8s.io";
const resource = "certificatesigningrequests";
const clientSigner = "kubernetes.io/kube-apiserver-client";
const mastersGroup = "system:masters";

interface Reader {
  readonly readCertificateRequest: ReadCertificateRequest;
}

/** Runs after every plugin that may change a request, because only the server may set the requester. */
export const certificateRequester: AdmissionPlugin = {
  name: "CertificateRequester",
  mutate(request: AdmissionRequest): AnyObject {
    const { object = {}, user } = request;
    if (!isNewRequest(request)) return object;
    const asked = without(part(object, "spec"), ["username", "uid", "groups", "extra"]);
    const { uid = "", extra = {} } = user;
    const spec = {
      ...asked,
      username: user.name,
      ...(uid === "" ? {} : { uid }),
      ...(user.groups.length === 0 ? {} : { groups: user.groups }),
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    };
    return { ...object, spec };
  },
};

/** Runs before the other validations of requests, because upstream's strategy reports these errors first. */
export function certificateProof(deps: Reader): AdmissionPlugin {
  return {
    name: "CertificateProof",
    validate(request: AdmissionRequest): void {
      if (!isNewRequest(request)) return;
      const value = text(part(request.object ?? {}, "spec"), "request");
      const result = deps.readCertificateRequest(value);
      const fault =
        result.kind === "unreadable" ? result.fault : (result.facts.signatureFault() ?? "");
      if (fault !== "") throw requestFault(request, value, fault);
    },
  };
}

function isNewRequest(request: AdmissionRequest): boolean {
  return request.operation === "CREATE" && isResource(request, group, resource);
}

function requestFault(request: AdmissionRequest, value: string, fault: string): ApiError {
  const kind = { group, kind: "CertificateSigningRequest" };
  const message = `Invalid value: ${quote(value)}: ${fault}`;
  const name = request.object?.metadata?.name ?? request.name;
  return invalid(kind, name, [{ reason: "FieldValueInvalid", field: "spec.request", message }]);
}

export function certificateSubjectRestriction(deps: Reader): AdmissionPlugin {
  return {
    name: "CertificateSubjectRestriction",
    validate(request: AdmissionRequest): void {
      if (!isNewRequest(request)) return;
      const spec = part(request.object ?? {}, "spec");
      if (text(spec, "signerName") !== clientSigner) return;
      const result = deps.readCertificateRequest(text(spec, "request"));
      if (result.kind === "unreadable") {
        throw forbiddenError(request, `failed to parse CSR: ${result.fault}`);
      }
      if (!result.facts.organizations.includes(mastersGroup)) return;
      throw forbiddenError(
        request,
        `use of ${clientSigner} signer with ${mastersGroup} group is not allowed`,
      );
    },
  };
}

export function certificateApproval(deps: { readonly access: Access }): AdmissionPlugin {
  return {
    name: "CertificateApproval",
    validate(request: AdmissionRequest): void | Promise<void> {
      if (!isSubresource(request, group, resource, "approval")) return;
      return requireSigner(deps.access, request, "approve");
    },
  };
}

export function certificateSigning(deps: { readonly access: Access }): AdmissionPlugin {
  return {
    name: "CertificateSigning",
    validate(request: AdmissionRequest): void | Promise<void> {
      if (!isSubresource(request, group, resource, "status")) return;
      const next = part(request.object ?? {}, "status");
      const old = part(request.oldObject ?? {}, "status");
      const signs =
        text(next, "certificate") !== text(old, "certificate") ||
        !semanticEqual(items(next, "conditions"), items(old, "conditions"));
      return signs ? requireSigner(deps.access, request, "sign") : undefined;
    },
  };
}

/** Checks the signer of the stored request, because the new one might name a signer that the user is allowed to use. */
async function requireSigner(
  access: Access,
  request: AdmissionRequest,
  verb: "approve" | "sign",
): Promise<void> {
  const signer = signerOf(request.oldObject);
  if (await mayUseSigner(access, request, verb, signer)) return;
  throw forbiddenError(
    request,
    `user not permitted to ${verb} requests with signerName ${quote(signer)}`,
  );
}

function signerOf(object: AnyObject | undefined): string {
  return text(part(object ?? {}, "spec"), "signerName");
}

/** Whether the user has the right to a signer, or to all signers of its domain: `example.com/*`. */
async function mayUseSigner(
  access: Access,
  request: AdmissionRequest,
  verb: string,
  signer: string,
): Promise<boolean> {
  const asked = { user: request.user, verb, group, resource: "signers", namespace: "" };
  if (await access.isAllowed({ ...asked, name: signer })) return true;
  return access.isAllowed({ ...asked, name: `${signer.split("/")[0] ?? ""}/*` });
}

export function clusterTrustBundleAttest(deps: { readonly access: Access }): AdmissionPlugin {
  return {
    name: "ClusterTrustBundleAttest",
    validate(request: AdmissionRequest): void | Promise<void> {
      const { operation, object, oldObject } = request;
      if (operation !== "CREATE" && operation !== "UPDATE") return;
      if (!isResource(request, group, "clustertrustbundles")) return;
      const signer = signerOf(object);
      if (signer === "") return;
      if (operation === "UPDATE" && changesOwnershipOnly(object ?? {}, oldObject ?? {})) return;
      return requireAttestation(deps.access, request, signer);
    },
  };
}

async function requireAttestation(
  access: Access,
  request: AdmissionRequest,
  signer: string,
): Promise<void> {
  if (await mayUseSigner(access, request, "attest", signer)) return;
  throw forbiddenError(request, `user not permitted to attest for signerName ${quote(signer)}`);
}

/** Whether an update is the garbage collector's, or changes nothing. */
function changesOwnershipOnly(next: AnyObject, old: AnyObject): boolean {
  return semanticEqual(withoutOwnership(next), withoutOwnership(old));
}

const ownership = ["ownerReferences", "finalizers", "managedFields", "resourceVersion"];

function withoutOwnership(object: AnyObject): Fields {
  return { ...object, metadata: without(part(object, "metadata"), ownership) };
}

export function podCertificateSigning(deps: { readonly access: Access }): AdmissionPlugin {
  return {
    name: "PodCertificateSigning",
    validate(request: AdmissionRequest): void | Promise<void> {
      const { object, oldObject } = request;
      if (!isSubresource(request, group, "podcertificaterequests", "status")) return;
      if (semanticEqual(part(object ?? {}, "status"), part(oldObject ?? {}, "status"))) return;
      return requirePodSigner(deps.access, request);
    },
  };
}

async function requirePodSigner(access: Access, request: AdmissionRequest): Promise<void> {
  const { oldObject, user } = request;
  const signer = signerOf(oldObject);
  if (await mayUseSigner(access, request, "sign", signer)) return;
  const kind = { group, kind: "PodCertificateRequest" };
  const message = `Forbidden: User ${quote(user.name)} is not permitted to "sign" for signer ${quote(signer)}`;
  throw invalid(kind, oldObject?.metadata?.name ?? request.name, [
    { reason: "FieldValueForbidden", field: "spec.signerName", message },
  ]);
}
