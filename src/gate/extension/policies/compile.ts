/** Compiles stored policies, as upstream's compilePolicy of both types. An expression that does not compile keeps its error. */
import type { AnyObject } from "#api/object.ts";
import { type Fields, has, items, part, text } from "#api/validation/fields.ts";
import { type Declared, PolicyCompiler, results } from "./compiler.ts";
import type { Expression } from "./expression.ts";
import type { MutatingProgram, Mutation } from "./mutating-program.ts";
import type { Compiled, NamedExpression } from "./policy-index.ts";
import type { ValidatingProgram } from "./validating-decision.ts";

interface Base {
  readonly compiler: PolicyCompiler;
  readonly spec: Fields;
  readonly full: Declared;
  readonly conditions: readonly Expression[];
  readonly variables: readonly NamedExpression[];
  readonly failsClosed: boolean;
}

export function compileValidating(policy: AnyObject): Compiled<ValidatingProgram> {
  const { compiler, spec, full, variables, conditions, failsClosed } = baseOf(policy);
  const quiet = { ...full, hasAuthorizer: false };
  const validations = items(spec, "validations").map((validation) => {
    const message = text(validation, "messageExpression").trim();
    return {
      expression: compiler.compile(text(validation, "expression"), full, results.bool),
      message: text(validation, "message"),
      messageExpression:
        message === "" ? undefined : compiler.compile(message, quiet, results.string),
      reason: text(validation, "reason"),
    };
  });
  const annotations = items(spec, "auditAnnotations").map((annotation) => ({
    key: text(annotation, "key"),
    expression: compiler.compile(text(annotation, "valueExpression"), full, results.stringOrNull),
  }));
  return { variables, program: { failsClosed, conditions, validations, annotations } };
}

export function compileMutating(policy: AnyObject): Compiled<MutatingProgram> {
  const { compiler, spec, full, variables, conditions, failsClosed } = baseOf(policy);
  const declared = { ...full, hasPatchTypes: true };
  const mutations = items(spec, "mutations").map((mutation): Mutation => {
    const isPatch = text(mutation, "patchType") === "JSONPatch";
    const source = text(part(mutation, isPatch ? "jsonPatch" : "applyConfiguration"), "expression");
    return isPatch
      ? { type: "JSONPatch", expression: compiler.compile(source, declared, results.patches) }
      : {
          type: "ApplyConfiguration",
          expression: compiler.compile(source, declared, results.object),
        };
  });
  return { variables, program: { failsClosed, conditions, mutations } };
}

function baseOf(policy: AnyObject): Base {
  const spec = part(policy, "spec");
  const compiler = new PolicyCompiler();
  const full = { hasParams: has(spec, "paramKind"), hasAuthorizer: true };
  const variables = items(spec, "variables").map((variable) => {
    const name = text(variable, "name");
    return { name, expression: compiler.compileVariable(name, text(variable, "expression"), full) };
  });
  const conditions = items(spec, "matchConditions").map((condition) =>
    compiler.compile(text(condition, "expression"), full, results.bool),
  );
  const failsClosed = text(spec, "failurePolicy") !== "Ignore";
  return { compiler, spec, full, variables, conditions, failsClosed };
}
