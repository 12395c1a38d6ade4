/**
 * Deletes certificate requests that are no longer needed, once an hour: issued or expired certificates, denied
 * requests, and requests without a decision (lifetime.ts).
 */
import type { CertificateSigningRequest } from "#api/gen/types.ts";
import type { KeyOptions } from "#client/create-controller.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { once } from "#client/sources.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { CertificateAuthority } from "./authority.ts";
import { isPastUse } from "./lifetime.ts";

const everyMs = 3_600_000;
/** Concurrent deletes. */
const deletesMax = 20;

export class CertificateCleaner implements KeyOptions {
  readonly name = "certificatesigningrequest-cleaner-controller";
  readonly workers = 1;
  readonly sources = [once("all", 0)];
  readonly #deps: ControllerDeps;
  readonly #authority: CertificateAuthority;
  readonly #requests: Informer<CertificateSigningRequest>;

  constructor(deps: ControllerDeps, authority: CertificateAuthority) {
    this.#deps = deps;
    this.#authority = authority;
    this.#requests = deps.informers.informer<CertificateSigningRequest>(
      refs.certificatesigningrequests,
    );
  }

  async reconcile(): Promise<ReconcileResult> {
    const past = this.#requests.list().filter((request) => this.#isPastUse(request));
    for (let at = 0; at < past.length; at += deletesMax) {
      await Promise.all(past.slice(at, at + deletesMax).map((one) => this.#remove(one)));
    }
    return { requeueAfterMs: everyMs };
  }

  #isPastUse(request: CertificateSigningRequest): boolean {
    const { certificate } = request.status ?? {};
    const endMs = certificate === undefined ? undefined : this.#authority.endMs(atob(certificate));
    return isPastUse(request, this.#deps.clock.nowMs(), endMs);
  }

  async #remove({ metadata = {} }: CertificateSigningRequest): Promise<void> {
    const { name = "", uid = "" } = metadata;
    const preconditions = { uid };
    await this.#deps.client
      .delete(refs.certificatesigningrequests, "", name, { preconditions })
      .catch(ignoreGone);
  }
}
