/**
 * Certificate signing requests: who asked is noted. CertificateApproval and CertificateSigning: who approves or signs a request must have verb `approve`
 * or `sign` on its signer.
 */
import type { AnyObject } from "#api/object.ts";
import type { CertificateSigningRequest } from "#api/gen/types.ts";
import type { Access } from "./access.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isSubresource, quote, refusal } from "./request.ts";

const group = "certificates.k8s.io";

/**
 * Who asks for a certificate is written down by the server, not by the asker (upstream does it in the
 * storage of requests): spec.username, uid, groups and extra of a new request.
 */
export const certificateRequester: AdmissionPlugin = {
  name: "CertificateRequester",
  mutate(request: AdmissionRequest): AnyObject {
    const { object = {}, operation, subresource, info, user } = request;
    const isNew = operation === "CREATE" && subresource === "";
    if (!isNew || info.group !== group || info.resource !== "certificatesigningrequests")
      return object;
    const { uid, extra } = user;
    const asked = object["spec"] as CertificateSigningRequest["spec"];
    const spec = {
      ...asked,
      username: user.name,
      groups: user.groups,
      ...(uid === undefined ? {} : { uid }),
      ...(extra === undefined ? {} : { extra }),
    };
    return { ...object, spec };
  },
};

export function certificateApproval(deps: { readonly access: Access }): AdmissionPlugin {
  return {
    name: "CertificateApproval",
    validate(request: AdmissionRequest): void {
      if (!isSubresource(request, group, "certificatesigningrequests", "approval")) return;
      requireSigner(deps.access, request, "approve");
    },
  };
}

export function certificateSigning(deps: { readonly access: Access }): AdmissionPlugin {
  return {
    name: "CertificateSigning",
    validate(request: AdmissionRequest): void {
      if (!isSubresource(request, group, "certificatesigningrequests", "status")) return;
      const next = statusOf(request.object);
      const old = statusOf(request.oldObject);
      const signs =
        next?.certificate !== old?.certificate ||
        JSON.stringify(next?.conditions ?? []) !== JSON.stringify(old?.conditions ?? []);
      if (signs) requireSigner(deps.access, request, "sign");
    },
  };
}

function statusOf(object: AdmissionRequest["object"]) {
  return (object as unknown as CertificateSigningRequest | undefined)?.status;
}

/** Asked of the stored request: the new one could name a signer its sender may use. */
function requireSigner(access: Access, request: AdmissionRequest, verb: "approve" | "sign"): void {
  const stored = request.oldObject as unknown as CertificateSigningRequest | undefined;
  const signer = stored?.spec?.signerName ?? "";
  const domain = `${signer.split("/")[0] ?? ""}/*`;
  const may = [signer, domain].some((name) =>
    access.allowed({ user: request.user, verb, group, resource: "signers", namespace: "", name }),
  );
  if (may) return;
  throw refusal(request, `user not permitted to ${verb} requests with signerName ${quote(signer)}`);
}
