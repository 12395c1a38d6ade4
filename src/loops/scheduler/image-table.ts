/**
 * Knows which nodes have which images, as kubelets report them: at most 50 images per node.
 *
 * Holds  `nodesWith(name)` are the slots of nodes whose status lists the image under this name.
 * Cost   about 40 bytes for each name that a node reports, without the Node object.
 * After  k/k pkg/scheduler/backend/cache/cache.go: the size of an image is the one that its first node reported.
 */
import type { Node } from "#api/gen/types.ts";

interface Image {
  readonly bytes: number;
  readonly slots: Set<number>;
}

type Images = NonNullable<Node["status"]>["images"];

export class ImageTable {
  readonly #images = new Map<string, Image>();

  /** Applies a node's change: `old` and `now` are its image lists before and after. */
  change(slot: number, old: Images, now: Images): void {
    if (old === now) return;
    for (const name of namesOf(old)) this.#remove(name, slot);
    for (const { names, sizeBytes = 0 } of now ?? []) {
      for (const name of names ?? []) this.#add(name, Number(sizeBytes), slot);
    }
  }

  find(name: string): Readonly<Image> | undefined {
    return this.#images.get(name);
  }

  #add(name: string, bytes: number, slot: number): void {
    const known = this.#images.get(name);
    if (known === undefined) this.#images.set(name, { bytes, slots: new Set([slot]) });
    else known.slots.add(slot);
  }

  #remove(name: string, slot: number): void {
    const known = this.#images.get(name);
    known?.slots.delete(slot);
    if (known?.slots.size === 0) this.#images.delete(name);
  }
}

function namesOf(images: Images): readonly string[] {
  return (images ?? []).flatMap(({ names }) => names ?? []);
}
