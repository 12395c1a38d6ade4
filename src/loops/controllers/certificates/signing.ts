/**
 * Signs approved certificate requests of the four signers of kubernetes.io, or gives the reason in condition Failed.
 * Requests of other signers are ignored.
 *
 * Holds  only approved requests are signed, and signed requests are never changed.
 * After  upstream's csrsigning: upstream runs four loops of the same code, here there is one.
 */
import type { CertificateSigningRequest } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import type { WatchOptions } from "#client/sources.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { CertificateAuthority } from "./authority.ts";
import { lifetimeMs } from "./lifetime.ts";
import { isIssued, isSignable, isSigner, signerFault } from "./requests.ts";

export interface SigningOptions {
  readonly authority: CertificateAuthority;
  /** Maximum lifetime: upstream's --cluster-signing-duration. */
  readonly lifetimeMostMs: number;
}

export class CertificateSigningController implements ControllerOptions<CertificateSigningRequest> {
  readonly name = "certificatesigningrequest-signing-controller";
  readonly workers = 5;
  readonly ref = refs.certificatesigningrequests;
  readonly when: WatchOptions<CertificateSigningRequest>;
  readonly #deps: ControllerDeps;
  readonly #options: SigningOptions;

  constructor(deps: ControllerDeps, options: SigningOptions) {
    this.#deps = deps;
    this.#options = options;
    this.when = {
      on: ["add", "update"],
      only: ({ spec: { signerName } }) =>
        isSigner(signerName) && options.authority.serves(signerName),
    };
  }

  async reconcile({
    key: name,
    object: request,
  }: ReconcileRequest<CertificateSigningRequest>): Promise<void> {
    if (request === undefined || isIssued(request) || !isSignable(request)) return;
    const { spec, status } = request;
    const names = this.#options.authority.readRequest(spec.request);
    // Our server stores only readable requests; an unreadable one stored by another server is ignored.
    if ("fault" in names) throw new Error(`unable to parse csr "${name}": ${names.fault}`);
    const fault = signerFault(spec.signerName, names, spec.usages ?? []);
    const next =
      fault === undefined
        ? { ...status, certificate: this.#sign(request) }
        : { ...status, conditions: [...(status?.conditions ?? []), this.#failed(fault)] };
    const options = { subresource: "status" };
    const signed = { ...request, status: next };
    await this.#deps.client.update(refs.certificatesigningrequests, "", signed, options);
  }

  /** In the field's form: PEM in base64. */
  #sign({ spec }: CertificateSigningRequest): string {
    const { authority, lifetimeMostMs } = this.#options;
    const ttlMs = lifetimeMs(spec.expirationSeconds, lifetimeMostMs);
    const order = { signer: spec.signerName, usages: spec.usages ?? [], ttlMs };
    return btoa(authority.sign(spec.request, order));
  }

  #failed(message: string) {
    const lastUpdateTime = formatTime(this.#deps.clock.nowMs());
    const reason = "SignerValidationFailure";
    return { type: "Failed", status: "True", reason, message, lastUpdateTime };
  }
}
