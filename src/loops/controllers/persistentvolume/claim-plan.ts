/**
 * The next step of a claim, pure: bind it, wait, hand it to a provisioner, or report that it is lost.
 * After  k/k pkg/controller/volume/persistentvolume/pv_controller.go, syncClaim.
 */
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "#api/gen/types.ts";
import {
  bindCompleted,
  boundByController,
  classOfClaim,
  claimKeyOf,
  hasAnnotation,
  hasClass,
  isDelayed,
  isVolumeOf,
  keyOfClaim,
  mismatch,
  selectedNode,
} from "#api/volumes/binding.ts";
import { csiDriverOf } from "#api/volumes/csi-migration.ts";

export interface EventText {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** The state according to the caches. */
export interface ClaimView {
  readonly claim: PersistentVolumeClaim;
  volume(name: string): PersistentVolume | undefined;
  bestVolume(isDelayed: boolean): PersistentVolume | undefined;
  storageClass(name: string): StorageClass | undefined;
  defaultClass(): string | undefined;
  /** Names of pods that use the claim and are not bound to a node. */
  waitingPods(): readonly string[];
}

export type ClaimStep =
  | { readonly kind: "bind"; readonly volume: PersistentVolume }
  /** Phase Pending, without data of a volume in the status. */
  | { readonly kind: "pending"; readonly event?: EventText }
  | { readonly kind: "lost"; readonly event: EventText }
  | { readonly kind: "assign-class"; readonly className: string }
  | { readonly kind: "provision"; readonly provisioner: string; readonly event: EventText }
  /** Only the event is written. */
  | { readonly kind: "refused"; readonly event: EventText }
  /** Like refused, with a retry after a backoff. */
  | { readonly kind: "contested"; readonly event: EventText; readonly error: string };

export function planClaim(view: ClaimView): ClaimStep {
  if (hasAnnotation(view.claim, bindCompleted)) return planBound(view);
  const name = view.claim.spec?.volumeName ?? "";
  return name === "" ? planUnbound(view) : planNamed(view, name);
}

function planUnbound(view: ClaimView): ClaimStep {
  const { claim } = view;
  const className = classOfClaim(claim);
  const storageClass = className === "" ? undefined : view.storageClass(className);
  const delayed = isDelayed(storageClass);
  const volume = view.bestVolume(delayed);
  if (volume !== undefined) return { kind: "bind", volume };
  const byDefault = hasClass(claim) ? undefined : view.defaultClass();
  if (byDefault !== undefined) return { kind: "assign-class", className: byDefault };
  if (delayed && !hasAnnotation(claim, selectedNode)) {
    return { kind: "pending", event: waitingText(view.waitingPods()) };
  }
  if (className !== "") return planProvision(className, storageClass);
  const message = "no persistent volumes available for this claim and no storage class is set";
  return { kind: "pending", event: { type: "Normal", reason: "FailedBinding", message } };
}

function waitingText(pods: readonly string[]): EventText {
  if (pods.length === 0) {
    const message = "waiting for first consumer to be created before binding";
    return { type: "Normal", reason: "WaitForFirstConsumer", message };
  }
  const noun = pods.length > 1 ? "pods" : "pod";
  const message = `waiting for ${noun} ${pods.join(",")} to be scheduled`;
  return { type: "Normal", reason: "WaitForPodScheduled", message };
}

/** Volumes are not created here: in-tree provisioners were removed, except one that is off by default. */
function planProvision(className: string, storageClass: StorageClass | undefined): ClaimStep {
  const failed = (message: string): ClaimStep => ({
    kind: "refused",
    event: { type: "Warning", reason: "ProvisioningFailed", message },
  });
  if (storageClass === undefined) {
    return failed(`storageclass.storage.k8s.io "${className}" not found`);
  }
  const provisioner = csiDriverOf(storageClass.provisioner) ?? storageClass.provisioner;
  if (provisioner === "kubernetes.io/host-path") {
    const reason = `provisioning in volume plugin "${provisioner}" is disabled`;
    return failed(`Failed to create provisioner: ${reason}`);
  }
  if (provisioner.startsWith("kubernetes.io/")) {
    return failed(`no volume plugin matched name: ${provisioner}`);
  }
  const message = `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
  const event: EventText = { type: "Normal", reason: "ExternalProvisioning", message };
  return { kind: "provision", provisioner, event };
}

/** The volume was named by the user, or by an interrupted binding. */
function planNamed(view: ClaimView, name: string): ClaimStep {
  const { claim } = view;
  const volume = view.volume(name);
  if (volume === undefined) return { kind: "pending" };
  if (volume.spec?.claimRef === undefined) {
    const problem = mismatch(volume, claim);
    if (problem === undefined) return { kind: "bind", volume };
    const message = `Cannot bind to requested volume "${name}": ${problem}`;
    return { kind: "pending", event: { type: "Warning", reason: "VolumeMismatch", message } };
  }
  if (isVolumeOf(volume, claim)) return { kind: "bind", volume };
  const message = `volume "${name}" already bound to a different claim.`;
  const event: EventText = { type: "Warning", reason: "FailedBinding", message };
  if (!hasAnnotation(claim, boundByController)) return { kind: "pending", event };
  const error = `invalid binding of claim "${keyOfClaim(claim)}" to volume "${name}": volume already claimed by "${claimKeyOf(volume)}"`;
  return { kind: "contested", event, error };
}

function planBound(view: ClaimView): ClaimStep {
  const { claim } = view;
  const name = claim.spec?.volumeName ?? "";
  if (name === "") {
    const message =
      "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!";
    return { kind: "lost", event: { type: "Warning", reason: "ClaimLost", message } };
  }
  const volume = view.volume(name);
  if (volume === undefined) {
    const message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
    return { kind: "lost", event: { type: "Warning", reason: "ClaimLost", message } };
  }
  const { claimRef } = volume.spec ?? {};
  if (claimRef === undefined || claimRef.uid === claim.metadata?.uid) {
    return { kind: "bind", volume };
  }
  const message = "Two claims are bound to the same volume, this one is bound incorrectly";
  return { kind: "lost", event: { type: "Warning", reason: "ClaimMisbound", message } };
}
