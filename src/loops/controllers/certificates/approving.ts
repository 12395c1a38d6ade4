/**
 * Approves requests of kubelets for client certificates if the requester has the right: a node for itself
 * (`selfnodeclient`), a bootstrap token or an operator's account for any node (`nodeclient`).
 *
 * Holds  every approval needs a SubjectAccessReview of the requester that the server recorded.
 * After  upstream's csrapproving. As in upstream, serving certificates are never approved here.
 */
import type { CertificateSigningRequest } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { parseTime } from "#api/values/time.ts";
import { given } from "#base/given.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { CertificateAuthority, RequestNames } from "./authority.ts";
import { hasCondition, isIssued, kubeletClientFault, signers } from "./requests.ts";

/** A requester without the right is checked again after the request's age, within these bounds. */
const againFirstMs = 200;
const againMostMs = 1_000_000;

interface Right {
  readonly subresource: "selfnodeclient" | "nodeclient";
  readonly message: string;
}

const selfRight: Right = {
  subresource: "selfnodeclient",
  message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
};
const nodeRight: Right = {
  subresource: "nodeclient",
  message: "Auto approving kubelet client certificate after SubjectAccessReview.",
};

type Review = KubeObject & { readonly status?: { readonly allowed?: boolean } };

export class CertificateApprovingController implements ControllerOptions<CertificateSigningRequest> {
  readonly name = "certificatesigningrequest-approving-controller";
  readonly workers = 5;
  readonly ref = refs.certificatesigningrequests;
  readonly when = { on: ["add", "update"] } as const;
  readonly #deps: ControllerDeps;
  readonly #authority: CertificateAuthority;

  constructor(deps: ControllerDeps, authority: CertificateAuthority) {
    this.#deps = deps;
    this.#authority = authority;
  }

  async reconcile({
    object: request,
  }: ReconcileRequest<CertificateSigningRequest>): Promise<ReconcileResult> {
    if (request === undefined || isIssued(request)) return undefined;
    if (hasCondition(request, "Approved") || hasCondition(request, "Denied")) return undefined;
    const rights = this.#rightsFor(request);
    for (const right of rights) {
      if (await this.#isAllowed(request, right)) return this.#approve(request, right);
    }
    return rights.length === 0 ? undefined : { requeueAfterMs: this.#againMs(request) };
  }

  /** Empty: not a kubelet's request for a client certificate. */
  #rightsFor({ spec }: CertificateSigningRequest): readonly Right[] {
    if (spec.signerName !== signers.kubelet) return [];
    const names = this.#authority.readRequest(spec.request);
    return "fault" in names ? [] : rightsFor(names, spec.usages ?? [], spec.username ?? "");
  }

  async #isAllowed({ spec }: CertificateSigningRequest, right: Right): Promise<boolean> {
    const { username = "", uid, groups = [], extra } = spec;
    const review: KubeObject & { readonly spec: object } = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: {
        user: username,
        groups,
        ...given({ uid, extra }),
        resourceAttributes: {
          group: "certificates.k8s.io",
          version: "*",
          resource: "certificatesigningrequests",
          subresource: right.subresource,
          verb: "create",
        },
      },
    };
    const answer: Review = await this.#deps.client.create<Review>(
      refs.subjectaccessreviews,
      "",
      review,
    );
    return answer.status?.allowed === true;
  }

  async #approve(request: CertificateSigningRequest, { message }: Right): Promise<void> {
    const condition = { type: "Approved", status: "True", reason: "AutoApproved", message };
    const conditions = [...(request.status?.conditions ?? []), condition];
    const approved = { ...request, status: { ...request.status, conditions } };
    const options = { subresource: "approval" };
    await this.#deps.client.update(refs.certificatesigningrequests, "", approved, options);
  }

  #againMs({ metadata }: CertificateSigningRequest): number {
    const nowMs = this.#deps.clock.nowMs();
    const ageMs = nowMs - (parseTime(metadata?.creationTimestamp) ?? nowMs);
    return Math.min(Math.max(ageMs, againFirstMs), againMostMs);
  }
}

/** The rights that allow this certificate, in the order in which they are checked. */
export function rightsFor(
  names: RequestNames,
  usages: readonly string[],
  username: string,
): readonly Right[] {
  if (kubeletClientFault(names, usages) !== undefined) return [];
  return username === names.commonName ? [selfRight, nodeRight] : [nodeRight];
}
