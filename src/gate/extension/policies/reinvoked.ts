/**
 * Decides which mutating policies run again in the second mutating pass of a write.
 *
 * Holds  only those with reinvocationPolicy IfNeeded that ran in a pass that changed the object, or before a later
 *        change. As in upstream, a policy's own change counts, unlike that of a webhook.
 */
import { jsonEqual } from "#api/json/json-value.ts";
import type { AnyObject } from "#api/object.ts";

export class Reinvoked {
  readonly #due = new Set<string>();
  #ran = new Set<string>();
  #left: AnyObject | undefined;

  /** Notes that `key` ran, and must run again after a later change. */
  add(key: string): void {
    this.#ran.add(key);
  }

  /** Makes all keys due that ran so far, because the object has changed. */
  requireAll(): void {
    for (const key of this.#ran) this.#due.add(key);
    this.#ran = new Set();
  }

  isDue(key: string): boolean {
    return this.#due.has(key);
  }

  /** Ends the pass with `object` as its result. */
  finish(object: AnyObject): void {
    this.#left = object;
  }

  /** Begins the second pass with `object`, which other plugins may have changed. */
  resume(object: AnyObject): void {
    if (!jsonEqual(this.#left, object)) this.requireAll();
  }
}
