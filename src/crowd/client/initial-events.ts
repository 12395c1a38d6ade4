/**
 * The first part of a watch with `sendInitialEvents`: the state as ADDED events, up to the bookmark that
 * ends it. The events are collected until then, so that a copy never shows half a state.
 *
 * Bounds the size of the state that the server holds, as for a list.
 * After  KEP-3157.
 */
import type { KubeObject } from "#api/object.ts";
import type { WatchedEvent } from "./client.ts";
import { keyOf } from "./indexer.ts";

const endAnnotation = "k8s.io/initial-events-end";

export class InitialEvents<T extends KubeObject> {
  readonly #objects: T[] = [];
  /** Set at the first event other than ADDED: the remaining objects of those before it. */
  #byKey: Map<string, T> | undefined;

  /** Takes events up to the end mark. @returns their number, including the mark; 0: the mark is still to come. */
  take(events: readonly WatchedEvent<T>[]): number {
    for (let at = 0; at < events.length; at++) {
      const event = events[at];
      if (event === undefined) break;
      if (event.type === "BOOKMARK") {
        if (isEnd(event.object)) return at + 1;
      } else if (event.type === "ADDED" && this.#byKey === undefined) {
        this.#objects.push(event.object); // nearly all: a map of them would be made for nothing
      } else this.#change(event);
    }
    return 0;
  }

  objects(): readonly T[] {
    return this.#byKey === undefined ? this.#objects : [...this.#byKey.values()];
  }

  #change({ type, object }: WatchedEvent<T>): void {
    this.#byKey ??= new Map(this.#objects.map((added) => [keyOf(added), added]));
    if (type === "DELETED") this.#byKey.delete(keyOf(object));
    else this.#byKey.set(keyOf(object), object);
  }
}

function isEnd({ metadata }: KubeObject): boolean {
  return metadata?.annotations?.[endAnnotation] === "true";
}
