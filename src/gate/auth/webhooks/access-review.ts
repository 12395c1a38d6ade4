/**
 * Converts a question to an authorizer into the spec of a SubjectAccessReview, and evaluates the conditions that select
 * its webhooks.
 *
 * Source: k8s.io/apiserver plugin/pkg/authorizer/webhook and pkg/authorization/cel, 1.36.
 */
import { must } from "#base/assert.ts";
import { jsonValue } from "#cel/json-values.ts";
import { Environment, type Program } from "#cel/environment.ts";
import { type Schema, schemaNode, schemaTypes } from "#cel/schema-types.ts";
import { aggregateText } from "#api/validation/aggregate.ts";
import type { Attributes } from "../auth.ts";

const text: Schema = { type: "string" };
const texts: Schema = { type: "array", items: text };
const object = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: "object",
  properties,
});
const requirement = object({ key: text, operator: text, values: texts });
const selector = object({ rawSelector: text, requirements: { type: "array", items: requirement } });

/** Schema of the spec. Upstream has named types for its parts, which expressions cannot distinguish from these. */
const specNode = must(
  schemaNode(
    object({
      resourceAttributes: object({
        namespace: text,
        verb: text,
        group: text,
        version: text,
        resource: text,
        subresource: text,
        name: text,
        fieldSelector: selector,
        labelSelector: selector,
      }),
      nonResourceAttributes: object({ path: text, verb: text }),
      user: text,
      groups: texts,
      extra: { type: "object", additionalProperties: texts },
      uid: text,
    }),
    "kubernetes.SubjectAccessReviewSpec",
  ),
  "a schema with a type",
);

const environment = new Environment({
  variables: new Map([["request", specNode.type]]),
  types: schemaTypes([specNode]),
});

export interface AccessSpec {
  readonly resourceAttributes?: Readonly<Record<string, unknown>>;
  readonly nonResourceAttributes?: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly uid?: string;
}

/** Returns the spec as JSON for the webhook, without empty fields. */
export function accessSpec(attributes: Attributes): AccessSpec {
  const { user, isResourceRequest, path, verb } = attributes;
  const { name, groups, extra = {}, uid = "" } = user;
  return {
    ...(isResourceRequest
      ? { resourceAttributes: resourceAttributes(attributes) }
      : { nonResourceAttributes: filled({ path, verb }) }),
    ...filled({ user: name }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
    ...filled({ uid }),
  };
}

function resourceAttributes(attributes: Attributes): Readonly<Record<string, unknown>> {
  const { namespace, verb, group, version, resource, subresource, name } = attributes;
  const selected = (attributes.fieldSelector?.requirements ?? []).map(
    ({ field, operator, value }) => ({
      key: field,
      operator: operator === "!=" ? "NotIn" : "In",
      values: [value],
    }),
  );
  return {
    ...filled({ namespace, verb, group, version, resource, subresource, name }),
    ...(selected.length === 0 ? {} : { fieldSelector: { requirements: selected } }),
  };
}

function filled(fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));
}

interface Condition {
  readonly text: string;
  readonly program: Program;
}

/** Compiles a condition. A text as result says why it does not compile: the detail of a finding. */
export function compileCondition(source: string): Condition | string {
  const compiled = environment.compile(source);
  if (compiled.kind === "errors") return compiled.message;
  const { program } = compiled;
  if (program.type.name !== "bool") return `must evaluate to bool but got ${program.type.name}`;
  return { text: source, program };
}

type MatchOutcome =
  | { readonly kind: "match" }
  | { readonly kind: "no-match" }
  | { readonly kind: "error"; readonly message: string };

/** Evaluates all conditions. A false condition takes precedence over one that fails. */
export function matchesAll(conditions: readonly Condition[], spec: AccessSpec): MatchOutcome {
  if (conditions.length === 0) return { kind: "match" };
  const variables = new Map([["request", jsonValue(shownSpec(spec), specNode)]]);
  const errors: string[] = [];
  for (const { text: source, program } of conditions) {
    const outcome = program.evaluate(variables);
    if (outcome.kind === "error") {
      errors.push(
        `cel evaluation error: expression '${source}' resulted in error: ${outcome.message}`,
      );
    } else if (outcome.value === false) return { kind: "no-match" };
  }
  return errors.length === 0
    ? { kind: "match" }
    : { kind: "error", message: aggregateText(errors) };
}

const emptyResource = {
  namespace: "",
  verb: "",
  group: "",
  version: "",
  resource: "",
  subresource: "",
  name: "",
};

/**
 * Returns the spec for expressions. All texts are present, even empty ones. Expressions test with has() which kind of
 * attributes is present.
 */
function shownSpec(spec: AccessSpec): object {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  return {
    user: "",
    groups: [],
    uid: "",
    extra: {},
    ...spec,
    ...(resource === undefined ? {} : { resourceAttributes: { ...emptyResource, ...resource } }),
    ...(path === undefined ? {} : { nonResourceAttributes: { path: "", verb: "", ...path } }),
  };
}
