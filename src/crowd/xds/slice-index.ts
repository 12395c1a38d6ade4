/** EndpointSlices, indexed by the key of the service that one of their labels names. */
import type { EndpointSlice } from "#api/gen/types.ts";

export class SliceIndex {
  readonly #label: string;
  readonly #slices = new Map<string, EndpointSlice>();
  /** Keys of slices. By key: that of the service. */
  readonly #keys = new Map<string, Set<string>>();

  constructor(label: string) {
    this.#label = label;
  }

  /** Sets a slice; undefined when it was deleted. @returns the services whose slices changed. */
  set(key: string, slice: EndpointSlice | undefined): readonly string[] {
    const before = this.#serviceOf(this.#slices.get(key));
    const after = this.#serviceOf(slice);
    if (slice === undefined || after === undefined) this.#slices.delete(key);
    else this.#slices.set(key, slice);
    if (before !== after) {
      if (before !== undefined) this.#forget(before, key);
      if (after !== undefined) this.#keys.set(after, (this.#keys.get(after) ?? new Set()).add(key));
    }
    return [before, after].filter((one) => one !== undefined);
  }

  /** Slices of a service, sorted by name, so that the order depends on names alone. */
  of(service: string): readonly EndpointSlice[] {
    const keys = [...(this.#keys.get(service) ?? [])].sort();
    return keys.flatMap((key) => this.#slices.get(key) ?? []);
  }

  #forget(service: string, key: string): void {
    const keys = this.#keys.get(service);
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(service);
  }

  #serviceOf(slice: EndpointSlice | undefined): string | undefined {
    const name = slice?.metadata?.labels?.[this.#label];
    return name === undefined ? undefined : `${slice?.metadata?.namespace ?? ""}/${name}`;
  }
}
