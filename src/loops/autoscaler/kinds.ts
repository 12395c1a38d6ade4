/**
 * Pods that the scheduler judges alike are one kind, and the kinds are split in two: those whose fit depends on other
 * Pods in question are placed one by one, all others are counted.
 */
import type { NamespaceLabels, Selection } from "#scheduler/selection.ts";
import type { PodInfo } from "#scheduler/pod-info.ts";
import type { ScheduleAlgorithm } from "#scheduler/schedule-algorithm.ts";
import type { Room, Vector } from "./room.ts";

export interface Kind {
  /** One Pod that represents all Pods of the kind. */
  readonly sample: PodInfo;
  readonly demand: Vector;
  /** Whether placing one of these Pods, or another waiting Pod, may change where the next one fits. */
  readonly isCoupled: boolean;
  /** Pods without a place; the last one is placed first. */
  readonly left: PodInfo[];
}

/** Groups Pods into kinds, the large ones first, which is the order for bin packing. */
export function kindsOf(
  pods: readonly PodInfo[],
  {
    algorithm,
    room,
    namespaces,
  }: { algorithm: ScheduleAlgorithm; room: Room; namespaces: NamespaceLabels },
): Kind[] {
  const byKey = new Map<string, PodInfo[]>();
  for (const info of pods) {
    const key = algorithm.signatureOf(info);
    const known = byKey.get(key);
    if (known === undefined) byKey.set(key, [info]);
    else known.push(info);
  }
  const selections = selectionsOf(pods);
  const kinds = [...byKey.values()].map((left) => {
    const [sample] = left as [PodInfo, ...PodInfo[]]; // a list begins with its first Pod
    const isCoupled =
      isBound(sample) ||
      left.some((info) => selections.some((selection) => selection.matches(info, namespaces)));
    return { sample, demand: room.demand(sample.requests), isCoupled, left };
  });
  return kinds.toSorted((a, b) => sizeOf(b.sample) - sizeOf(a.sample));
}

/** Whether the fit of the Pod depends on more than Node objects and room. */
function isBound({
  affinity,
  antiAffinity,
  spreadHard,
  hostPorts,
  claims,
  disks,
  pod,
}: PodInfo): boolean {
  const terms = affinity.length + antiAffinity.length + spreadHard.length;
  const devices = pod.spec?.resourceClaims?.length ?? 0;
  return terms + hostPorts.length + claims.length + disks.length + devices > 0;
}

/** Selectors of these Pods' affinity and spreading. The place of a Pod that one of them selects decides where others may run. */
function selectionsOf(pods: readonly PodInfo[]): readonly Selection[] {
  const byKey = new Map<string, Selection>();
  for (const { affinity, antiAffinity, spreadHard } of pods) {
    for (const { selection } of [...affinity, ...antiAffinity, ...spreadHard]) {
      byKey.set(selection.key, selection);
    }
  }
  return [...byKey.values()];
}

/** Returns one size for cores and memory. One core counts as 4 GiB, the usual ratio of machines. */
function sizeOf({ requests: { cpu, memory } }: PodInfo): number {
  return cpu / 1_000 + memory / 2 ** 32;
}
