/**
 * The catalog: every kind served now, found by the path of a request. Built-ins are made on first use,
 * so a start pays for none of them; custom kinds are added and removed while the server runs.
 */
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { Registry } from "#registry/resource-store.ts";
import { builtinKind } from "./builtin-kind.ts";
import type { CustomDefinition } from "./openapi/model.ts";
import type { Catalog, ServedKind } from "./kind.ts";

export class ResourceCatalog implements Catalog {
  readonly #registry: Registry;
  readonly #builtins: ReadonlyMap<string, ResourceInfo>;
  readonly #made = new Map<string, ServedKind>();
  readonly #custom = new Map<string, ServedKind>();
  readonly #listeners = new Set<() => void>();

  constructor(registry: Registry, builtins: readonly ResourceInfo[]) {
    this.#registry = registry;
    this.#builtins = new Map(builtins.map((info) => [pathKey(info), info]));
  }

  find(group: string, version: string, resource: string): ServedKind | undefined {
    const key = pathKey({ group, version, resource });
    const known = this.#made.get(key) ?? this.#custom.get(key);
    if (known !== undefined) return known;
    const info = this.#builtins.get(key);
    return info === undefined ? undefined : this.#make(key, info);
  }

  infos(): readonly ResourceInfo[] {
    const custom = [...this.#custom.values()].map((kind) => kind.resource);
    return [...this.#builtins.values(), ...custom];
  }

  /** OpenAPI definitions of custom kinds. */
  definitions(): readonly CustomDefinition[] {
    return [...this.#custom.values()].flatMap((kind) => kind.definitions ?? []);
  }

  /** Replaces what was served at the same path. Built-ins are never replaced. */
  addCustom(kind: ServedKind): void {
    const key = pathKey(kind.resource);
    if (this.#builtins.has(key)) return;
    this.#custom.set(key, kind);
    for (const changed of this.#listeners) changed();
  }

  removeCustom(path: {
    readonly group: string;
    readonly version: string;
    readonly resource: string;
  }): void {
    if (!this.#custom.delete(pathKey(path))) return;
    for (const changed of this.#listeners) changed();
  }

  /** Runs after every change of custom kinds: for documents made from `infos`. */
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
