/**
 * Counts the open watches that may see a write: those of its resource in all namespaces, in its namespace, or of its
 * name.
 *
 * Holds  one count per scope with an open watch; no other entries.
 * After  apiserver pkg/util/flowcontrol/watch_tracker.go: watches of the pods of one node are not counted, because an
 *        index finds the one that a write concerns.
 */
import type { FlowFacts } from "./classify.ts";

/** By resource: field with an index of its own. */
const indexedFields: ReadonlyMap<string, string> = new Map([["/pods", "spec.nodeName"]]);

export class WatchCount {
  readonly #counts = new Map<string, number>();

  /** Counts a watch. @returns a function that removes it from the count; idempotent. */
  open(facts: FlowFacts, query: URLSearchParams): () => void {
    if (isByIndex(facts, query)) return () => {};
    const place = placeOf(facts, facts.namespace, facts.name);
    this.#counts.set(place, (this.#counts.get(place) ?? 0) + 1);
    let isOpen = true;
    return () => {
      if (isOpen) this.#leave(place);
      isOpen = false;
    };
  }

  /** Returns the number of watches that a write may reach. A write that creates an object has no name. */
  of(facts: FlowFacts): number {
    if (this.#counts.size === 0) return 0;
    const { namespace, name } = facts;
    const all = this.#at(facts, "", "");
    const inNamespace = namespace === "" ? 0 : this.#at(facts, namespace, "");
    return all + inNamespace + (name === "" ? 0 : this.#at(facts, namespace, name));
  }

  #at(facts: FlowFacts, namespace: string, name: string): number {
    return this.#counts.get(placeOf(facts, namespace, name)) ?? 0;
  }

  #leave(place: string): void {
    const left = (this.#counts.get(place) ?? 0) - 1;
    if (left > 0) this.#counts.set(place, left);
    else this.#counts.delete(place);
  }
}

function placeOf({ group, resource }: FlowFacts, namespace: string, name: string): string {
  return `${group}/${resource}/${namespace}/${name}`;
}

function isByIndex({ group, resource }: FlowFacts, query: URLSearchParams): boolean {
  const field = indexedFields.get(`${group}/${resource}`);
  const selector = field === undefined ? null : query.get("fieldSelector");
  if (field === undefined || selector === null) return false;
  return selector.split(",").some((one) => {
    const [name, value = ""] = one.split(/==?/, 2);
    return name?.trim() === field && value !== "";
  });
}
