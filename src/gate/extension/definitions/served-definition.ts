/**
 * One definition as it is served now: its rows for discovery, and its kinds, made on first use. It keeps no object: an
 * unused definition costs only its rows.
 */
import type { CustomResourceDefinitionNames } from "#api/gen/types.ts";
import type { ResourceInfo, SubresourceInfo, Verb } from "#api/schema/resource-info.ts";
import type { ServedKind } from "#apiserver/kind.ts";
import type { CustomDefinition } from "#apiserver/openapi/model.ts";
import type { Registry, ResourceStore } from "#registry/resource-store.ts";
import type { MemoPool } from "#forms/memo-pool.ts";
import type { ConverterOf } from "./conversion.ts";
import { customKind } from "./custom-kind.ts";
import type { RulesOf } from "./rules/rule-check.ts";
import {
  type DefinedVersion,
  type Definition,
  findCondition,
  hasCondition,
  storageVersionOf,
} from "./definition.ts";
import type { Epoch } from "./epoch.ts";
import { openapiDefinitions } from "./openapi.ts";
import { Schemas } from "./schemas.ts";

export interface DefinitionDeps {
  readonly registry: Registry;
  readonly converterOf: ConverterOf;
  readonly convertedObjects: MemoPool;
  readonly rulesOf: RulesOf;
  /** Returns the definition as it is stored now. Undefined: it no longer exists. */
  readonly read: (name: string) => Definition | undefined;
}

/** Verbs, in upstream's order. */
const verbs: readonly Verb[] = [
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "create",
  "update",
  "watch",
];
const verbsWhileGoing: readonly Verb[] = ["delete", "deletecollection", "get", "list", "watch"];
const partVerbs: readonly Verb[] = ["get", "patch", "update"];

export class ServedDefinition {
  readonly name: string;
  readonly group: string;
  /** Text that changes whenever the definition changes how objects are read or written. */
  readonly identity: string;
  readonly acceptedNames: CustomResourceDefinitionNames | undefined;
  /** Whether the definition waits for a name that another definition has. */
  readonly isWaitingForNames: boolean;
  readonly epoch: Epoch;
  /** By version: resource under which requests are served. Empty until the names are accepted. */
  readonly rows: ReadonlyMap<string, ResourceInfo>;
  /** Resources in discovery. Empty until the definition is established. */
  readonly shown: readonly ResourceInfo[];
  readonly #deps: DefinitionDeps;
  readonly #kinds = new Map<string, ServedKind>();
  #schemas: Schemas | undefined;
  #openapi: readonly CustomDefinition[] | undefined;

  constructor(deps: DefinitionDeps, definition: Definition, epoch: Epoch) {
    const isEstablished = hasCondition(definition, "Established");
    const isServed =
      isEstablished || (hasCondition(definition, "NamesAccepted") && !hasBadBundle(definition));
    const isGoing = hasCondition(definition, "Terminating");
    this.#deps = deps;
    this.name = definition.metadata?.name ?? "";
    this.group = definition.spec.group;
    this.identity = identityOf(definition);
    this.acceptedNames = definition.status?.acceptedNames;
    this.isWaitingForNames = !hasCondition(definition, "NamesAccepted");
    this.epoch = epoch;
    const served = isServed ? definition.spec.versions.filter((version) => version.served) : [];
    this.rows = new Map(served.map((version) => [version.name, rowOf(definition, version)]));
    const rows = isEstablished ? [...this.rows.values()] : [];
    this.shown = isGoing ? rows.map((row) => ({ ...row, verbs: verbsWhileGoing })) : rows;
  }

  /** Takes over kinds and schemas from an entry with the same identity. */
  adopt(before: ServedDefinition): void {
    for (const [version, kind] of before.#kinds) {
      if (this.rows.has(version)) this.#kinds.set(version, kind);
    }
    this.#schemas = before.#schemas;
    this.#openapi = before.#openapi;
  }

  kind(version: string): ServedKind | undefined {
    const row = this.rows.get(version);
    if (row === undefined) return undefined;
    const known = this.#kinds.get(version);
    return known ?? this.#makeKind(version, row);
  }

  /** Returns the store of the definition's objects, in any version. */
  instances(): ResourceStore | undefined {
    const [version] = this.rows.keys();
    return version === undefined ? this.#storedOnly() : this.kind(version)?.store;
  }

  /** Returns the store when no version is served any more, so that stored objects can still be deleted. */
  #storedOnly(): ResourceStore | undefined {
    const definition = this.#deps.read(this.name);
    const version = definition?.spec.versions.find(({ storage }) => storage);
    if (definition === undefined || version === undefined) return undefined;
    return this.#deps.registry.store(rowOf(definition, version));
  }

  /** Returns the published definitions. They are only made again when the identity changes. */
  definitions(): readonly CustomDefinition[] {
    this.#openapi ??= [...this.rows.values()].flatMap((row) =>
      openapiDefinitions(row, () => this.#version(row.version)),
    );
    return this.#openapi;
  }

  #makeKind(name: string, row: ResourceInfo): ServedKind | undefined {
    const definition = this.#deps.read(this.name);
    const version = definition?.spec.versions.find((one) => one.name === name);
    if (definition === undefined || version === undefined) return undefined;
    this.#schemas ??= new Schemas(definition);
    const { epoch } = this;
    const { registry, rulesOf, converterOf, convertedObjects } = this.#deps;
    const converter = converterOf(definition);
    const schemas = this.#schemas;
    const made = { registry, definition, epoch, schemas, converter, convertedObjects, rulesOf };
    const kind = customKind(made, row, version);
    this.#kinds.set(name, kind);
    return kind;
  }

  #version(name: string): DefinedVersion | undefined {
    return this.#deps.read(this.name)?.spec.versions.find((one) => one.name === name);
  }
}

/**
 * Whether the conversion webhook's CA bundle was invalid when the definition was to be established. Its objects could
 * not be converted.
 */
function hasBadBundle(definition: Definition): boolean {
  return findCondition(definition, "Established")?.reason === "InvalidCABundle";
}

export function identityOf({ metadata, spec, status }: Definition): string {
  const { uid = "", generation = 0 } = metadata ?? {};
  return JSON.stringify([uid, generation, spec.versions.length, status?.acceptedNames ?? null]);
}

function rowOf(definition: Definition, version: DefinedVersion): ResourceInfo {
  const { group, scope } = definition.spec;
  const { plural, singular, kind, listKind, shortNames, categories } = namesOf(definition);
  return {
    group,
    version: version.name,
    resource: plural,
    singular: singular ?? "",
    kind,
    ...(listKind === undefined || listKind === `${kind}List` ? {} : { listKind }),
    namespaced: scope === "Namespaced",
    verbs,
    shortNames: shortNames ?? [],
    categories: categories ?? [],
    subresources: subresourcesOf(version, kind),
    isCustom: true,
    storage: { group, version: storageVersionOf(definition), resource: plural },
  };
}

/** Returns the accepted names. A served definition has them. */
function namesOf({ spec, status }: Definition): CustomResourceDefinitionNames {
  const accepted = status?.acceptedNames;
  return accepted === undefined || accepted.plural === "" ? spec.names : accepted;
}

function subresourcesOf(
  { subresources }: DefinedVersion,
  kind: string,
): readonly SubresourceInfo[] {
  const scale = {
    name: "scale",
    kind: "Scale",
    group: "autoscaling",
    version: "v1",
    verbs: partVerbs,
  };
  return [
    ...(subresources?.status === undefined ? [] : [{ name: "status", kind, verbs: partVerbs }]),
    ...(subresources?.scale === undefined ? [] : [scale]),
  ];
}
