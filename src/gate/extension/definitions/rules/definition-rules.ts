/**
 * Checks the rules of a definition at its write: they must compile, their cost must be bounded, and defaults must obey
 * them.
 *
 * In      a definition whose other findings are known. Where these make types uncertain, rules are not compiled.
 * Bounds  `expressionsMax` characters of expressions in one definition, which bounds the most expensive part of the
 *         write: their compilation. The largest published definitions have about 30,000.
 * After   apiextensions-apiserver pkg/apis/apiextensions/validation (validation.go, cel_validation.go),
 *         pkg/apiserver/schema/defaulting/validation.go.
 * Differs findings of rules come after all others; upstream has them version by version.
 */
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { AnyObject, JsonObject } from "#api/object.ts";
import type { FieldError } from "#api/status.ts";
import { defaultErrors } from "#api/structural/defaults-check.ts";
import { type Structural, trustStructural } from "#api/structural/structural.ts";
import { entriesOf, structuralErrors, unsupportedField } from "#api/structural/structural-rules.ts";
import { append, child, forbiddenField, index, invalidValue, key } from "#api/validation/errors.ts";
import { goRule } from "#api/validation/definition-print.ts";
import type { Fields } from "#api/validation/fields.ts";
import { items, maybe, part, text } from "#api/validation/fields.ts";
import type { TypeProvider } from "#cel/declarations.ts";
import { escapeName } from "#cel/field-names.ts";
import { type Schema, schemaNode, type SchemaNode, schemaTypes } from "#cel/schema-types.ts";
import { type CompiledRule, ruleCompiler, rulesIn, selfTypeName } from "./compile.ts";
import { evaluateRules, objectCostMax } from "./evaluate.ts";
import {
  type Cardinality,
  cardinalityBelow,
  costOf,
  costText,
  definitionCostMax,
  ruleCostMax,
  timesOf,
  TotalCost,
} from "./rule-cost.ts";
import { hasRules, ruleTree } from "./tree.ts";

/** Maximum length of all expressions, which compile in some 0.5 s. */
const expressionsMax = 500_000;

/** @param found all other errors of the definition. */
export function definitionRuleErrors(
  definition: AnyObject,
  old: AnyObject | undefined,
  found: readonly FieldError[],
): FieldError[] {
  const out: FieldError[] = [];
  const before = old === undefined ? [] : versionsOf(old);
  for (const { path, name, schema } of placesOf(versionsOf(definition))) {
    if (!hasRules(schema)) continue;
    if (charactersOf(schema) > expressionsMax) {
      const detail = `expressions of x-kubernetes-validations may not have more than ${expressionsMax} characters together`;
      out.push(forbiddenField(path, detail));
      continue;
    }
    const was = before.find((version) => version.name === name)?.schema;
    checkSchemaRules(out, { schema, path, found, isUnchanged: jsonEqual(schema, was) });
  }
  return out;
}

interface VersionSchema {
  readonly name: string;
  readonly schema: JsonObject | undefined;
}

function versionsOf(definition: AnyObject): readonly VersionSchema[] {
  const spec = part(definition as unknown as Fields, "spec"); // objects are plain JSON data
  return items(spec, "versions").map((version) => {
    const schema = maybe(part(version, "schema"), "openAPIV3Schema") as JsonObject | undefined;
    return { name: text(version, "name"), schema };
  });
}

interface SchemaPlace {
  readonly path: string;
  readonly name: string;
  readonly schema: JsonObject;
}

/** Returns the schemas to check. A schema that all versions share is checked once, under a common path, as upstream. */
function placesOf(versions: readonly VersionSchema[]): readonly SchemaPlace[] {
  const [first] = versions;
  if (first?.schema !== undefined) {
    const { name, schema } = first;
    const isShared = versions.every((version) => jsonEqual(version.schema, schema));
    if (isShared) return [{ path: "spec.validation.openAPIV3Schema", name, schema }];
  }
  return versions.flatMap(({ name, schema }, at) => {
    const path = `spec.versions[${at}].schema.openAPIV3Schema`;
    return schema === undefined ? [] : [{ path, name, schema }];
  });
}

function charactersOf(schema: unknown): number {
  if (!isRecord(schema)) return 0;
  let count = 0;
  for (const rule of rulesIn(schema)) {
    count += text(rule, "rule").length + text(rule, "messageExpression").length;
  }
  const properties = ownEntry(schema, "properties");
  const below = isRecord(properties) ? Object.values(properties) : [];
  const parts = [ownEntry(schema, "items"), ownEntry(schema, "additionalProperties")];
  for (const one of [...parts, ...below]) count += charactersOf(one);
  return count;
}

interface Checking {
  readonly schema: JsonObject;
  readonly path: string;
  readonly found: readonly FieldError[];
  /** Whether this version's schema is unchanged. Then a rule that was too expensive before is permitted. */
  readonly isUnchanged: boolean;
}

function checkSchemaRules(out: FieldError[], checking: Checking): void {
  const { schema, path, found } = checking;
  if (hasFindings(found, path) && !isSound(schema, path)) return;
  const ofDefaults = defaultRuleErrors(trustStructural(schema), path);
  append(out, ofDefaults);
  if (ofDefaults.length > 0) return;
  const total = new TotalCost();
  checkLevel({ ...checking, out, total }, schema, {
    path,
    cardinality: 1,
    isResource: true,
    scope: undefined,
    typeFromParent: undefined,
    uncorrelated: undefined,
  });
  if (total.total <= definitionCostMax) return;
  const share =
    "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
  for (const at of total.largest) out.push(forbiddenField(at, share));
  const name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
  out.push(forbiddenField(path, costText(name, total.total, definitionCostMax)));
}

/** Returns whether there are findings at the path or below it. */
function hasFindings(found: readonly FieldError[], path: string): boolean {
  return found.some(({ field }) => {
    if (!field.startsWith(path)) return false;
    const next = field.charAt(path.length);
    return next === "" || next === "." || next === "[";
  });
}

/** Returns whether the schema is sound. Upstream does not check the rules of any other schema. */
function isSound(schema: JsonObject, path: string): boolean {
  if (unsupportedField(schema) !== undefined || structuralErrors(schema, path).length > 0) {
    return false;
  }
  return defaultErrors(trustStructural(schema), path, true).length === 0;
}

function defaultRuleErrors(root: Structural, path: string): FieldError[] {
  const out: FieldError[] = [];
  let costLeft = objectCostMax;
  const visit = (node: Structural, at: string, isRoot: boolean): void => {
    if (!node.hasDefaults || costLeft < 0) return;
    const value = node.defaultValue;
    const isResource = isRoot || node.isEmbeddedResource;
    const tree = value === undefined ? undefined : ruleTree(node, isResource);
    if (value !== undefined && tree !== undefined) {
      const options = { path: child(at, "default"), costLeft, ratchets: false };
      const unchanged = evaluateRules(tree, value, value, options);
      append(out, unchanged.errors);
      costLeft = unchanged.costLeft;
      if (unchanged.errors.length === 0) {
        const fresh = evaluateRules(tree, value, undefined, options);
        append(out, fresh.errors);
        costLeft = Math.min(costLeft, fresh.costLeft);
      }
    }
    if (node.items !== undefined) visit(node.items, child(at, "items"), false);
    for (const name of node.propertyNames) {
      const property = node.property(name);
      if (property !== undefined) visit(property, key(child(at, "properties"), name), false);
    }
  };
  visit(root, path, true);
  return out;
}

interface LevelContext extends Checking {
  readonly out: FieldError[];
  readonly total: TotalCost;
}

interface Level {
  readonly path: string;
  readonly cardinality: Cardinality;
  readonly isResource: boolean;
  /** Types of everything below. Set at the first level with rules and below it. */
  readonly scope: TypeProvider | undefined;
  readonly typeFromParent: SchemaNode | undefined;
  /** Path of the nearest level whose old and new parts cannot be matched to each other. */
  readonly uncorrelated: string | undefined;
}

/** Checks the levels below first, as upstream. */
function checkLevel(context: LevelContext, schema: JsonObject, level: Level): void {
  if (!hasRules(schema)) return;
  const rules = rulesIn(schema);
  const typed = typeOf(schema, level, rules.length > 0 || level.scope !== undefined);
  const below = {
    ...level,
    cardinality: cardinalityBelow(schema, level.cardinality),
    scope: typed?.types,
  };
  const visit = (part: JsonObject, path: string, type: SchemaNode | undefined): void => {
    const isResource = part["x-kubernetes-embedded-resource"] === true;
    checkLevel(context, part, { ...below, path, isResource, typeFromParent: type });
  };
  const element = typed?.type.element;
  const additional = maybe(schema, "additionalProperties") as JsonObject | undefined;
  if (additional !== undefined)
    visit(additional, child(level.path, "additionalProperties"), element);
  for (const [name, property] of entriesOf(schema, "properties")) {
    const escaped = escapeName(name);
    const field = escaped === undefined ? undefined : typed?.type.fields.get(escaped)?.node;
    visit(property as JsonObject, key(child(level.path, "properties"), name), field);
  }
  const item = maybe(schema, "items") as JsonObject | undefined;
  if (item !== undefined) {
    const isKeyed = text(schema, "x-kubernetes-list-type") === "map";
    const uncorrelated = isKeyed ? level.uncorrelated : (level.uncorrelated ?? level.path);
    const isResource = item["x-kubernetes-embedded-resource"] === true;
    const path = child(level.path, "items");
    const at = { ...below, path, isResource, typeFromParent: element, uncorrelated };
    checkLevel(context, item, at);
  }
  if (rules.length === 0 || hasFindings(context.found, level.path)) return;
  checkRules(context, schema, level, rules, typed);
}

interface Typed {
  readonly type: SchemaNode;
  readonly types: TypeProvider;
}

function typeOf(schema: JsonObject, level: Level, isWanted: boolean): Typed | undefined {
  if (!isWanted) return undefined;
  if (level.typeFromParent !== undefined && level.scope !== undefined) {
    return { type: level.typeFromParent, types: level.scope };
  }
  const type = schemaNode(schema as unknown as Schema, selfTypeName, level.isResource); // checked
  return type === undefined ? undefined : { type, types: schemaTypes([type]) };
}

function checkRules(
  context: LevelContext,
  schema: JsonObject,
  level: Level,
  rules: readonly Fields[],
  typed: Typed | undefined,
): void {
  const path = child(level.path, "x-kubernetes-validations");
  if (typed === undefined) {
    const why =
      "failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
    const message = `Internal error: internal error: ${why}`;
    context.out.push({ reason: "InternalError", field: path, message });
    return;
  }
  const compile = ruleCompiler(schema, typed.type, typed.types);
  rules.forEach((written, at) => {
    checkRule(context, level, compile(written), {
      path: index(path, at),
      written,
      type: typed.type,
    });
  });
}

interface RulePlace {
  readonly path: string;
  readonly written: Fields;
  readonly type: SchemaNode;
}

function checkRule(
  context: LevelContext,
  level: Level,
  rule: CompiledRule,
  { path, written, type }: RulePlace,
): void {
  const { out } = context;
  const at = child(path, "rule");
  const once = rule.program === undefined ? 0 : costOf(rule.program, type);
  observe(context, "estimated rule cost", timesOf(once, level.cardinality, type), at);
  if (rule.error !== undefined) out.push(invalidValue(at, goRule(written), rule.error));
  const messageAt = child(path, "messageExpression");
  const { program, error } = rule.message;
  if (error !== undefined) out.push(invalidValue(messageAt, goRule(written), error));
  else if (program !== undefined) {
    observe(context, "estimated messageExpression cost", costOf(program, type), messageAt);
  }
  const { uncorrelated } = level;
  if (rule.usesOldSelf && uncorrelated !== undefined) {
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`;
    out.push(invalidValue(at, rule.text.rule, detail));
  }
  const optional = ownEntry(written, "optionalOldSelf");
  if (!rule.usesOldSelf && typeof optional === "boolean") {
    const detail = "may not be set if oldSelf is not used in rule";
    out.push(invalidValue(child(path, "optionalOldSelf"), optional, detail));
  }
}

function observe(context: LevelContext, name: string, cost: number, path: string): void {
  if (!context.isUnchanged && cost > ruleCostMax) {
    context.out.push(forbiddenField(path, costText(name, cost, ruleCostMax)));
  }
  context.total.add(path, cost);
}
