/**
 * The structural schemas of all built-in types: a generated table, looked up by definition or kind.
 *
 * Holds  every `ref` of a field of type "object" names a definition of the table.
 * Cost   loading parses 380 KB of JSON, 3-4 ms once; look-ups are map reads.
 * Absent descriptions, which only published documents need; they are in a file of their own.
 */
import type { GroupVersionKind } from "../object.ts";
import type { ObjectSchema } from "./schema-types.ts";
import generated from "../gen/schema.json" with { type: "json" };

// The generator writes exactly this type; a literal type of 760 definitions would slow the compiler.
const table = generated as unknown as Readonly<Record<string, ObjectSchema>>;

/** Kinds that only meta/v1 has, with the same definition for each group-version. */
const metaPackage = "io.k8s.apimachinery.pkg.apis.meta.v1";
export const objectMetaDefinition = `${metaPackage}.ObjectMeta`;
export const listMetaDefinition = `${metaPackage}.ListMeta`;

let kinds: ReadonlyMap<string, ObjectSchema> | undefined;

/** `name` is upstream's definition name: `io.k8s.api.core.v1.PodSpec`. */
export function schemaOf(name: string): ObjectSchema | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Also finds lists, subresource kinds (Scale, Eviction) and DeleteOptions of any group-version. */
export function schemaOfKind(gvk: GroupVersionKind): ObjectSchema | undefined {
  kinds ??= indexKinds();
  return kinds.get(kindKey(gvk.group, gvk.version, gvk.kind));
}

/** Definition names, sorted. */
export function definitionNames(): readonly string[] {
  return Object.keys(table);
}

function indexKinds(): ReadonlyMap<string, ObjectSchema> {
  const index = new Map<string, ObjectSchema>();
  for (const schema of Object.values(table)) {
    for (const gvk of schema.groupVersionKinds ?? []) {
      index.set(kindKey(gvk.group, gvk.version, gvk.kind), schema);
    }
  }
  return index;
}

function kindKey(group: string, version: string, kind: string): string {
  return `${group}/${version}/${kind}`;
}
