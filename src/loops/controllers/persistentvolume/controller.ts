/**
 * The binder: gives volumes to claims, sets the phases of volumes, and reclaims released volumes. People or external
 * provisioners create volumes; this controller does not.
 *
 *   claim ──plan──► bind (volume, its phase, claim, its phase) | wait | hand over | lost
 *   volume ─plan──► Available | Bound | Released ──► kept, deleted or Failed
 *
 * Holds  one volume is bound to one claim: a chosen volume is removed from the index before the first write, and every
 *        write names the version on which it was decided.
 * Wakes  a free volume or a class triggers the claims that wait for its class, at most once a second: n volumes and n
 *        claims must not cost n * n. Upstream checks all of them every 15 seconds.
 */
import type { PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from "#api/gen/types.ts";
import {
  bindCompleted,
  claimKeyOf,
  classOfClaim,
  classOfVolume,
  hasAnnotation,
  keyOfClaim,
  withAnnotations,
} from "#api/volumes/binding.ts";
import { VolumeIndex } from "#api/volumes/volume-index.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { KeyOptions, KeyRequest } from "#client/create-controller.ts";
import type { Informer } from "#client/informer.ts";
import { KeySource } from "#client/sources.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { indexByClaim, podsOfClaim } from "../protection/claims.ts";
import { BindingControl } from "./binding-control.ts";
import { planClaim, type ClaimStep, type ClaimView, type EventText } from "./claim-plan.ts";
import { defaultClassName } from "./default-class.ts";
import {
  betaStorageProvisioner,
  migrateClaim,
  migrateVolume,
  storageProvisioner,
  withoutInTreeFinalizer,
} from "./migrated.ts";
import { OwnWrites } from "./own-writes.ts";
import { unboundClaimStatus } from "./status.ts";
import { planReclaim, planVolume } from "./volume-plan.ts";

export const volumeBinderRole: ControllerRole = {
  account: "persistent-volume-binder",
  rules: [
    "create,delete,get,list,update,watch | core | persistentvolumes",
    "update | core | persistentvolumes/status",
    "get,list,update,watch | core | persistentvolumeclaims",
    "update | core | persistentvolumeclaims/status",
    "create,delete,get,list,watch | core | pods",
    "read | storage.k8s.io | storageclasses",
    "list,watch | core | nodes",
    "events",
    "watch | core | events",
  ],
};

const wakeEveryMs = 1_000;
const volumeNameIndex = "controllers.claim-volume";
const waitingIndex = "controllers.claim-waiting";
const claimRefIndex = "controllers.volume-claim";

const claimPrefix = "claim:";
const volumePrefix = "volume:";
/** Key that stands for all classes in `#classesToWake`. */
const classesKey = "classes";

export class VolumeBinder implements KeyOptions {
  readonly name = "persistentvolume-binder-controller";
  readonly workers = 10;
  readonly #wakes = new KeySource();
  readonly sources = [this.#wakes];
  readonly #deps: ControllerDeps;
  readonly #pods: Informer<Pod>;
  readonly #classes: Informer<StorageClass>;
  readonly #claimInformer: Informer<PersistentVolumeClaim>;
  readonly #volumeInformer: Informer<PersistentVolume>;
  readonly #claims: OwnWrites<PersistentVolumeClaim>;
  readonly #volumes: OwnWrites<PersistentVolume>;
  readonly #index = new VolumeIndex();
  readonly #control: BindingControl;
  /** The last event of each waiting claim, which is not repeated until something changes. */
  readonly #said = new Map<string, string>();
  readonly #classesToWake = new Set<string>();
  #lastWakeMs = Number.NEGATIVE_INFINITY;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    const { informers, client, recorder, clock } = deps;
    this.#pods = informers.informer<Pod>(refs.pods);
    this.#classes = informers.informer<StorageClass>(refs.storageclasses);
    this.#claimInformer = informers.informer<PersistentVolumeClaim>(refs.persistentvolumeclaims);
    this.#volumeInformer = informers.informer<PersistentVolume>(refs.persistentvolumes);
    this.#claims = new OwnWrites(this.#claimInformer);
    this.#volumes = new OwnWrites(this.#volumeInformer);
    const [index, volumes, claims] = [this.#index, this.#volumes, this.#claims];
    this.#control = new BindingControl({ client, recorder, clock, index, volumes, claims });
    this.#addIndexes();
    this.#addHandlers();
  }

  #addIndexes(): void {
    indexByClaim(this.#pods);
    this.#claimInformer.addIndex(volumeNameIndex, (claim) => [claim.spec?.volumeName ?? ""]);
    this.#claimInformer.addIndex(waitingIndex, (claim) =>
      hasAnnotation(claim, bindCompleted) ? [] : [classOfClaim(claim)],
    );
    this.#volumeInformer.addIndex(claimRefIndex, (volume) => {
      const key = claimKeyOf(volume);
      return key === undefined ? [] : [key];
    });
  }

  #addHandlers(): void {
    const volumeSet = (volume: PersistentVolume): void => this.#volumeSet(volume);
    this.#volumeInformer.addHandler({
      add: volumeSet,
      update: (_old, volume) => volumeSet(volume),
      delete: (volume) => this.#volumeGone(volume),
    });
    const claimSet = (claim: PersistentVolumeClaim): void => this.#enqueueWithVolumes(claim);
    this.#claimInformer.addHandler({
      add: claimSet,
      update: (_old, claim) => claimSet(claim),
      delete: (claim) => {
        this.#said.delete(keyOfClaim(claim));
        claimSet(claim);
      },
    });
    const wake = (one: StorageClass): void => {
      this.#wakeWaiting(one.metadata?.name ?? "");
      // The class may be the default one.
      this.#wakeWaiting("");
    };
    this.#classes.addHandler({ add: wake, update: (_old, one) => wake(one) });
  }

  #volumeSet(volume: PersistentVolume): void {
    const name = volume.metadata?.name ?? "";
    this.#index.set(this.#volumes.get(name) ?? volume);
    this.#wakes.add(volumePrefix + name);
    this.#enqueueClaimsNaming(name);
    const isTaken = (volume.spec?.claimRef?.uid ?? "") !== "";
    if (volume.status?.phase === "Available" && !isTaken) this.#wakeWaiting(classOfVolume(volume));
  }

  #volumeGone(volume: PersistentVolume): void {
    const name = volume.metadata?.name ?? "";
    this.#index.delete(name);
    this.#enqueueClaimsNaming(name);
    const claimKey = claimKeyOf(volume);
    if (claimKey !== undefined) this.#wakes.add(claimPrefix + claimKey);
  }

  #enqueueClaimsNaming(volumeName: string): void {
    for (const claim of this.#claimInformer.byIndex(volumeNameIndex, volumeName)) {
      this.#wakes.add(claimPrefix + keyOfClaim(claim));
    }
  }

  #enqueueWithVolumes(claim: PersistentVolumeClaim): void {
    const key = keyOfClaim(claim);
    this.#wakes.add(claimPrefix + key);
    const volumeName = claim.spec?.volumeName ?? "";
    if (volumeName !== "") this.#wakes.add(volumePrefix + volumeName);
    for (const volume of this.#volumeInformer.byIndex(claimRefIndex, key)) {
      this.#wakes.add(volumePrefix + (volume.metadata?.name ?? ""));
    }
  }

  #wakeWaiting(className: string): void {
    this.#classesToWake.add(className);
    const delayMs = this.#lastWakeMs + wakeEveryMs - this.#deps.clock.monotonicMs();
    this.#wakes.addAfter(classesKey, Math.max(0, delayMs));
  }

  #wakeClasses(): void {
    this.#lastWakeMs = this.#deps.clock.monotonicMs();
    const classes = [...this.#classesToWake];
    this.#classesToWake.clear();
    for (const one of classes) {
      for (const claim of this.#claimInformer.byIndex(waitingIndex, one)) {
        this.#wakes.add(claimPrefix + keyOfClaim(claim));
      }
    }
  }

  async reconcile({ key }: KeyRequest): Promise<void> {
    if (key === classesKey) return this.#wakeClasses();
    if (key.startsWith(volumePrefix)) {
      const volume = this.#volumes.get(key.slice(volumePrefix.length));
      if (volume !== undefined) await this.#reconcileVolume(volume);
      return;
    }
    const claim = this.#claims.get(key.slice(claimPrefix.length));
    if (claim !== undefined) await this.#reconcileClaim(claim);
  }

  async #reconcileClaim(old: PersistentVolumeClaim): Promise<void> {
    const claim = await this.#control.writeClaim(old, migrateClaim(old));
    const step = planClaim(this.#viewOf(claim));
    if ("event" in step && step.event !== undefined) this.#say(claim, step.event);
    else this.#said.delete(keyOfClaim(claim));
    await this.#carryOut(claim, step);
  }

  #viewOf(claim: PersistentVolumeClaim): ClaimView {
    return {
      claim,
      volume: (name) => this.#volumes.get(name),
      bestVolume: (isDelayed) => this.#index.best(claim, isDelayed),
      storageClass: (name) => this.#classes.get("", name),
      defaultClass: () => defaultClassName(this.#classes.list()),
      waitingPods: () =>
        podsOfClaim(this.#pods, keyOfClaim(claim))
          .filter(isUnplaced)
          .map((pod) => pod.metadata?.name ?? ""),
    };
  }

  async #carryOut(claim: PersistentVolumeClaim, step: ClaimStep): Promise<void> {
    const control = this.#control;
    switch (step.kind) {
      case "bind":
        return control.bind(step.volume, claim);
      case "pending":
        return control.writeClaimStatus(claim, unboundClaimStatus(claim, "Pending"));
      case "lost":
        return control.writeClaimStatus(claim, unboundClaimStatus(claim, "Lost"));
      case "assign-class": {
        const spec = { ...claim.spec, storageClassName: step.className };
        await control.writeClaim(claim, { ...claim, spec });
        return;
      }
      case "provision": {
        const { provisioner } = step;
        if (claim.metadata?.annotations?.[storageProvisioner] === provisioner) return;
        const both = {
          [betaStorageProvisioner]: provisioner,
          [storageProvisioner]: provisioner,
        };
        await control.writeClaim(claim, migrateClaim(withAnnotations(claim, both)));
        return;
      }
      case "refused":
        return;
      case "contested":
        throw new Error(step.error);
      default:
        step satisfies never;
    }
  }

  async #reconcileVolume(old: PersistentVolume): Promise<void> {
    const control = this.#control;
    const volume = await control.writeVolume(old, migrateVolume(old));
    const step = planVolume(volume, await this.#claimOf(volume));
    switch (step.kind) {
      case "phase":
        await control.setVolumePhase(volume, step.phase);
        return;
      case "wake-claim":
        this.#wakes.add(claimPrefix + (claimKeyOf(volume) ?? ""));
        return;
      case "unbind":
        return control.unbind(volume);
      case "reclaim":
        return this.#reclaim(volume);
      case "refused": {
        const claim = this.#claims.get(claimKeyOf(volume) ?? "");
        if (claim !== undefined) this.#say(claim, step.onClaim);
        const { type, reason, message } = step.onVolume;
        this.#deps.recorder.event(volume, type, reason, message);
        return;
      }
      default:
        step satisfies never;
    }
  }

  /** The claim in the volume's reference. It counts as gone only if the server says so. */
  async #claimOf(volume: PersistentVolume): Promise<PersistentVolumeClaim | undefined> {
    const { claimRef } = volume.spec ?? {};
    const uid = claimRef?.uid ?? "";
    if (claimRef === undefined || uid === "") return undefined;
    const cached = this.#claims.get(claimKeyOf(volume) ?? "");
    if (cached?.metadata?.uid === uid) return cached;
    const { phase } = volume.status ?? {};
    if (cached === undefined && (phase === "Released" || phase === "Failed")) return undefined;
    const { namespace = "", name = "" } = claimRef;
    if (namespace === "" || name === "") return undefined;
    try {
      const ref = refs.persistentvolumeclaims;
      const live = await this.#deps.client.get<PersistentVolumeClaim>(ref, namespace, name);
      return live.metadata?.uid === uid ? live : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #reclaim(volume: PersistentVolume): Promise<void> {
    const control = this.#control;
    const { phase } = volume.status ?? {};
    const isReleased = phase === "Released" || phase === "Failed";
    const released = isReleased ? volume : await control.setVolumePhase(volume, "Released");
    const step = planReclaim(released);
    if (step.kind === "keep") return;
    if (step.kind === "fail") {
      const { reason, message } = step;
      return control.fail(released, { type: "Warning", reason, message });
    }
    const unprotected = await control.writeVolume(released, withoutInTreeFinalizer(released));
    if (unprotected.metadata?.deletionTimestamp === undefined) {
      await control.deleteVolume(unprotected);
    }
  }

  #say(claim: PersistentVolumeClaim, event: EventText): void {
    const key = keyOfClaim(claim);
    const text = `${claim.metadata?.uid}|${event.reason}|${event.message}`;
    if (this.#said.get(key) === text) return;
    this.#said.set(key, text);
    this.#deps.recorder.event(claim, event.type, event.reason, event.message);
  }
}

function isUnplaced({ spec, status }: Pod): boolean {
  const isFinished = status?.phase === "Succeeded" || status?.phase === "Failed";
  return (spec?.nodeName ?? "") === "" && !isFinished;
}
