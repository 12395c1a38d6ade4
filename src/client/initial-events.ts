/**
 * The first part of a watch with `sendInitialEvents`: the state as ADDED events, up to the bookmark that
 * ends it. Kept aside until then, so that a copy never shows half a state.
 *
 * Bounds as a list: what the server holds.
 * After  KEP-3157.
 */
import type { KubeObject } from "#api/object.ts";
import type { WatchedEvent } from "./client.ts";
import { keyOf } from "./indexer.ts";

const endAnnotation = "k8s.io/initial-events-end";

export class InitialEvents<T extends KubeObject> {
  readonly #objects = new Map<string, T>();

  /** Takes events up to the end mark. @returns how many those are, the mark included; 0: it is still to come. */
  take(events: readonly WatchedEvent<T>[]): number {
    for (const [at, { type, object }] of events.entries()) {
      if (type === "BOOKMARK" && isEnd(object)) return at + 1;
      if (type === "DELETED") this.#objects.delete(keyOf(object));
      else if (type !== "BOOKMARK") this.#objects.set(keyOf(object), object);
    }
    return 0;
  }

  objects(): readonly T[] {
    return [...this.#objects.values()];
  }
}

function isEnd({ metadata }: KubeObject): boolean {
  return metadata?.annotations?.[endAnnotation] === "true";
}
