/** Views of one resource by their selection; beyond a limit the least recently requested one is dropped. */
import type { Place } from "#server/place.ts";
import type { RelayLimits } from "../limits.ts";
import { type Selectors, fieldText, predicateOf } from "../kubernetes/read-query.ts";
import { objectsForm } from "./view-form.ts";
import { View, type ViewDeps } from "./view.ts";

export class Views {
  readonly #deps: ViewDeps;
  readonly #limits: RelayLimits;
  readonly #views = new Map<string, View>();

  constructor(deps: ViewDeps, limits: RelayLimits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  get size(): number {
    return this.#views.size;
  }

  get waiting(): number {
    let sum = 0;
    for (const view of this.#views.values()) sum += view.waiting;
    return sum;
  }

  get({ namespace }: Place, labelSelector: string, selectors: Selectors): View {
    // The key is JSON, because namespaces in paths and selectors may contain any separator.
    const key = JSON.stringify([namespace, labelSelector, fieldText(selectors)]);
    const known = this.#views.get(key);
    this.#views.delete(key);
    const view = known === undefined || known.ended ? this.#make(namespace, selectors) : known;
    this.#views.set(key, view);
    this.#trim();
    return view;
  }

  #make(namespace: string, selectors: Selectors): View {
    const { kind } = this.#deps.mirror;
    const predicate = predicateOf(kind, namespace, selectors);
    const spec = { predicate, form: objectsForm(kind), zone: undefined };
    return new View(this.#deps, spec, this.#limits);
  }

  #trim(): void {
    for (const [key, view] of this.#views) {
      if (this.#views.size <= this.#limits.viewsMax) return;
      this.#views.delete(key);
      view.close();
    }
  }
}
