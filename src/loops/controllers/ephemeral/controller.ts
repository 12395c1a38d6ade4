/**
 * Generic ephemeral volumes: creates a claim for a pod's `ephemeral` volume, named after pod and volume. The pod owns
 * it, so that the garbage collector deletes it with the pod.
 *
 * Safe  a claim of that name that the pod does not own is never used; the pod waits and an event says why.
 * After  k/k pkg/controller/volume/ephemeral/controller.go.
 */
import type { PersistentVolumeClaim, Pod, Volume } from "#api/gen/types.ts";
import type { GroupVersionKind } from "#api/object.ts";
import { given } from "#base/given.ts";
import { isAlreadyExists } from "#client/api-errors.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source } from "#client/sources.ts";
import { isNamespaceGoing, textOf } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { Expectations, unsatisfied } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { controllerReference } from "#client/owner.ts";
import { indexByClaim, podsOfClaim } from "../protection/claims.ts";

export const ephemeralVolumeRole: ControllerRole = {
  account: "ephemeral-volume-controller",
  rules: [
    "read | core | pods",
    "update | core | pods/finalizers",
    "create,get,list,watch | core | persistentvolumeclaims",
    "events",
  ],
};

const podGvk: GroupVersionKind = { group: "", version: "v1", kind: "Pod" };

export class EphemeralVolumeController implements ControllerOptions<Pod> {
  readonly name = "ephemeral-volume-controller";
  readonly workers = 5;
  readonly ref = refs.pods;
  /** The volumes of a pod never change. */
  readonly when = { on: ["add", "delete"], only: hasEphemeral } as const;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #expectations: Expectations<PersistentVolumeClaim>;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    const { informers } = deps;
    this.#claims = informers.informer<PersistentVolumeClaim>(refs.persistentvolumeclaims);
    this.#expectations = new Expectations(this.#claims, this.#deps.clock);
    const pods = informers.informer<Pod>(refs.pods);
    indexByClaim(pods);
    const usersOf = (claim: PersistentVolumeClaim): readonly string[] =>
      podsOfClaim(pods, keyOf(claim)).filter(hasEphemeral).map(keyOf);
    this.sources = [watch(this.#claims, usersOf, { on: ["add", "delete"] })];
  }

  async reconcile({ key, object: pod }: ReconcileRequest<Pod>): Promise<ReconcileResult> {
    if (pod === undefined) return this.#expectations.forget(key);
    if (pod.metadata?.deletionTimestamp !== undefined) return undefined;
    if (!this.#expectations.isSatisfied(key)) return unsatisfied;
    for (const volume of ephemeralVolumes(pod)) {
      try {
        await this.#ensureClaim(key, pod, volume);
      } catch (error) {
        if (isNamespaceGoing(error)) return undefined;
        const text = `ephemeral volume ${volume.name}: ${textOf(error)}`;
        this.#deps.recorder.event(pod, "Warning", "FailedBinding", text);
        throw new Error(`pod ${key}, ${text}`, { cause: error });
      }
    }
    return undefined;
  }

  async #ensureClaim(key: string, pod: Pod, volume: Volume): Promise<void> {
    const claim = claimFor(pod, volume);
    const { namespace = "", name = "" } = claim.metadata ?? {};
    const known = this.#claims.get(namespace, name);
    if (known === undefined) return this.#create(key, namespace, claim);
    const owners = known.metadata?.ownerReferences ?? [];
    const isOwn = owners.some((one) => one.controller === true && one.uid === pod.metadata?.uid);
    if (isOwn) return;
    throw new Error(
      `PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata?.name} (pod is not owner)`,
    );
  }

  async #create(key: string, namespace: string, claim: PersistentVolumeClaim): Promise<void> {
    try {
      const made = await this.#deps.client.create(refs.persistentvolumeclaims, namespace, claim);
      this.#expectations.expectWrite(key, made);
    } catch (error) {
      if (isNamespaceGoing(error)) throw error;
      // The cache is behind; its event wakes the pod, and then the owner is checked.
      if (isAlreadyExists(error)) return;
      throw new Error(`create PVC ${claim.metadata?.name}: ${textOf(error)}`, { cause: error });
    }
  }
}

function hasEphemeral(pod: Pod): boolean {
  return ephemeralVolumes(pod).length > 0;
}

function ephemeralVolumes(pod: Pod): readonly Volume[] {
  return (pod.spec?.volumes ?? []).filter((volume) => volume.ephemeral !== undefined);
}

function claimFor(pod: Pod, volume: Volume): PersistentVolumeClaim {
  const template = volume.ephemeral?.volumeClaimTemplate;
  const { annotations, labels } = template?.metadata ?? {};
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: `${pod.metadata?.name ?? ""}-${volume.name}`,
      namespace: pod.metadata?.namespace ?? "",
      ownerReferences: [controllerReference(podGvk, pod)],
      ...given({ annotations, labels }),
    },
    spec: template?.spec ?? {},
  };
}
