/**
 * What server-side apply needs to know of a custom resource, from its schemas: which lists are sets or
 * keyed, which objects and maps are owned as a whole, what an absent key means.
 *
 * After  apiserver pkg/util/managedfields and kube-openapi pkg/schemaconv for structural schemas.
 */
import { dictionary } from "#base/own.ts";
import type { ApplyTypes } from "../apply/updater.ts";
import { deduced, leaf, type Shape, ShapeSource, type StructShape } from "../apply/shape.ts";
import type { AnyObject, JsonValue } from "../object.ts";
import { schemaOf } from "../schema/schema.ts";
import type { Structural } from "./structural.ts";

interface CustomTypeSource {
  /** null: the version is served and has no schema. undefined: it is not served. */
  readonly structural: (apiVersion: string) => Structural | null | undefined;
  readonly convert: (object: AnyObject, apiVersion: string) => AnyObject;
}

/** Make it once per definition; it keeps the shapes it makes. */
export function structuralApplyTypes(source: CustomTypeSource): ApplyTypes {
  const metadata = new ShapeSource(schemaOf).root(undefined);
  const byVersion = new Map<string, StructShape>();
  return {
    shape: (apiVersion) => {
      const known = byVersion.get(apiVersion);
      if (known !== undefined) return known;
      const structural = source.structural(apiVersion);
      if (structural === undefined) return undefined;
      const shape = structural === null ? metadata : rootShape(structural, metadata);
      byVersion.set(apiVersion, shape);
      return shape;
    },
    convert: source.convert,
  };
}

function rootShape(structural: Structural, metadata: StructShape): StructShape {
  const typed = structOf(structural);
  const own: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);
  return {
    ...typed,
    field: (name) => (own.has(name) ? metadata.field(name) : typed.field(name)),
    zero: (name) => (name === "metadata" ? {} : undefined),
  };
}

function shapeOf(node: Structural): Shape {
  if (node.isIntOrString) return leaf;
  if (node.type === "array") return listOf(node);
  if (node.type !== "object") return node.preservesUnknownFields ? deduced : leaf;
  if (node.mapType === "atomic") return leaf;
  if (node.isEmbeddedResource) return embeddedShape(node);
  const { additional } = node;
  if (node.propertyNames.length > 0) return structOf(node);
  if (typeof additional === "object") return { kind: "map", items: shapeOf(additional) };
  return node.preservesUnknownFields || additional === true ? deduced : structOf(node);
}

function embeddedShape(node: Structural): Shape {
  return node.propertyNames.length === 0 ? deduced : structOf(node);
}

function structOf(node: Structural): StructShape {
  const shapes = new Map<string, Shape>();
  return {
    kind: "struct",
    field: (name) => {
      const known = shapes.get(name);
      if (known !== undefined) return known;
      const property = node.property(name);
      if (property === undefined) return undefined;
      const shape = shapeOf(property);
      shapes.set(name, shape);
      return shape;
    },
    isOpen: node.preservesUnknownFields || node.isEmbeddedResource,
    zero: () => undefined,
    dropsNulls: false,
  };
}

function listOf(node: Structural): Shape {
  const { items } = node;
  if (items === undefined) return leaf;
  if (node.listType === "set") return { kind: "set" };
  if (node.listType !== "map") return leaf;
  const keyDefaults = dictionary<JsonValue>();
  for (const key of node.listMapKeys) {
    const value = items.property(key)?.defaultValue;
    if (value !== undefined) keyDefaults[key] = value;
  }
  return { kind: "list", keys: node.listMapKeys, keyDefaults, items: shapeOf(items) };
}
