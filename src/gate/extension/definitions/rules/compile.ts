/**
 * The rules of one level of a schema, compiled against the types that its values have.
 *
 * Texts  as apiextensions-apiserver pkg/apiserver/schema/cel/compilation.go.
 * Differs  one set of functions: 1.36 adds none, so new and stored expressions see the same.
 */
import type { JsonObject } from "#api/object.ts";
import { findField } from "#api/structural/field-path.ts";
import type { Fields } from "#api/validation/fields.ts";
import { flag, items, maybe, maybeText, part, text } from "#api/validation/fields.ts";
import { child, key } from "#api/validation/errors.ts";
import type { TypeProvider } from "#cel/declarations.ts";
import { Environment, type Program } from "#cel/environment.ts";
import { optionalOf } from "#cel/libraries/library.ts";
import type { SchemaNode } from "#cel/schema-types.ts";
import { mentions } from "#cel/syntax.ts";

export interface RuleText {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression: string;
  readonly reason: string | undefined;
  readonly isOptional: boolean;
}

interface CompiledExpression {
  readonly program?: Program;
  readonly error?: string;
}

export interface CompiledRule extends CompiledExpression {
  readonly text: RuleText;
  readonly usesOldSelf: boolean;
  /** Compiled messageExpression. Empty: the rule has none, or the rule itself did not compile. */
  readonly message: CompiledExpression;
  readonly messageUsesOldSelf: boolean;
  /** Path below the level. "": the level itself. */
  readonly fieldPath: string;
}

/** Prefix of the names of a schema's types. Upstream's prefix contains a number that changes. */
export const selfTypeName = "selfType";

/** Compiles one of the level's `x-kubernetes-validations`. */
export type RuleCompiler = (rule: Fields) => CompiledRule;

/** @param schema the level's schema. */
export function ruleCompiler(
  schema: JsonObject,
  { type }: SchemaNode,
  types: TypeProvider,
): RuleCompiler {
  const environmentOf = (oldSelf: typeof type): Environment =>
    new Environment({
      variables: new Map([
        ["self", type],
        ["oldSelf", oldSelf],
      ]),
      types,
    });
  const plain = environmentOf(type);
  const optional = environmentOf(optionalOf(type));
  return (rule) => {
    const parsed = textOf(rule);
    const environment = parsed.isOptional ? optional : plain;
    const path = fieldPathOf(text(rule, "fieldPath"), schema);
    return compileRule(parsed, environment, path);
  };
}

function textOf(rule: Fields): RuleText {
  return {
    rule: text(rule, "rule"),
    message: text(rule, "message"),
    messageExpression: text(rule, "messageExpression"),
    reason: maybeText(rule, "reason"),
    isOptional: flag(rule, "optionalOldSelf"),
  };
}

function compileRule(parsed: RuleText, environment: Environment, fieldPath: string): CompiledRule {
  const none = { text: parsed, usesOldSelf: false, message: {}, messageUsesOldSelf: false };
  if (parsed.rule.trim() === "") return { ...none, fieldPath: "" };
  const compiled = environment.compile(parsed.rule);
  if (compiled.kind === "errors") return { ...none, fieldPath: "", error: compiled.message };
  const { program } = compiled;
  if (program.type.name !== "bool") {
    return { ...none, fieldPath: "", error: "cel expression must evaluate to a bool" };
  }
  const message = compileMessage(parsed.messageExpression, environment);
  return {
    text: parsed,
    program,
    usesOldSelf: usesOldSelf(program),
    message,
    messageUsesOldSelf: message.program !== undefined && usesOldSelf(message.program),
    fieldPath,
  };
}

function compileMessage(expression: string, environment: Environment): CompiledExpression {
  if (expression === "") return {};
  const compiled = environment.compile(expression);
  if (compiled.kind === "errors") return { error: `messageExpression ${compiled.message}` };
  const { program } = compiled;
  if (program.type.name === "string") return { program };
  return { error: "messageExpression must evaluate to a string" };
}

function usesOldSelf({ checked }: Program): boolean {
  return mentions(checked.expr, "oldSelf");
}

/** Converts `.spec['a.b']` to `spec.a.b`. Keys of a map are shown in brackets. */
function fieldPathOf(path: string, schema: JsonObject): string {
  if (path === "") return "";
  const found = findField(path, schema, true);
  if (found.error !== undefined) return "";
  let at: Fields = schema;
  let shown = "";
  for (const name of found.names) {
    const properties = part(at, "properties");
    const isProperty = Object.keys(properties).length > 0;
    shown = isProperty ? child(shown, name) : key(shown, name);
    at = maybe(isProperty ? properties : at, isProperty ? name : "additionalProperties") ?? {};
  }
  return shown;
}

export function rulesIn(schema: Fields): readonly Fields[] {
  return items(schema, "x-kubernetes-validations");
}
