/**
 * The levels of a schema that have rules at or below them, each compiled when it is first evaluated.
 *
 * Holds  levels without rules cost nothing; names of properties are keys of maps, so `__proto__` is one too.
 * After  apiextensions-apiserver pkg/apiserver/schema/cel/validation.go (NewValidator).
 */
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import type { JsonObject } from "#api/object.ts";
import type { Structural } from "#api/structural/structural.ts";
import type { Fields } from "#api/validation/fields.ts";
import { items } from "#api/validation/fields.ts";
import type { TypeProvider } from "#cel/declarations.ts";
import { type Schema, schemaNode, type SchemaNode, schemaTypes } from "#cel/schema-types.ts";
import { escapeName } from "#cel/field-names.ts";
import {
  type CompiledRule,
  type RuleCompiler,
  ruleCompiler,
  rulesIn,
  selfTypeName,
} from "./compile.ts";

export class RuleLevel {
  readonly node: Structural;
  /** Type of the level's values. Undefined: expressions cannot see such values, and rules about them are refused. */
  readonly type: SchemaNode | undefined;
  items: RuleLevel | undefined;
  additional: RuleLevel | undefined;
  readonly properties = new Map<string, RuleLevel>();
  readonly allOf: RuleLevel[] = [];
  readonly #rules: readonly Fields[];
  readonly #types: TypeProvider;
  readonly #compiled: CompiledRule[] = [];
  #compile: RuleCompiler | undefined;

  constructor(node: Structural, place: TypedPlace, rules: readonly Fields[]) {
    this.node = node;
    this.type = place.type;
    this.#types = place.types;
    this.#rules = rules;
  }

  get hasRules(): boolean {
    return this.#rules.length > 0;
  }

  /** Compiled rules. Each is kept as soon as it is compiled, so that an interrupted evaluation continues with the next one. */
  get rules(): readonly CompiledRule[] {
    if (this.type === undefined) return [];
    this.#compile ??= ruleCompiler(this.node.schema, this.type, this.#types);
    for (const rule of this.#rules.slice(this.#compiled.length)) {
      this.#compiled.push(this.#compile(rule));
    }
    return this.#compiled;
  }
}

interface TypedPlace {
  readonly type: SchemaNode | undefined;
  readonly types: TypeProvider;
}

/** @returns undefined: there are no rules at or below the node. */
export function ruleTree(node: Structural, isResourceRoot: boolean): RuleLevel | undefined {
  if (!hasRules(node.schema)) return undefined;
  const mentioning = new Set<object>();
  mark(node.schema, mentioning);
  return build({ mentioning }, node.schema, node, typedPlace(node.schema, isResourceRoot));
}

function typedPlace(schema: JsonObject, isResource: boolean): TypedPlace {
  const type = schemaNode(schema as unknown as Schema, selfTypeName, isResource); // validated
  return { type, types: schemaTypes(type === undefined ? [] : [type]) };
}

/** Returns whether the schema has rules where upstream looks for them first: not in `allOf`. */
export function hasRules(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  if (rulesIn(schema).length > 0) return true;
  if (hasRules(ownEntry(schema, "items"))) return true;
  if (hasRules(ownEntry(schema, "additionalProperties"))) return true;
  const properties = ownEntry(schema, "properties");
  return isRecord(properties) && Object.values(properties).some(hasRules);
}

/** Adds every schema with rules at or below it to `out`. Returns whether it found rules. */
function mark(schema: unknown, out: Set<object>): boolean {
  if (!isRecord(schema)) return false;
  let found = rulesIn(schema).length > 0;
  const properties = ownEntry(schema, "properties");
  const below = isRecord(properties) ? Object.values(properties) : [];
  const parts = [ownEntry(schema, "items"), ownEntry(schema, "additionalProperties")];
  for (const part of [...parts, ...below, ...items(schema, "allOf")]) {
    if (mark(part, out)) found = true;
  }
  if (found) out.add(schema);
  return found;
}

interface Building {
  readonly mentioning: ReadonlySet<object>;
}

/** @param rules the schema that contains the rules: the node's own, or an alternative of `allOf`. */
function build(
  building: Building,
  rules: Fields,
  node: Structural,
  place: TypedPlace,
): RuleLevel | undefined {
  if (!building.mentioning.has(rules)) return undefined;
  const level = new RuleLevel(node, place, rulesIn(rules));
  const element = { type: place.type?.element, types: place.types };
  const below = ownEntry(rules, "items");
  if (isRecord(below) && node.items !== undefined) {
    level.items = build(building, below, node.items, element);
  }
  const more = ownEntry(rules, "additionalProperties");
  if (isRecord(more) && typeof node.additional === "object") {
    level.additional = build(building, more, node.additional, element);
  }
  const properties = ownEntry(rules, "properties");
  for (const [name, schema] of isRecord(properties) ? Object.entries(properties) : []) {
    const property = node.property(name);
    if (property === undefined || !isRecord(schema) || !building.mentioning.has(schema)) continue;
    const field = placeOfField(place, name, property);
    if (field === undefined) continue;
    const made = build(building, schema, property, field);
    if (made !== undefined) level.properties.set(name, made);
  }
  for (const alternative of items(rules, "allOf")) {
    const made = build(building, alternative, node, place);
    if (made !== undefined) level.allOf.push(made);
  }
  return level;
}

/** @returns undefined: expressions cannot see the field, and its rules are not evaluated, as upstream. */
function placeOfField(
  place: TypedPlace,
  name: string,
  { schema, isEmbeddedResource }: Structural,
): TypedPlace | undefined {
  const escaped = escapeName(name);
  if (escaped !== undefined) {
    const field = place.type?.fields.get(escaped);
    return field === undefined ? undefined : { type: field.node, types: place.types };
  }
  const own = typedPlace(schema, isEmbeddedResource);
  return own.type === undefined ? undefined : own;
}
