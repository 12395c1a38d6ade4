/**
 * Marks automatically created token Secrets of service accounts as invalid when they have not been used for a year, and
 * deletes them another year later (upstream's legacy-serviceaccount-token-cleaner-controller).
 *
 * Holds  a token that a pod names, that its account does not list, or that was created manually is never changed. No
 *        token is changed before uses have been recorded for as long as a token may be unused.
 */
import type { ConfigMap, Pod, Secret, ServiceAccount } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { podReferences } from "#api/pods/pod-references.ts";
import type { KeyOptions } from "#client/create-controller.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { once } from "#client/sources.ts";
import { isNotFound } from "#client/api-errors.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { legacyTokenSelector } from "../serviceaccount/token-controller.ts";
import { dayOf, dayMs, invalidSinceLabel, planToken } from "./plan.ts";

const tracking = "kube-apiserver-legacy-service-account-token-tracking";

export const legacyTokenCleanerRole: ControllerRole = {
  account: "legacy-service-account-token-cleaner",
  rules: [`get | core | configmaps | ${tracking}`, "delete,patch | core | secrets"],
};

/** Upstream's --legacy-service-account-token-clean-up-period. */
export const legacyTokenPeriodMs = 365 * dayMs;

/** Time after which the caches are usually filled. */
const firstMs = 10_000;

export class LegacyTokenCleaner implements KeyOptions {
  readonly name = "legacy-serviceaccount-token-cleaner-controller";
  readonly workers = 1;
  readonly sources = [once("all", firstMs)];
  readonly #deps: ControllerDeps;
  readonly #periodMs: number;
  readonly #secrets: Informer<Secret>;
  readonly #accounts: Informer<ServiceAccount>;
  readonly #pods: Informer<Pod>;

  constructor(deps: ControllerDeps, periodMs: number = legacyTokenPeriodMs) {
    this.#deps = deps;
    this.#periodMs = periodMs;
    const selection = { fieldSelector: legacyTokenSelector };
    this.#secrets = deps.informers.informer<Secret>(refs.secrets, selection);
    this.#accounts = deps.informers.informer<ServiceAccount>(refs.serviceaccounts);
    this.#pods = deps.informers.informer<Pod>(refs.pods);
  }

  async reconcile(): Promise<ReconcileResult> {
    const isReady = [this.#secrets, this.#accounts, this.#pods].every((one) => one.hasSynced);
    if (!isReady) return { requeueAfterMs: firstMs };
    const nowMs = this.#deps.clock.nowMs();
    const trackedMs = await this.#trackedSinceMs();
    const again = { requeueAfterMs: dayMs };
    if (trackedMs === undefined || nowMs < trackedMs + this.#periodMs) return again;
    for (const secret of this.#secrets.list()) await this.#clean(secret, nowMs);
    return again;
  }

  /** The day after the API server began to record uses; undefined: it does not. */
  async #trackedSinceMs(): Promise<number | undefined> {
    const map = await this.#deps.client
      .get<ConfigMap>(refs.configmaps, "kube-system", tracking)
      .catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
    const since = dayOf(map?.data?.["since"]);
    return since === undefined ? undefined : since + dayMs;
  }

  async #clean(secret: Secret, nowMs: number): Promise<void> {
    const { namespace = "", name = "", uid = "", resourceVersion = "" } = secret.metadata ?? {};
    const account = this.#accounts.get(
      namespace,
      secret.metadata?.annotations?.["kubernetes.io/service-account.name"] ?? "",
    );
    const isMounted = (): boolean => this.#isMounted(namespace, name);
    const plan = planToken(secret, { account, isMounted, nowMs, periodMs: this.#periodMs });
    if (plan.kind === "mark") {
      const patch = { metadata: { uid, labels: { [invalidSinceLabel]: plan.day } } };
      await this.#deps.client
        .patch(refs.secrets, namespace, name, "merge", patch)
        .catch(ignoreGone);
    }
    if (plan.kind === "delete") {
      const preconditions = { uid, resourceVersion };
      await this.#deps.client
        .delete(refs.secrets, namespace, name, { preconditions })
        .catch(ignoreGone);
    }
  }

  #isMounted(namespace: string, name: string): boolean {
    return this.#pods
      .list(namespace)
      .some((pod) => podReferences(pod as unknown as AnyObject).secrets.includes(name));
  }
}
