/**
 * The catalog: every kind that is served now, found by the path of a request. Built-in kinds are made on first use, so
 * that the start is not delayed. Custom kinds are looked up at each request (`CustomKinds`).
 */
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { Registry } from "#registry/resource-store.ts";
import { builtinKind } from "./builtin-kind.ts";
import type { CustomDefinition } from "./openapi/model.ts";
import type { Catalog, CustomKinds, ServedKind } from "./kind.ts";

export class ResourceCatalog implements Catalog {
  readonly #registry: Registry;
  readonly #builtins: ReadonlyMap<string, ResourceInfo>;
  readonly #made = new Map<string, ServedKind>();
  readonly #listeners = new Set<() => void>();
  #custom: CustomKinds | undefined;

  constructor(registry: Registry, builtins: readonly ResourceInfo[]) {
    this.#registry = registry;
    this.#builtins = new Map(builtins.map((info) => [pathKey(info), info]));
  }

  find(group: string, version: string, resource: string): ServedKind | undefined {
    const key = pathKey({ group, version, resource });
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const info = this.#builtins.get(key);
    return info === undefined
      ? this.#custom?.find(group, version, resource)
      : this.#make(key, info);
  }

  builtins(): readonly ResourceInfo[] {
    return [...this.#builtins.values()];
  }

  infos(): readonly ResourceInfo[] {
    return [...this.#builtins.values(), ...(this.#custom?.infos() ?? [])];
  }

  /** OpenAPI definitions of custom kinds. */
  definitions(): readonly CustomDefinition[] {
    return this.#custom?.definitions() ?? [];
  }

  /** Adds the kinds beyond the built-in ones; a built-in kind takes precedence. Call once. */
  serveCustom(kinds: CustomKinds): void {
    this.#custom = kinds;
  }

  customCounts(): Iterable<readonly [string, number]> {
    return this.#custom?.counts() ?? [];
  }

  /** Call when the custom kinds have changed: products of `infos` are out of date. */
  changed(): void {
    for (const changed of this.#listeners) changed();
  }

  /** Registers a callback for every change of custom kinds, to remake documents made from `infos`. */
  onChange(changed: () => void): void {
    this.#listeners.add(changed);
  }

  #make(key: string, info: ResourceInfo): ServedKind {
    const store = info.storage === undefined ? undefined : this.#registry.store(info);
    const kind = builtinKind(info, store);
    this.#made.set(key, kind);
    return kind;
  }
}

function pathKey(path: {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}): string {
  return `${path.group}/${path.version}/${path.resource}`;
}
