/**
 * Deletes certificate requests that nobody needs any more, once an hour: certificates fetched or ended,
 * refusals read, requests that nobody decided about (lifetime.ts).
 */
import type { CertificateSigningRequest } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import type { Clock } from "#platform/clock.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { refs } from "../framework/refs.ts";
import type { CertificateAuthority } from "./authority.ts";
import { isPastUse } from "./lifetime.ts";

const everyMs = 3_600_000;
const onlyKey = "all";
/** Deletes under way at once. */
const deletesMax = 20;

export class CertificateCleaner implements Controller {
  readonly name = "certificatesigningrequest-cleaner-controller";
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #authority: CertificateAuthority;
  readonly #requests: Informer<CertificateSigningRequest>;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps, authority: CertificateAuthority) {
    this.#client = deps.client;
    this.#clock = deps.clock;
    this.#authority = authority;
    this.#requests = deps.informers.informer<CertificateSigningRequest>(
      refs.certificatesigningrequests,
    );
    this.#loop = queueController(deps, { name: this.name, workers: 1 }, () => this.#reconcile());
    this.#loop.queue.add(onlyKey);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  async #reconcile(): Promise<ReconcileResult> {
    const past = this.#requests.list().filter((request) => this.#isPastUse(request));
    for (let at = 0; at < past.length; at += deletesMax) {
      await Promise.all(past.slice(at, at + deletesMax).map((one) => this.#remove(one)));
    }
    return { requeueAfterMs: everyMs };
  }

  #isPastUse(request: CertificateSigningRequest): boolean {
    const { certificate } = request.status ?? {};
    const endMs = certificate === undefined ? undefined : this.#authority.endMs(atob(certificate));
    return isPastUse(request, this.#clock.nowMs(), endMs);
  }

  async #remove({ metadata = {} }: CertificateSigningRequest): Promise<void> {
    const { name = "", uid = "" } = metadata;
    const preconditions = { uid };
    await this.#client
      .delete(refs.certificatesigningrequests, "", name, { preconditions })
      .catch(ignoreGone);
  }
}
