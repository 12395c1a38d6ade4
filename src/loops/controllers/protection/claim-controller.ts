/**
 * Protection of claims in use: the finalizer that admission adds to a claim is removed only when no pod needs the claim
 * any more.
 *
 * Safe  before the finalizer is removed, the pods of the namespace are listed live: a pod that the
 *       cache does not show yet must not lose its volume.
 */
import type { PersistentVolumeClaim, Pod } from "#api/gen/types.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import type { Informer } from "#client/informer.ts";
import { watch, type Source } from "#client/sources.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { claimsOf, indexByClaim, podsOfClaim, usesClaim } from "./claims.ts";
import { FinalizerControl, needsWork } from "./finalizer-control.ts";

export const claimProtectionRole: ControllerRole = {
  account: "pvc-protection-controller",
  rules: [
    "get,list,update,watch | core | persistentvolumeclaims",
    "update | core | persistentvolumeclaims/status",
    "read | core | pods",
    "events",
  ],
};

const finalizer = "kubernetes.io/pvc-protection";

export class ClaimProtectionController implements ControllerOptions<PersistentVolumeClaim> {
  readonly name = "pvc-protection-controller";
  readonly workers = 5;
  readonly ref = refs.persistentvolumeclaims;
  readonly when = { on: ["add", "update"], only: isOpen } as const;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #pods: Informer<Pod>;
  readonly #finalizers: FinalizerControl;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    const claims = deps.informers.informer<PersistentVolumeClaim>(refs.persistentvolumeclaims);
    this.#pods = deps.informers.informer<Pod>(refs.pods);
    indexByClaim(this.#pods);
    this.#finalizers = new FinalizerControl(deps, refs.persistentvolumeclaims, finalizer);
    const openClaimsOf = (pod: Pod): readonly string[] =>
      claimsOf(pod).filter((key) => isOpen(claims.getByKey(key)));
    this.sources = [watch(this.#pods, openClaimsOf, { on: ["update", "delete"] })];
  }

  async reconcile({ key, object: claim }: ReconcileRequest<PersistentVolumeClaim>): Promise<void> {
    if (claim === undefined || !isOpen(claim)) return;
    if (claim.metadata?.deletionTimestamp === undefined) return this.#finalizers.add(claim);
    if (await this.#isInUse(key, claim)) return;
    await this.#finalizers.remove(claim);
  }

  /** Checks the cache first, then the server. */
  async #isInUse(key: string, claim: PersistentVolumeClaim): Promise<boolean> {
    if (podsOfClaim(this.#pods, key).some((pod) => usesClaim(pod, claim))) return true;
    const namespace = claim.metadata?.namespace ?? "";
    const live = await this.#deps.client.list<Pod>(refs.pods, { namespace });
    return live.items.some((pod) => usesClaim(pod, claim));
  }
}

function isOpen(claim: PersistentVolumeClaim | undefined): boolean {
  return claim !== undefined && needsWork(claim, finalizer);
}
