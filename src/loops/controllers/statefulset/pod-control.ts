/**
 * Creates, repairs and deletes the pods and claims of a StatefulSet, with upstream's events. Like
 * upstream's StatefulPodControl.
 *
 * Safe  the claims of a pod are created before the pod; claims are never deleted here, they only get owners
 *       (claims.ts). A pod is patched and deleted by uid, and each write is expected.
 */
import type {
  ControllerRevision,
  PersistentVolumeClaim,
  Pod,
  StatefulSet,
} from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import type { Informer } from "#client/informer.ts";
import { keyOf } from "#client/indexer.ts";
import { isAlreadyExists } from "#client/api-errors.ts";
import { isGone, textOf } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import type { Expectations } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";
import { controllerReference } from "#client/owner.ts";
import { templateOf } from "../pods/revisions.ts";
import { claimOwners, firstClaimOwners, isLeftover } from "./claims.ts";
import * as identity from "./identity.ts";
import type { StatefulPlan } from "./plan.ts";

export const gvk = { group: "apps", version: "v1", kind: "StatefulSet" };

export class StatefulPodControl {
  readonly #client: Client;
  readonly #recorder: EventRecorder;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #expectations: Expectations<Pod>;

  constructor(deps: ControllerDeps, expectations: Expectations<Pod>) {
    this.#client = deps.client;
    this.#recorder = deps.recorder;
    this.#claims = deps.informers.informer<PersistentVolumeClaim>(refs.persistentvolumeclaims);
    this.#expectations = expectations;
  }

  /** Adds missing parts to an existing pod: claims while it is pending, owners of its claims, labels. */
  async repairPod(set: StatefulSet, pod: Pod): Promise<void> {
    const ordinal = identity.ordinalOf(set, pod);
    if (ordinal === undefined) return;
    if (pod.status?.phase === "Pending" && pod.metadata?.deletionTimestamp === undefined)
      await this.#createClaims(set, ordinal);
    for (const claim of this.#listClaims(set, ordinal)) await this.#setClaimOwners(set, pod, claim);
    await this.#patchLabels(set, pod);
  }

  /** Whether the claim of an earlier pod with this name must be deleted before a new pod is created. */
  isBlocked(set: StatefulSet, ordinal: number): boolean {
    const name = identity.podName(set, ordinal);
    return this.#listClaims(set, ordinal).some((claim) => isLeftover(claim, set, name));
  }

  /** Creates the pod of an ordinal and its claims, from the template of its revision. */
  async createPod(
    set: StatefulSet,
    revisions: readonly ControllerRevision[],
    wanted: StatefulPlan["create"][number],
  ): Promise<void> {
    const revision = revisions.find(({ metadata }) => metadata?.name === wanted.revision);
    const template = (revision && templateOf(revision)) ?? set.spec?.template ?? {};
    await this.#createClaims(set, wanted.ordinal);
    const owner = controllerReference(gvk, set);
    await this.#create(set, identity.makePod(set, template, { ...wanted, owner }));
  }

  /** Throws unless the pod was deleted or already gone. */
  async deletePod(set: StatefulSet, pod: Pod): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    const text = `Delete Pod ${name} in StatefulSet ${set.metadata?.name ?? ""}`;
    this.#expectations.expectDeletion(keyOf(set), pod);
    try {
      await this.#client.delete(refs.pods, namespace, name, { preconditions: { uid } });
      this.#recorder.event(set, "Normal", "SuccessfulDelete", `${text} successful`);
    } catch (error) {
      this.#expectations.cancelDeletion(keyOf(set), pod);
      if (isGone(error)) return;
      this.#warn(set, "FailedDelete", `${text} failed error: ${textOf(error)}`);
      throw error;
    }
  }

  async #create(set: StatefulSet, pod: Pod): Promise<void> {
    const { name = "", namespace = "" } = pod.metadata ?? {};
    const text = `Create Pod ${name} in StatefulSet ${set.metadata?.name ?? ""}`;
    try {
      const made = await this.#client.create<Pod>(refs.pods, namespace, pod);
      this.#expectations.expectWrite(keyOf(set), made);
      this.#recorder.event(set, "Normal", "SuccessfulCreate", `${text} successful`);
    } catch (error) {
      if (!isAlreadyExists(error))
        this.#warn(set, "FailedCreate", `${text} failed error: ${textOf(error)}`);
      throw error;
    }
  }

  async #createClaims(set: StatefulSet, ordinal: number): Promise<void> {
    const { namespace = "", name: setName = "" } = set.metadata ?? {};
    const pod = `Pod ${identity.podName(set, ordinal)} in StatefulSet ${setName}`;
    for (const claim of identity.makeClaims(set, ordinal, firstClaimOwners(set))) {
      if (this.#claims.get(namespace, claim.metadata?.name ?? "") !== undefined) continue;
      await this.#createClaim(set, claim, pod);
    }
  }

  async #createClaim(set: StatefulSet, claim: PersistentVolumeClaim, pod: string): Promise<void> {
    const { namespace = "" } = set.metadata ?? {};
    const text = `Create Claim ${claim.metadata?.name ?? ""}`;
    try {
      await this.#client.create(refs.persistentvolumeclaims, namespace, claim);
      this.#recorder.event(set, "Normal", "SuccessfulCreate", `${text} ${pod} success`);
    } catch (error) {
      if (isAlreadyExists(error)) return;
      this.#warn(set, "FailedCreate", `${text} for ${pod} failed error: ${textOf(error)}`);
      throw error;
    }
  }

  /** The cached claims of one ordinal. */
  #listClaims(set: StatefulSet, ordinal: number): readonly PersistentVolumeClaim[] {
    const namespace = set.metadata?.namespace ?? "";
    return (set.spec?.volumeClaimTemplates ?? []).flatMap(
      (template) => this.#claims.get(namespace, identity.claimName(template, set, ordinal)) ?? [],
    );
  }

  async #setClaimOwners(set: StatefulSet, pod: Pod, claim: PersistentVolumeClaim): Promise<void> {
    const ownerReferences = claimOwners(claim, set, pod);
    if (ownerReferences === undefined) return;
    const next = { ...claim, metadata: { ...claim.metadata, ownerReferences } };
    const namespace = set.metadata?.namespace ?? "";
    await this.#client.update(refs.persistentvolumeclaims, namespace, next);
  }

  async #patchLabels(set: StatefulSet, pod: Pod): Promise<void> {
    const labels = identity.missingIdentity(set, pod);
    if (labels === undefined) return;
    const { namespace = "", name = "", uid } = pod.metadata ?? {};
    const patch = { metadata: { uid, labels } };
    const written = await this.#client.patch<Pod>(refs.pods, namespace, name, "merge", patch);
    this.#expectations.expectWrite(keyOf(set), written);
  }

  #warn(set: StatefulSet, reason: string, text: string): void {
    this.#recorder.event(set, "Warning", reason, text);
  }
}
