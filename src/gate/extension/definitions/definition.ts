/** A CustomResourceDefinition as this room reads it, with functions that answer questions about one. */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionVersion,
} from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { compareKubeVersions } from "#api/schema/group-priorities.ts";

export const definitionsResource = {
  group: "apiextensions.k8s.io",
  resource: "customresourcedefinitions",
} as const;

/** Finalizer that keeps a definition until its instances are deleted. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

export type Definition = CustomResourceDefinition;
export type Condition = CustomResourceDefinitionCondition;
export type DefinedVersion = CustomResourceDefinitionVersion;

/** Casts a stored object, which has passed the validation of its kind. */
export function asDefinition(object: AnyObject): Definition {
  return object as unknown as Definition;
}

export function findCondition(definition: Definition, type: string): Condition | undefined {
  return definition.status?.conditions?.find((condition) => condition.type === type);
}

export function hasCondition(definition: Definition, type: string): boolean {
  return findCondition(definition, type)?.status === "True";
}

/** Returns the storage version, or "" for a definition without one, which validation refuses. */
export function storageVersionOf(definition: Definition): string {
  return definition.spec.versions.find(({ storage }) => storage)?.name ?? "";
}

/** Returns the Warning of a deprecated version. Undefined: it is not deprecated. */
export function deprecationWarning(
  { spec }: Definition,
  version: DefinedVersion,
): string | undefined {
  if (version.deprecated !== true) return undefined;
  if (version.deprecationWarning !== undefined) return version.deprecationWarning;
  const { group, names } = spec;
  const text = `${group}/${version.name} ${names.kind} is deprecated`;
  const [better] = spec.versions
    .filter(({ served, deprecated }) => served && deprecated !== true)
    .map(({ name }) => name)
    .filter((name) => compareKubeVersions(name, version.name) < 0)
    .sort(compareKubeVersions);
  return better === undefined ? text : `${text}; use ${group}/${better} ${names.kind}`;
}
