/**
 * The facts that server-side apply takes from the schemas of a custom resource: which lists are sets or
 * keyed, which objects and maps are owned as a whole, what an absent key means.
 *
 * After  apiserver pkg/util/managedfields and kube-openapi pkg/schemaconv for structural schemas.
 */
import { dictionary } from "#base/own.ts";
import type { ApplyTypes } from "../apply/updater.ts";
import {
  deduced,
  leaf,
  type Parts,
  scalars,
  type Shape,
  ShapeSource,
  type StructShape,
} from "../apply/shape.ts";
import type { AnyObject, JsonValue } from "../object.ts";
import { schemaOf } from "../schema/schema.ts";
import type { Structural } from "./structural.ts";

interface CustomTypeSource {
  /** Null: the version is served without a schema. Undefined: it is not served. */
  readonly structural: (apiVersion: string) => Structural | null | undefined;
  readonly convert: (object: AnyObject, apiVersion: string) => AnyObject;
}

/** Create once per definition, because it caches shapes. */
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

/** Shape without declared fields; all are allowed. */
const freeMap = { kind: "map", items: deduced } as const;

function rootShape(structural: Structural, metadata: StructShape): StructShape {
  return { ...structOf(structural, { metadata, isOpen: false }, true), zero: zeroOfWhole };
}

function zeroOfWhole(name: string): JsonValue | undefined {
  return name === "metadata" ? {} : undefined;
}

interface Surroundings {
  /** Shape of the metadata of whole objects. */
  readonly metadata: StructShape;
  /** A node above preserves unknown fields; as upstream, all nodes below do so too. */
  readonly isOpen: boolean;
}

function shapeOf(node: Structural, around: Surroundings): Shape {
  switch (node.type) {
    case "array":
      return listOf(node, around);
    case "object":
      return objectOf(node, around);
    case "integer":
    case "number":
      return scalars.numeric;
    case "boolean":
      return scalars.boolean;
    case "string": {
      const { format = "" } = node.schema;
      return format === "" || format === "byte" ? scalars.string : scalars.untyped;
    }
    default:
      return node.preservesUnknownFields ? deduced : leaf;
  }
}

function objectOf(node: Structural, around: Surroundings): Shape {
  const shape = partsOf(node, around);
  return node.mapType === "atomic" ? { kind: "leaf", parts: shape } : shape;
}

function partsOf(node: Structural, around: Surroundings): Exclude<Parts, { kind: "items" }> {
  const { additional } = node;
  if (node.isEmbeddedResource || node.propertyNames.length > 0) {
    return structOf(node, around, node.isEmbeddedResource);
  }
  if (typeof additional === "object") return { kind: "map", items: shapeOf(additional, around) };
  return additional === false ? structOf(node, around, false) : freeMap;
}

function structOf(node: Structural, around: Surroundings, isWhole: boolean): StructShape {
  const isOpen = around.isOpen || node.preservesUnknownFields;
  const shapes = new Map<string, Shape>();
  return {
    kind: "struct",
    field: (name) => {
      if (isWhole && name === "metadata") return around.metadata.field(name);
      if (isWhole && (name === "apiVersion" || name === "kind")) return scalars.string;
      const known = shapes.get(name);
      if (known !== undefined) return known;
      const property = node.property(name);
      if (property === undefined) return undefined;
      const shape = shapeOf(property, { ...around, isOpen });
      shapes.set(name, shape);
      return shape;
    },
    isOpen,
    zero: () => undefined,
    nulls: [],
    dropsNulls: false,
  };
}

function listOf(node: Structural, around: Surroundings): Shape {
  const items = node.items === undefined ? leaf : shapeOf(node.items, around);
  if (node.items === undefined || (node.listType !== "set" && node.listType !== "map")) {
    return { kind: "leaf", parts: { kind: "items", items } };
  }
  if (node.listType === "set") return { kind: "set", items };
  const keyDefaults = dictionary<JsonValue>();
  for (const key of node.listMapKeys) {
    const value = node.items.property(key)?.defaultValue;
    if (value !== undefined) keyDefaults[key] = value;
  }
  return { kind: "list", keys: node.listMapKeys, keyDefaults, items };
}
