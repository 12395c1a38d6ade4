/**
 * ImageLocality: nodes that already have the Pod's images score better. The score grows with the size of the images and
 * with the number of nodes that have them, so that not all Pods go to the first node that pulled an image.
 * After  k/k pkg/scheduler/framework/plugins/imagelocality.
 */
import type { Pod } from "#api/gen/types.ts";
import type { Cycle } from "../cycle.ts";
import type { NodeTable } from "../node-table.ts";
import type { Plugin } from "../plugin.ts";

const mebibyte = 1024 * 1024;
/** Minimum image size in bytes that scores; smaller images are pulled in negligible time. */
const leastBytes = 23 * mebibyte;
/** Maximum number of bytes per container that scores. */
const mostBytesPerContainer = 1_000 * mebibyte;

export function imageLocality(): Plugin {
  return {
    name: "ImageLocality",
    isIdle: ({ pod }, { nodes }) => !isHeld(heldImages(pod, nodes)),
    score: { weight: 1, run: scoreImages },
  };
}

function scoreImages(cycle: Cycle, scores: Float64Array): boolean {
  const { feasible, count, info } = cycle;
  const { nodes } = cycle.cache;
  const held = heldImages(info.pod, nodes);
  if (!isHeld(held)) return false;
  const most = mostBytesPerContainer * containerCount(info.pod);
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    let sum = 0;
    for (const { slots, share } of held) if (slots.has(slot)) sum += share;
    const counted = Math.min(Math.max(sum, leastBytes), most);
    scores[slot] = Math.trunc((100 * (counted - leastBytes)) / (most - leastBytes));
  }
  return true;
}

interface Held {
  readonly slots: ReadonlySet<number>;
  /** Number of bytes that the image contributes on a node that has it. */
  readonly share: number;
}

function heldImages(pod: Pod, nodes: NodeTable): readonly Held[] {
  return imagesOf(pod).flatMap((name) => {
    const image = nodes.images.find(normalName(name));
    if (image === undefined) return [];
    const { bytes, slots } = image;
    return [{ slots, share: Math.trunc(bytes * (slots.size / nodes.size)) }];
  });
}

function isHeld(held: readonly Held[]): boolean {
  return held.reduce((sum, { share }) => sum + share, 0) > leastBytes;
}

/** Returns the images of the Pod; an image of several containers is listed once for each. */
function imagesOf({ spec }: Pod): readonly string[] {
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  const mounted = (spec?.volumes ?? []).flatMap(({ image }) => image?.reference ?? []);
  return [...containers.flatMap(({ image }) => image ?? []), ...mounted];
}

function containerCount({ spec }: Pod): number {
  return (spec?.initContainers ?? []).length + (spec?.containers ?? []).length;
}

/** Returns the image name with a tag, as container runtimes list it. */
function normalName(name: string): string {
  return name.lastIndexOf(":") <= name.lastIndexOf("/") ? `${name}:latest` : name;
}
