/** Computes the statuses that the binder writes; returns the given object if it is up to date. Pure. */
import type { PersistentVolume, PersistentVolumeClaim } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { tryParseQuantity } from "#api/values/quantity.ts";
import { annotationOf, storageNanos } from "#api/volumes/binding.ts";

/** Set while the node still has to grow the file system to the volume's capacity. */
const preResizeCapacity = "volume.alpha.kubernetes.io/pre-resize-capacity";

/** For Pending and Lost: the status contains no data of a volume. */
export function unboundClaimStatus(
  claim: PersistentVolumeClaim,
  phase: "Pending" | "Lost",
): PersistentVolumeClaim {
  const { accessModes, capacity, currentVolumeAttributesClassName, ...rest } = claim.status ?? {};
  const isBare =
    accessModes === undefined &&
    capacity === undefined &&
    currentVolumeAttributesClassName === undefined;
  if (isBare && rest.phase === phase) return claim;
  return { ...claim, status: { ...rest, phase } };
}

/** Sizes are copied when the claim becomes Bound; later the resizer writes them. */
export function boundClaimStatus(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
): PersistentVolumeClaim {
  const old = claim.status ?? {};
  const { accessModes, capacity, volumeAttributesClassName } = volume.spec ?? {};
  const modes = jsonEqual(old.accessModes, accessModes) ? {} : { accessModes: accessModes ?? [] };
  const isNew = old.phase !== "Bound";
  const attributes =
    old.phase === "Pending" && volumeAttributesClassName !== undefined
      ? { currentVolumeAttributesClassName: volumeAttributesClassName }
      : {};
  const size = isNew ? { capacity: capacityOf(claim, volume, capacity ?? {}) } : {};
  const status = { ...old, ...modes, ...size, ...attributes, phase: "Bound" };
  return jsonEqual(status, old) ? claim : { ...claim, status };
}

function capacityOf(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
  capacity: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const before = annotationOf(volume, preResizeCapacity);
  if (before !== undefined) {
    const isReadable = tryParseQuantity(before) !== undefined;
    const storage = isReadable ? before : (capacity["storage"] ?? "0");
    return { ...claim.status?.capacity, storage };
  }
  const now = claim.status?.capacity;
  const isSame = now !== undefined && storageNanos(now) === storageNanos(capacity);
  return isSame ? now : capacity;
}

/** `since`: time of the phase change for `lastPhaseTransitionTime`. */
export function volumeWithPhase(
  volume: PersistentVolume,
  wanted: { readonly phase: string; readonly since: string; readonly message?: string },
): PersistentVolume {
  const { since: lastPhaseTransitionTime, ...said } = wanted;
  if (volume.status?.phase === said.phase) return volume;
  const { message: _, ...rest } = volume.status ?? {};
  return { ...volume, status: { ...rest, ...said, lastPhaseTransitionTime } };
}
