/**
 * Finds errors in the expressions of a policy or a webhook at its write, in addition to the findings of the api room.
 *
 * Holds  stored matchConditions that an update does not change are not checked again.
 * Texts and fields as upstream's pkg/apis/admissionregistration/validation.
 */
import { jsonEqual } from "#api/json/json-value.ts";
import type { AnyObject, GroupResource } from "#api/object.ts";
import type { FieldError } from "#api/status.ts";
import { child, index, invalidValue } from "#api/validation/errors.ts";
import { type Fields, has, items, maybe, part, text } from "#api/validation/fields.ts";
import type { Type } from "#cel/type.ts";
import { type Declared, PolicyCompiler, results } from "./compiler.ts";

const group = "admissionregistration.k8s.io";

/** Returns the finder of errors. Undefined: objects of the resource contain no expressions of policies. */
export function expressionFindings(info: GroupResource): Finder | undefined {
  return info.group === group ? finders.get(info.resource) : undefined;
}

type Finder = (object: AnyObject, old: AnyObject | undefined) => FieldError[];

const finders: ReadonlyMap<string, Finder> = new Map([
  ["validatingadmissionpolicies", validatingFindings],
  ["mutatingadmissionpolicies", mutatingFindings],
]);

class Findings {
  readonly found: FieldError[] = [];
  readonly #compiler = new PolicyCompiler();
  readonly #declared: Declared;

  constructor(spec: Fields) {
    const hasVariables = items(spec, "variables").length > 0;
    this.#declared = { hasParams: has(spec, "paramKind"), hasAuthorizer: true, hasVariables };
  }

  check(
    field: string,
    expression: string,
    wanted: readonly Type[],
    more: Partial<Declared> = {},
  ): void {
    if (expression.trim() === "") return;
    const declared = { ...this.#declared, ...more };
    const { compileError } = this.#compiler.compile(expression, declared, wanted);
    this.#take(field, expression, compileError);
  }

  variables(spec: Fields): void {
    items(spec, "variables").forEach((variable, at) => {
      const expression = text(variable, "expression");
      if (expression.trim() === "") return;
      const name = text(variable, "name");
      const { compileError } = this.#compiler.compileVariable(name, expression, this.#declared);
      this.#take(child(index("spec.variables", at), "expression"), expression, compileError);
    });
  }

  conditions(spec: Fields): void {
    items(spec, "matchConditions").forEach((condition, at) => {
      const field = child(index("spec.matchConditions", at), "expression");
      const expression = text(condition, "expression").trim();
      this.check(field, expression, results.bool, { hasVariables: false });
    });
  }

  #take(field: string, expression: string, error: string | undefined): void {
    if (error !== undefined) this.found.push(invalidValue(field, expression, error));
  }
}

function validatingFindings(policy: AnyObject, old: AnyObject | undefined): FieldError[] {
  const spec = part(policy, "spec");
  const findings = begin(spec, old);
  items(spec, "validations").forEach((validation, at) => {
    const path = index("spec.validations", at);
    findings.check(child(path, "expression"), text(validation, "expression"), results.bool);
    const message = text(validation, "messageExpression");
    const quiet = { hasAuthorizer: false };
    findings.check(child(path, "messageExpression"), message, results.string, quiet);
  });
  items(spec, "auditAnnotations").forEach((annotation, at) => {
    const field = child(index("spec.auditAnnotations", at), "valueExpression");
    const expression = text(annotation, "valueExpression");
    findings.check(field, expression, results.stringOrNull);
  });
  return findings.found;
}

function mutatingFindings(policy: AnyObject, old: AnyObject | undefined): FieldError[] {
  const spec = part(policy, "spec");
  const findings = begin(spec, old);
  const more = { hasPatchTypes: true, hasVariables: true };
  items(spec, "mutations").forEach((mutation, at) => {
    const isPatch = text(mutation, "patchType") === "JSONPatch";
    const field = isPatch ? "jsonPatch" : "applyConfiguration";
    const expression = text(maybe(mutation, field) ?? {}, "expression").trim();
    const path = child(index("spec.mutations", at), field, "expression");
    findings.check(path, expression, isPatch ? results.patches : results.object, more);
  });
  return findings.found;
}

function begin(spec: Fields, old: AnyObject | undefined): Findings {
  const findings = new Findings(spec);
  const before = part(old ?? {}, "spec");
  const isSame =
    jsonEqual(spec["matchConditions"] ?? [], before["matchConditions"] ?? []) &&
    jsonEqual(spec["paramKind"] ?? null, before["paramKind"] ?? null);
  if (!isSame) findings.conditions(spec);
  findings.variables(spec);
  return findings;
}
