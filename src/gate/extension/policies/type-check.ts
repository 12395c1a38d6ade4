/**
 * Finds type errors in the expressions of a ValidatingAdmissionPolicy for the kinds that it covers: the warnings of
 * `status.typeChecking`. They do not affect the policy's decisions.
 *
 * In     a stored policy; the currently served kinds and schemas.
 * Holds  only rules without wildcards are checked, only resources (no subresources), and at most `kindsMax` kinds.
 * Limits a step (one expression for one kind) is one compilation: the caller yields the event loop between steps.
 * Differs kinds of aggregated servers have no schema here and are not checked: upstream reads them.
 * Source: k8s.io/apiserver pkg/admission/plugin/policy/validating/typechecking.go, 1.36.
 */
import { type AnyObject, apiVersionOf, type GroupVersionKind } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { type Fields, items, maybe, part, text, texts } from "#api/validation/fields.ts";
import type { Steps } from "#base/steps.ts";
import { Environment } from "#cel/environment.ts";
import type { TypeProvider } from "#cel/declarations.ts";
import { types } from "#cel/libraries/library.ts";
import { type SchemaNode, schemaTypes } from "#cel/schema-types.ts";
import { showErrors } from "#cel/source-error.ts";
import { dynType, type Type } from "#cel/type.ts";
import { variablesType } from "./lazy-variables.ts";
import { namespaceNode, requestNode } from "./request-variables.ts";

/** Same fields as upstream's ExpressionWarning. */
export interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}

/** The fields of a served resource that the rules of a policy refer to. */
export type CheckedKind = Pick<
  ResourceInfo,
  "group" | "version" | "resource" | "singular" | "kind"
>;

interface CheckedKinds {
  served(): readonly CheckedKind[];
  /** Returns the type of a kind's objects. Undefined: no schema is known. */
  nodeOf(kind: GroupVersionKind): SchemaNode | undefined;
}

/** Maximum number of kinds: upstream's maxTypesToCheck. */
const kindsMax = 10;

export function* typeWarnings(policy: AnyObject, kinds: CheckedKinds): Steps<ExpressionWarning[]> {
  const spec = part(policy, "spec");
  const environments = yield* environmentsOf(spec, kinds);
  const warnings: ExpressionWarning[] = [];
  for (const [at, validation] of items(spec, "validations").entries()) {
    for (const field of ["expression", "messageExpression"]) {
      const expression = text(validation, field);
      if (field === "messageExpression" && expression === "") continue;
      const warning = yield* expressionWarning(expression, environments);
      const fieldRef = `spec.validations[${at}].${field}`;
      if (warning !== "") warnings.push({ fieldRef, warning });
    }
  }
  return warnings;
}

interface KindEnvironment {
  readonly kind: GroupVersionKind;
  readonly environment: Environment;
}

function* expressionWarning(
  expression: string,
  environments: readonly KindEnvironment[],
): Steps<string> {
  const found: string[] = [];
  for (const { kind, environment } of environments) {
    const compiled = environment.compile(expression);
    yield;
    if (compiled.kind === "program") continue;
    const gvk = `${kind.group}/${kind.version}, Kind=${kind.kind}`;
    found.push(`${gvk}: ${showErrors(expression, compiled.errors)}\n`);
  }
  return found.join("\n");
}

/** Makes an environment for each kind, with the variables of the policy. */
function* environmentsOf(spec: Fields, kinds: CheckedKinds): Steps<readonly KindEnvironment[]> {
  const made: KindEnvironment[] = [];
  const paramKind = maybe(spec, "paramKind");
  const params = paramKind === undefined ? undefined : paramsOf(paramKind, kinds);
  for (const kind of kindsToCheck(spec, kinds.served())) {
    const object = kinds.nodeOf(kind);
    yield;
    if (object === undefined) continue;
    const environment = yield* environmentOf(items(spec, "variables"), object, params);
    made.push({ kind, environment });
  }
  return made;
}

function paramsOf(paramKind: Fields, kinds: CheckedKinds): SchemaNode | "any" {
  return kinds.nodeOf(paramKindOf(paramKind)) ?? "any";
}

function paramKindOf(paramKind: Fields): GroupVersionKind {
  const [version = "", group = ""] = text(paramKind, "apiVersion").split("/").toReversed();
  return { group, version, kind: text(paramKind, "kind") };
}

function* environmentOf(
  variables: readonly Fields[],
  object: SchemaNode,
  params: SchemaNode | "any" | undefined,
): Steps<Environment> {
  const known = new Map<string, Type>();
  const declared = new Map<string, Type>([
    ["object", object.type],
    ["oldObject", object.type],
    ["request", requestNode.type],
    ["namespaceObject", namespaceNode.type],
    ["variables", variablesType],
    ["authorizer", types.authorizer],
  ]);
  if (params !== undefined) declared.set("params", params === "any" ? dynType : params.type);
  const nodes = [requestNode, namespaceNode, object, ...(isNode(params) ? [params] : [])];
  const environment = new Environment({ variables: declared, types: withVariables(nodes, known) });
  for (const variable of variables) {
    const compiled = environment.compile(text(variable, "expression"));
    yield;
    known.set(
      text(variable, "name"),
      compiled.kind === "program" ? compiled.program.type : dynType,
    );
  }
  return environment;
}

function isNode(params: SchemaNode | "any" | undefined): params is SchemaNode {
  return params !== undefined && params !== "any";
}

function withVariables(
  nodes: readonly SchemaNode[],
  variables: ReadonlyMap<string, Type>,
): TypeProvider {
  const objects = schemaTypes(nodes);
  const own = { type: variablesType, field: (name: string) => variables.get(name) };
  return { find: (name) => (name === variablesType.name ? own : objects.find(name)) };
}

/** Returns all kinds whose types the check of a policy needs. */
export function checkedKinds(
  policy: AnyObject,
  served: readonly CheckedKind[],
): readonly GroupVersionKind[] {
  const spec = part(policy, "spec");
  const paramKind = maybe(spec, "paramKind");
  const params = paramKind === undefined ? [] : [paramKindOf(paramKind)];
  return [...kindsToCheck(spec, served), ...params];
}

/** Returns the kinds in order of group, version and kind. */
function kindsToCheck(spec: Fields, served: readonly CheckedKind[]): readonly GroupVersionKind[] {
  const found = new Map<string, GroupVersionKind>();
  for (const rule of items(part(spec, "matchConstraints"), "resourceRules")) {
    if (addRule(found, rule, served)) break;
  }
  return [...found.values()].sort(
    (a, b) => order(a.group, b.group) || order(a.version, b.version) || order(a.kind, b.kind),
  );
}

/** @returns whether the maximum number of kinds is reached. */
function addRule(
  found: Map<string, GroupVersionKind>,
  rule: Fields,
  served: readonly CheckedKind[],
): boolean {
  const groups = texts(rule, "apiGroups").toSorted(order);
  const versions = texts(rule, "apiVersions").toSorted(order);
  if ([...groups, ...versions].some((one) => one.includes("*"))) return false;
  const resources = texts(rule, "resources").filter((one) => !/[*/]/.test(one));
  let count = 0;
  for (const group of groups) {
    for (const version of versions) {
      for (const resource of resources.toSorted(order)) {
        for (const { group: g, version: v, kind } of resolve(served, {
          group,
          version,
          resource,
        })) {
          found.set(`${apiVersionOf({ group: g, version: v })}/${kind}`, {
            group: g,
            version: v,
            kind,
          });
          if (++count === kindsMax) return true;
        }
      }
    }
  }
  return false;
}

interface Named {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** Resolves a name as a RESTMapper: the empty group means any group, and singular names match. */
function resolve(
  served: readonly CheckedKind[],
  { group, version, resource }: Named,
): readonly CheckedKind[] {
  const name = resource.toLowerCase();
  return served.filter(
    (info) =>
      info.version === version &&
      (group === "" || info.group === group) &&
      (info.resource === name || info.singular === name),
  );
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
