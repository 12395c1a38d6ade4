/**
 * NodeVolumeLimits: limits the volumes of a CSI driver on a node to the number that its CSINode allows.
 *
 * Counted are the volumes of Pods on the node, assumed ones included, and those still attached to it, each once;
 * a claim without a volume counts as one of its class's provisioner.
 * In-tree volumes written into Pods count on nodes where a driver does their plugin's work.
 * Cost   nothing for Pods without such volumes; otherwise a walk over the volumes of a node's Pods, if the node has a
 *        limit.
 * After  k/k pkg/scheduler/framework/plugins/nodevolumelimits.
 */
import type { PersistentVolumeClaim } from "#api/gen/types.ts";
import { classOfClaim } from "#api/volumes/binding.ts";
import { asCsi, type InlineDisk } from "#api/volumes/csi-migration.ts";
import type { VolumeLookup } from "../claims.ts";
import { signClaims } from "../claims.ts";
import { isMigratedOn, schedulable, schedulableDriver } from "../csi-migration.ts";
import type { Cycle } from "../cycle.ts";
import type { Plugin, PluginDeps } from "../plugin.ts";
import type { PodInfo } from "../pod-info.ts";
import { reasonId } from "../reasons.ts";

const name = "NodeVolumeLimits";
const limitExceeded = reasonId(name, "node(s) exceed max volume count", true);

/** By `driver/handle`: the driver of the volume. */
type DriverByVolume = ReadonlyMap<string, string>;

export function nodeVolumeLimits({ volumes }: PluginDeps): Plugin {
  return {
    name,
    filter: (cycle) => keepWithinLimits(cycle, volumes),
    isIdle: ({ claims, disks }) => claims.length === 0 && disks.length === 0,
    sign: (info) => signClaims(info) + info.disks.map(volumeOfDisk).join(" "),
    hint(event, info) {
      if (event.kind === "pod-gone") return event.slot === undefined ? "queue" : "queue-if-fits";
      if (event.kind !== "volumes") return "skip";
      const { claims } = event;
      if (claims === undefined) return "queue";
      return info.claims.some((claim) => claims.has(`${info.namespace}/${claim}`))
        ? "queue"
        : "skip";
    },
  };
}

function keepWithinLimits(cycle: Cycle, lookup: VolumeLookup): void {
  const wanted = driversOf(cycle.info, lookup);
  if (wanted.size === 0 && cycle.info.disks.length === 0) return;
  cycle.keep((slot) => (isWithinLimits(cycle, slot, wanted, lookup) ? -1 : limitExceeded));
}

function isWithinLimits(
  { cache, info: pod }: Cycle,
  slot: number,
  wanted: DriverByVolume,
  lookup: VolumeLookup,
): boolean {
  const nodeName = cache.nodes.node(slot).metadata?.name ?? "";
  const limits = limitsOf(nodeName, lookup);
  if (limits.size === 0) return true;
  const held = new Map<string, string>();
  for (const info of cache.volumeUsersOn(slot)) {
    for (const [volume, driver] of driversOf(info, lookup)) held.set(volume, driver);
    for (const [volume, driver] of disksOn(nodeName, info, lookup)) held.set(volume, driver);
  }
  const all = new Map([...wanted, ...disksOn(nodeName, pod, lookup)]);
  const added = [...all].filter(([volume]) => !held.has(volume));
  for (const [volume, driver] of attachedTo(nodeName, lookup)) held.set(volume, driver);
  const counts = countByDriver(held.values());
  const more = countByDriver(added.map(([, driver]) => driver));
  return [...more].every(
    ([driver, count]) => (counts.get(driver) ?? 0) + count <= (limits.get(driver) ?? Infinity),
  );
}

function limitsOf(nodeName: string, lookup: VolumeLookup): ReadonlyMap<string, number> {
  const limits = new Map<string, number>();
  for (const { name: driver, allocatable } of lookup.csiNode(nodeName)?.spec.drivers ?? []) {
    if (allocatable?.count !== undefined) limits.set(driver, allocatable.count);
  }
  return limits;
}

function driversOf({ claims, namespace }: PodInfo, lookup: VolumeLookup): DriverByVolume {
  const drivers = new Map<string, string>();
  for (const claimName of claims) {
    const claim = lookup.claim(namespace, claimName);
    if (claim === undefined) continue;
    const [driver, handle] = driverOf(claim, lookup);
    if (driver !== "" && handle !== "") drivers.set(`${driver}/${handle}`, driver);
  }
  return drivers;
}

function* disksOn(
  nodeName: string,
  { disks }: PodInfo,
  lookup: VolumeLookup,
): Generator<readonly [volume: string, driver: string]> {
  if (disks.length === 0) return;
  const node = lookup.csiNode(nodeName);
  for (const disk of disks) {
    if (isMigratedOn(node, disk.plugin)) yield [volumeOfDisk(disk), disk.driver];
  }
}

function volumeOfDisk({ driver, handle }: InlineDisk): string {
  return `${driver}/${handle}`;
}

/** Returns the driver of the claim's volume, or of its class before it has one, with a handle that no volume has. */
function driverOf(
  claim: PersistentVolumeClaim,
  lookup: VolumeLookup,
): readonly [driver: string, handle: string] {
  const volume = lookup.volume(claim.spec?.volumeName ?? "");
  if (volume !== undefined) {
    const { driver = "", volumeHandle = "" } = schedulable(volume).spec?.csi ?? {};
    return [driver, volumeHandle];
  }
  const { namespace = "", name: claimName = "" } = claim.metadata ?? {};
  const provisioner = lookup.storageClass(classOfClaim(claim))?.provisioner ?? "";
  return [schedulableDriver(provisioner), `\u0000${namespace}/${claimName}`];
}

function* attachedTo(
  nodeName: string,
  lookup: VolumeLookup,
): Generator<readonly [volume: string, driver: string]> {
  for (const { spec } of lookup.attachmentsTo(nodeName)) {
    const volume = lookup.volume(spec.source.persistentVolumeName ?? "");
    const source = volume === undefined ? undefined : asCsi(volume).spec?.csi;
    if (spec.attacher === "" || source === undefined) continue;
    yield [`${spec.attacher}/${source.volumeHandle}`, spec.attacher];
  }
}

function countByDriver(drivers: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const driver of drivers) counts.set(driver, (counts.get(driver) ?? 0) + 1);
  return counts;
}
