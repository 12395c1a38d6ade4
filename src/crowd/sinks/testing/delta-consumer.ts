/** A consumer of the `deltas` format, written from its documentation alone. */
import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "#api/object.ts";

interface Message {
  readonly object?: JsonObject;
  readonly base?: string;
  readonly patch?: JsonObject;
}

export const isMap = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Applies a merge patch (RFC 7386, section 2). */
function merge(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isMap(patch)) return patch;
  const merged = new Map(Object.entries(isMap(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else if (value !== undefined) merged.set(name, merge(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

/** Keeps the objects from messages of the `deltas` format; throws when a message's base is not the state kept. */
export class DeltaConsumer {
  readonly #known = new Map<string, { resourceVersion: string; object: JsonValue }>();
  patches = 0;

  get(key: string): JsonValue | undefined {
    return this.#known.get(key)?.object;
  }

  /** Forgets an object that was deleted. */
  forget(key: string): void {
    this.#known.delete(key);
  }

  take(key: string, resourceVersion: string, bytes: Uint8Array): JsonValue {
    const { object, base, patch } = JSON.parse(new TextDecoder().decode(bytes)) as Message;
    const before = this.#known.get(key);
    if (object === undefined) {
      this.patches++;
      assert.equal(base, before?.resourceVersion, "a patch of something else");
    }
    const shown = object ?? merge(before?.object, patch ?? {});
    this.#known.set(key, { resourceVersion, object: shown });
    return shown;
  }
}
