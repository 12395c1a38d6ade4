/**
 * Compiles expressions of an AuthenticationConfiguration, over the `claims` of a token or the `user` made of them.
 *
 * Holds  an expression is compiled once, when the file is read, and its cost is bounded at each evaluation.
 * Source: k8s.io/apiserver pkg/authentication/cel/compile.go, 1.36.
 */
import { Environment, type Program } from "#cel/environment.ts";
import { dynValue, jsonValue } from "#cel/json-values.ts";
import { mapOf, types } from "#cel/libraries/library.ts";
import { listItems, type Value } from "#cel/libraries/values.ts";
import { type Schema, schemaNode, schemaTypes } from "#cel/schema-types.ts";
import { type Expr, partsOf } from "#cel/syntax.ts";
import { must } from "#base/assert.ts";
import type { UserInfo } from "#platform/http.ts";

const text: Schema = { type: "string" };
const texts: Schema = { type: "array", items: text };
const userSchema: Schema = {
  type: "object",
  properties: {
    username: text,
    uid: text,
    groups: texts,
    extra: { type: "object", additionalProperties: texts },
  },
};
const userNode = must(schemaNode(userSchema, "kubernetes.UserInfo"), "a schema with a type");

const environments = {
  claims: new Environment({ variables: new Map([["claims", mapOf(types.string, types.dyn)]]) }),
  user: new Environment({
    variables: new Map([["user", userNode.type]]),
    types: schemaTypes([userNode]),
  }),
};

type Variable = keyof typeof environments;

export interface Expression {
  readonly text: string;
  readonly program: Program;
}

type Compiled =
  | { readonly kind: "expression"; readonly expression: Expression }
  /** `detail`: detail of upstream's finding. */
  | { readonly kind: "error"; readonly detail: string };

/** @param wanted "bool" for rules; "any" for mappings, whose results are checked when an expression is evaluated. */
export function compileExpression(
  source: string,
  variable: Variable,
  wanted: "bool" | "any",
): Compiled {
  const compiled = environments[variable].compile(source);
  if (compiled.kind === "errors") return { kind: "error", detail: compiled.message };
  const { program } = compiled;
  if (wanted === "bool" && program.type.name !== "bool") {
    return { kind: "error", detail: "must evaluate to bool" };
  }
  return { kind: "expression", expression: { text: source, program } };
}

/** Returns the variable `claims` of claims expressions. */
export function claimsVariable(claims: object): ReadonlyMap<string, Value> {
  return new Map([["claims", dynValue(claims)]]);
}

/** Returns the variable `user` of user rules. */
export function userVariable({ name, uid = "", groups, extra = {} }: UserInfo) {
  const user = { username: name, uid, groups, extra };
  return new Map([["user", jsonValue(user, userNode)]]);
}

/** The claims of a token, or a missing claim, make it invalid as a user. */
export class ClaimError extends Error {}

/** @throws ClaimError with upstream's message. */
export function evaluate(
  { text: source, program }: Expression,
  variables: ReadonlyMap<string, Value>,
): Value {
  const outcome = program.evaluate(variables);
  if (outcome.kind === "value") return outcome.value;
  throw new ClaimError(`expression '${source}' resulted in error: ${outcome.message}`);
}

const notTexts = "expression must return a string or a list of strings";

/** Returns the texts of a text, a list of texts, or null. Empty texts count as absent. @throws ClaimError */
export function textsOf(value: Value): readonly string[] {
  if (value === null) return [];
  if (typeof value === "string") return value === "" ? [] : [value];
  const items = listItems(value);
  if (items === undefined) throw new ClaimError(notTexts);
  return items.flatMap((item) => {
    if (typeof item !== "string") throw new ClaimError(notTexts);
    return item === "" ? [] : [item];
  });
}

/** Returns whether `claims.FIELD` or `claims.?FIELD` occurs anywhere in the expression. */
export function readsClaim({ program }: Expression, field: string): boolean {
  return selects(program.checked.expr, field);
}

function selects(expr: Expr, field: string): boolean {
  return isReadOf(expr, field) || partsOf(expr).some((part) => selects(part, field));
}

function isReadOf(expr: Expr, field: string): boolean {
  if (expr.kind === "select") return isClaims(expr.operand) && expr.field === field;
  if (expr.kind !== "call" || expr.name !== "_?._" || expr.target !== undefined) return false;
  const [operand, name] = expr.args;
  return isClaims(operand) && name?.kind === "literal" && name.value === field;
}

function isClaims(expr: Expr | undefined): boolean {
  return expr?.kind === "ident" && expr.name === "claims";
}
