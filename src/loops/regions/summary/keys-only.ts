/** A reflector's sink that stores only keys and passes the objects on. A summary needs no more of a region's nodes and pods. */
import type { KubeObject } from "#api/object.ts";
import { keyOf } from "#client/indexer.ts";
import type { ReflectorSink } from "#client/reflector.ts";

interface Keeper<T> {
  set(key: string, object: T): void;
  remove(key: string): void;
}

export function keysOnly<T extends KubeObject>(keeper: Keeper<T>): ReflectorSink<T> {
  const known = new Set<string>();
  const set = (object: T): void => {
    known.add(keyOf(object));
    keeper.set(keyOf(object), object);
  };
  const remove = (key: string): void => {
    known.delete(key);
    keeper.remove(key);
  };
  return {
    replace(items) {
      const there = new Set(items.map(keyOf));
      for (const key of known) if (!there.has(key)) remove(key);
      for (const item of items) set(item);
    },
    apply(events) {
      for (const { type, object } of events) {
        if (type === "ADDED" || type === "MODIFIED") set(object);
        else if (type === "DELETED") remove(keyOf(object));
      }
    },
  };
}
