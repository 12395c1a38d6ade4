/**
 * The custom kinds of a server, made from the definitions in its store.
 *
 * Holds  1. An entry is replaced in the turn in which the definition's change is applied to the caches, before any
 *        watcher or writer sees the change (`OpenRegistry.follow`). 2. Requests look up their kind once, when they are
 *        routed. A write checks it again before it goes to the store, and watches end (epoch.ts). 3. A definition never
 *        serves a built-in group-version or stored resource.
 * Cost   a change of one definition changes one entry; the rows of all definitions are then collected once.
 */
import type { GroupResource } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { CustomKinds, ServedKind } from "#apiserver/kind.ts";
import type { CustomDefinition } from "#apiserver/openapi/model.ts";
import type { OpenRegistry } from "#registry/registry.ts";
import type { ResourceStore } from "#registry/resource-store.ts";
import { namespaceRange } from "#watch/predicate.ts";
import type { MemoPool } from "#forms/memo-pool.ts";
import type { ConverterOf } from "./conversion.ts";
import type { RulesOf } from "./rules/rule-check.ts";
import { asDefinition, type Definition, definitionsResource, hasCondition } from "./definition.ts";
import { Epoch } from "./epoch.ts";
import { type DefinitionDeps, identityOf, ServedDefinition } from "./served-definition.ts";

interface CatalogDeps {
  readonly registry: OpenRegistry;
  readonly builtins: readonly ResourceInfo[];
  readonly converterOf: ConverterOf;
  readonly convertedObjects: MemoPool;
  readonly rulesOf: RulesOf;
}

export class DefinitionCatalog implements CustomKinds {
  readonly #deps: DefinitionDeps;
  readonly #registry: OpenRegistry;
  /** `group/version` (below: `group/resource`) of built-in kinds. */
  readonly #builtinVersions: ReadonlySet<string>;
  readonly #builtinStorage: ReadonlySet<string>;
  /** By name, such as `crontabs.stable.example.com`. */
  readonly #definitions = new Map<string, ServedDefinition>();
  readonly #byGroup = new Map<string, Map<string, ServedDefinition>>();
  readonly #listeners = new Set<(names: readonly string[]) => void>();
  /** Resources of all definitions. Undefined: a definition has changed since the list was made. */
  #infos: readonly ResourceInfo[] | undefined;

  constructor({ builtins, ...deps }: CatalogDeps) {
    this.#registry = deps.registry;
    this.#deps = { ...deps, read: (name) => this.read(name) };
    this.#builtinVersions = new Set(builtins.map(({ group, version }) => `${group}/${version}`));
    this.#builtinStorage = new Set(
      builtins.flatMap(({ storage }) =>
        storage === undefined ? [] : [`${storage.group}/${storage.resource}`],
      ),
    );
  }

  /** Reads the stored definitions and follows their changes. Call once, before the server is ready. */
  start(): void {
    this.#registry.follow(definitionsResource, (keys) => this.#changed(keys));
    this.#changed("all");
  }

  /** Calls `changed` in the turn of a change, after the entries are replaced. */
  onChange(changed: (names: readonly string[]) => void): void {
    this.#listeners.add(changed);
  }

  read(name: string): Definition | undefined {
    const cached = this.#registry.cache(definitionsResource).state.get(name);
    return cached === undefined ? undefined : asDefinition(cached.object);
  }

  names(): Iterable<string> {
    return this.#definitions.keys();
  }

  /** Returns the definitions of a group, by name. */
  inGroup(group: string): Iterable<ServedDefinition> {
    return this.#byGroup.get(group)?.values() ?? [];
  }

  /** Returns the store of a definition's objects. Undefined: it has none yet. */
  instances(name: string): ResourceStore | undefined {
    return this.#definitions.get(name)?.instances();
  }

  /** Returns whether the objects would be stored in the place of a built-in kind's objects. */
  overlapsBuiltin({ group, resource }: GroupResource): boolean {
    return this.#builtinStorage.has(`${group}/${resource}`);
  }

  find(group: string, version: string, resource: string): ServedKind | undefined {
    const definition = this.#definitions.get(`${resource}.${group}`);
    if (definition === undefined || definition.group !== group) return undefined;
    if (this.#isHidden({ group, version, resource })) return undefined;
    return definition.kind(version);
  }

  *counts(): Iterable<readonly [string, number]> {
    for (const { resource, cache } of this.#registry.cores()) {
      const name = `${resource.resource}.${resource.group}`;
      if (this.#definitions.has(name) && !this.overlapsBuiltin(resource)) {
        yield [name, cache.state.size];
      }
    }
  }

  infos(): readonly ResourceInfo[] {
    this.#infos ??= [...this.#definitions.values()].flatMap(({ shown }) =>
      shown.filter((row) => !this.#isHidden(row)),
    );
    return this.#infos;
  }

  definitions(): readonly CustomDefinition[] {
    return [...this.#definitions.values()]
      .filter(({ shown }) => shown.some((row) => !this.#isHidden(row)))
      .flatMap((definition) => definition.definitions());
  }

  #isHidden({ group, version, resource }: GroupResource & { readonly version: string }): boolean {
    return (
      this.#builtinVersions.has(`${group}/${version}`) || this.overlapsBuiltin({ group, resource })
    );
  }

  #changed(keys: readonly string[] | "all"): void {
    const stored = this.#registry.cache(definitionsResource).state;
    const names = keys === "all" ? this.#allNames() : [...new Set(keys)];
    this.#infos = undefined;
    for (const name of names) {
      const cached = stored.get(name);
      if (cached === undefined) this.#remove(name);
      else this.#replace(name, asDefinition(cached.object), cached.revision);
    }
    for (const changed of this.#listeners) changed(names);
  }

  #allNames(): readonly string[] {
    const names = new Set(this.#definitions.keys());
    const { from, to } = namespaceRange("");
    this.#registry.cache(definitionsResource).state.scan(from, to, ({ name }) => {
      names.add(name);
      return true;
    });
    return [...names];
  }

  #remove(name: string): void {
    const before = this.#definitions.get(name);
    if (before === undefined) return;
    this.#definitions.delete(name);
    const group = this.#byGroup.get(before.group);
    group?.delete(name);
    if (group?.size === 0) this.#byGroup.delete(before.group);
    before.epoch.end(undefined);
  }

  #replace(name: string, definition: Definition, revision: number): void {
    const before = this.#definitions.get(name);
    const isSame = before !== undefined && before.identity === identityOf(definition);
    const { group, names } = definition.spec;
    const epoch = isSame ? before.epoch : new Epoch({ group, resource: names.plural }, revision);
    const next = new ServedDefinition(this.#deps, definition, epoch);
    epoch.isTerminating = hasCondition(definition, "Terminating");
    if (isSame) next.adopt(before);
    this.#definitions.set(name, next);
    const others = this.#byGroup.get(group) ?? new Map<string, ServedDefinition>();
    others.set(name, next);
    this.#byGroup.set(group, others);
    if (!isSame) before?.epoch.end(epoch);
  }
}
