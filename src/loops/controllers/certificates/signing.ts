/**
 * Signs approved certificate requests of the four signers of kubernetes.io, or says in condition Failed why
 * not. Requests of other signers are left alone.
 *
 * Holds  only what is approved is signed, and what is signed once is left as it is.
 * After  upstream's csrsigning: four loops of one code there, one here.
 */
import type { CertificateSigningRequest } from "#api/gen/types.ts";
import { formatTime } from "#api/time.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import type { Clock } from "#platform/clock.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { refs } from "../framework/refs.ts";
import type { CertificateAuthority } from "./authority.ts";
import { lifetimeMs } from "./lifetime.ts";
import { isIssued, isSignable, isSigner, signerFault } from "./requests.ts";

const workers = 5;

export interface SigningOptions {
  readonly authority: CertificateAuthority;
  /** The longest lifetime given; upstream's --cluster-signing-duration. */
  readonly lifetimeMostMs: number;
}

export class CertificateSigningController implements Controller {
  readonly name = "certificatesigningrequest-signing-controller";
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #options: SigningOptions;
  readonly #requests: Informer<CertificateSigningRequest>;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps, options: SigningOptions) {
    this.#client = deps.client;
    this.#clock = deps.clock;
    this.#options = options;
    this.#requests = deps.informers.informer<CertificateSigningRequest>(
      refs.certificatesigningrequests,
    );
    const { name } = this;
    this.#loop = queueController(deps, { name, workers }, (key) => this.#reconcile(key));
    const enqueue = ({ metadata, spec }: CertificateSigningRequest): void => {
      const { signerName } = spec;
      if (isSigner(signerName) && options.authority.serves(signerName))
        this.#loop.queue.add(metadata?.name ?? "");
    };
    this.#requests.addHandler({ add: enqueue, update: (_old, request) => enqueue(request) });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  async #reconcile(name: string): Promise<void> {
    const request = this.#requests.get("", name);
    if (request === undefined || isIssued(request) || !isSignable(request)) return;
    const { spec, status } = request;
    const names = this.#options.authority.readRequest(spec.request);
    // The server stores no request that cannot be read: one of another server's making is left alone.
    if ("fault" in names) throw new Error(`unable to parse csr "${name}": ${names.fault}`);
    const fault = signerFault(spec.signerName, names, spec.usages ?? []);
    const next =
      fault === undefined
        ? { ...status, certificate: this.#sign(request) }
        : { ...status, conditions: [...(status?.conditions ?? []), this.#failed(fault)] };
    const options = { subresource: "status" };
    const signed = { ...request, status: next };
    await this.#client.update(refs.certificatesigningrequests, "", signed, options);
  }

  /** As the field has it: base64 of PEM. */
  #sign({ spec }: CertificateSigningRequest): string {
    const { authority, lifetimeMostMs } = this.#options;
    const ttlMs = lifetimeMs(spec.expirationSeconds, lifetimeMostMs);
    const order = { signer: spec.signerName, usages: spec.usages ?? [], ttlMs };
    return btoa(authority.sign(spec.request, order));
  }

  #failed(message: string) {
    const lastUpdateTime = formatTime(this.#clock.nowMs());
    const reason = "SignerValidationFailure";
    return { type: "Failed", status: "True", reason, message, lastUpdateTime };
  }
}
