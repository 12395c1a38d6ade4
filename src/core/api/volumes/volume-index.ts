/**
 * Index of volumes by the properties that claims require: access modes, class, volume mode, attributes class, size,
 * host.
 *
 * Holds  a volume is in `free` of its access modes exactly while a claim may take it: Available, no
 *        claimRef, not being deleted; and in `reserved` while its claimRef names a claim. Lists are
 *        ordered by size, then name, so the first that fits is the smallest.
 * Cost   set and delete O(log n) plus a move within one list; a choice O(mode sets) plus the volumes
 *        that the claim's selector or the node refuses. Bounds: one entry per volume, in three lists.
 * After  k/k pkg/controller/volume/persistentvolume/index.go, which scans all volumes of a mode set.
 */
import type { Node, PersistentVolume, PersistentVolumeClaim } from "../gen/types.ts";
import type { LabelSelector } from "../selectors/label-selector.ts";
import { labelsMatch, selectorFromLabelSelector } from "../selectors/label-selector.ts";
import { nodeSelectorMatches } from "../selectors/node-match.ts";
import {
  attributesClass,
  claimKeyOf,
  classOfClaim,
  classOfVolume,
  isVolumeOf,
  keyOfClaim,
  requestedNanos,
  storageNanos,
  volumeMode,
} from "./binding.ts";

const hostLabel = "kubernetes.io/hostname";

interface Entry {
  readonly name: string;
  readonly nanos: bigint;
  readonly volume: PersistentVolume;
}

/** The free volumes of one class, mode and attributes class. */
interface Bucket {
  readonly all: Entry[];
  /** Volumes that only one host can use, by host; and all others. */
  readonly byHost: Map<string, Entry[]>;
  readonly anyHost: Entry[];
}

interface ModeSet {
  readonly modes: readonly string[];
  readonly free: Map<string, Bucket>;
  /** By key of the claim, then by name. */
  readonly reserved: Map<string, Map<string, PersistentVolume>>;
}

export class VolumeIndex {
  readonly #volumes = new Map<string, PersistentVolume>();
  readonly #sets = new Map<string, ModeSet>();

  get(name: string): PersistentVolume | undefined {
    return this.#volumes.get(name);
  }

  set(volume: PersistentVolume): void {
    const name = volume.metadata?.name ?? "";
    this.delete(name);
    this.#volumes.set(name, volume);
    const set = this.#setOf(volume);
    const claimKey = claimKeyOf(volume);
    if (claimKey !== undefined) {
      const known = set.reserved.get(claimKey);
      if (known === undefined) set.reserved.set(claimKey, new Map([[name, volume]]));
      else known.set(name, volume);
    } else if (isFree(volume)) insertFree(set, volume);
  }

  delete(name: string): void {
    const volume = this.#volumes.get(name);
    if (volume === undefined) return;
    this.#volumes.delete(name);
    const key = modesKey(volume);
    const set = this.#sets.get(key);
    if (set === undefined) return;
    const claimKey = claimKeyOf(volume);
    if (claimKey !== undefined) {
      const known = set.reserved.get(claimKey);
      known?.delete(name);
      if (known?.size === 0) set.reserved.delete(claimKey);
    } else if (isFree(volume)) removeFree(set, volume);
    if (set.free.size === 0 && set.reserved.size === 0) this.#sets.delete(key);
  }

  /**
   * Returns the volume for the claim: among those with the fewest sufficient access modes, the one reserved for it, or
   * the smallest. `isDelayed`: only a reserved one, because the scheduler chooses among the others.
   */
  best(claim: PersistentVolumeClaim, isDelayed: boolean): PersistentVolume | undefined {
    const wanted = wishesOf(claim);
    for (const set of this.#suitableSets(claim)) {
      const reserved = reservedFor(set, claim, wanted);
      if (reserved !== undefined) return reserved;
      if (isDelayed) continue;
      const found = firstFit(set.free.get(wanted.bucket)?.all, wanted, () => true);
      if (found !== undefined) return found.volume;
    }
    return undefined;
  }

  /** Like `best`, among volumes of the claim's class that the node can use, without those in `taken`. */
  bestOn(
    claim: PersistentVolumeClaim,
    node: Node,
    taken: ReadonlySet<string>,
  ): PersistentVolume | undefined {
    const wanted = wishesOf(claim);
    let best: Entry | undefined;
    for (const set of this.#suitableSets(claim)) {
      const reserved = reservedFor(set, claim, wanted);
      const isOfClass = reserved !== undefined && classOfVolume(reserved) === classOfClaim(claim);
      if (isOfClass && !taken.has(reserved.metadata?.name ?? "")) {
        return isUsableOn(reserved, node) ? reserved : undefined;
      }
      const bucket = set.free.get(wanted.bucket);
      if (bucket === undefined) continue;
      const fits = ({ name, volume }: Entry): boolean =>
        !taken.has(name) && isUsableOn(volume, node);
      const host = node.metadata?.labels?.[hostLabel] ?? "";
      for (const list of [bucket.byHost.get(host), bucket.anyHost]) {
        const found = firstFit(list, wanted, fits);
        if (found !== undefined && (best === undefined || found.nanos < best.nanos)) best = found;
      }
    }
    return best?.volume;
  }

  /** Sets whose access modes include the claim's, those with fewest modes first. */
  #suitableSets(claim: PersistentVolumeClaim): readonly ModeSet[] {
    const wanted = claim.spec?.accessModes ?? [];
    const suitable: ModeSet[] = [];
    for (const set of this.#sets.values()) {
      if (wanted.every((mode) => set.modes.includes(mode))) suitable.push(set);
    }
    return suitable.sort((a, b) => a.modes.length - b.modes.length);
  }

  #setOf(volume: PersistentVolume): ModeSet {
    const key = modesKey(volume);
    let set = this.#sets.get(key);
    if (set === undefined) {
      set = { modes: key.split(","), free: new Map(), reserved: new Map() };
      this.#sets.set(key, set);
    }
    return set;
  }
}

/** Checks only the node affinity. */
export function isUsableOn(volume: PersistentVolume, node: Node): boolean {
  const required = volume.spec?.nodeAffinity?.required;
  return required === undefined || nodeSelectorMatches(required, node);
}

interface Wishes {
  readonly bucket: string;
  readonly nanos: bigint;
  readonly mode: string;
  readonly attributes: string;
  readonly selector: LabelSelector | undefined;
}

function wishesOf(claim: PersistentVolumeClaim): Wishes {
  const selector = claim.spec?.selector;
  const mode = volumeMode(claim);
  const attributes = attributesClass(claim);
  return {
    bucket: bucketKey(classOfClaim(claim), mode, attributes),
    nanos: requestedNanos(claim),
    mode,
    attributes,
    selector: selector === undefined ? undefined : selectorFromLabelSelector(selector),
  };
}

function reservedFor(
  set: ModeSet,
  claim: PersistentVolumeClaim,
  wanted: Wishes,
): PersistentVolume | undefined {
  for (const volume of set.reserved.get(keyOfClaim(claim))?.values() ?? []) {
    const fits =
      isVolumeOf(volume, claim) &&
      volume.metadata?.deletionTimestamp === undefined &&
      storageNanos(volume.spec?.capacity) >= wanted.nanos &&
      volumeMode(volume) === wanted.mode &&
      attributesClass(volume) === wanted.attributes;
    if (fits) return volume;
  }
  return undefined;
}

function firstFit(
  list: readonly Entry[] | undefined,
  wanted: Wishes,
  fits: (entry: Entry) => boolean,
): Entry | undefined {
  if (list === undefined) return undefined;
  for (let i = lowerBound(list, wanted.nanos, ""); i < list.length; i++) {
    const entry = list[i];
    if (entry === undefined) break;
    const { selector } = wanted;
    const isSelected =
      selector === undefined || labelsMatch(selector, entry.volume.metadata?.labels ?? {});
    if (isSelected && fits(entry)) return entry;
  }
  return undefined;
}

function isFree(volume: PersistentVolume): boolean {
  const isGoing = volume.metadata?.deletionTimestamp !== undefined;
  return volume.status?.phase === "Available" && !isGoing && volume.spec?.claimRef === undefined;
}

function insertFree(set: ModeSet, volume: PersistentVolume): void {
  const key = bucketOf(volume);
  let bucket = set.free.get(key);
  if (bucket === undefined) {
    bucket = { all: [], byHost: new Map(), anyHost: [] };
    set.free.set(key, bucket);
  }
  const name = volume.metadata?.name ?? "";
  const entry = { name, nanos: storageNanos(volume.spec?.capacity), volume };
  insert(bucket.all, entry);
  const host = hostOf(volume);
  if (host === undefined) return insert(bucket.anyHost, entry);
  const list = bucket.byHost.get(host);
  if (list === undefined) bucket.byHost.set(host, [entry]);
  else insert(list, entry);
}

function removeFree(set: ModeSet, volume: PersistentVolume): void {
  const key = bucketOf(volume);
  const bucket = set.free.get(key);
  if (bucket === undefined) return;
  const nanos = storageNanos(volume.spec?.capacity);
  const name = volume.metadata?.name ?? "";
  remove(bucket.all, nanos, name);
  const host = hostOf(volume);
  const list = host === undefined ? bucket.anyHost : bucket.byHost.get(host);
  if (list !== undefined) remove(list, nanos, name);
  if (host !== undefined && list?.length === 0) bucket.byHost.delete(host);
  if (bucket.all.length === 0) set.free.delete(key);
}

function insert(list: Entry[], entry: Entry): void {
  list.splice(lowerBound(list, entry.nanos, entry.name), 0, entry);
}

function remove(list: Entry[], nanos: bigint, name: string): void {
  const index = lowerBound(list, nanos, name);
  if (list[index]?.name === name) list.splice(index, 1);
}

/** Index of the first entry that is not before (nanos, name). */
function lowerBound(list: readonly Entry[], nanos: bigint, name: string): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = list[middle];
    const isBefore =
      entry !== undefined && (entry.nanos < nanos || (entry.nanos === nanos && entry.name < name));
    if (isBefore) low = middle + 1;
    else high = middle;
  }
  return low;
}

function modesKey(volume: PersistentVolume): string {
  return [...new Set(volume.spec?.accessModes ?? [])].sort().join(",");
}

function bucketOf(volume: PersistentVolume): string {
  return bucketKey(classOfVolume(volume), volumeMode(volume), attributesClass(volume));
}

function bucketKey(storageClass: string, mode: string, attributes: string): string {
  return JSON.stringify([storageClass, mode, attributes]);
}

/** The single host that a local volume names; undefined when the affinity has another form. */
function hostOf(volume: PersistentVolume): string | undefined {
  const terms = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  if (terms.length !== 1) return undefined;
  for (const { key, operator, values = [] } of terms[0]?.matchExpressions ?? []) {
    if (key === hostLabel && operator === "In" && values.length === 1) return values[0];
  }
  return undefined;
}
