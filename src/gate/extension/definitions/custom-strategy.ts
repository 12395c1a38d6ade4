/**
 * Prepares and validates custom objects, in the version of the request.
 * After  registry/customresource/strategy.go, status_strategy.go, validator.go.
 */
import { jsonEqual } from "#api/json/json-value.ts";
import type { AnyObject, JsonObject, ObjectMeta } from "#api/object.ts";
import { qualifiedNameErrors } from "#api/selectors/label-syntax.ts";
import type { FieldError } from "#api/status.ts";
import type { Strategy, UpdateStrategy } from "#api/strategies/strategy-types.ts";
import type { Structural } from "#api/structural/structural.ts";
import { validateCustomObject, validateCustomStatus } from "#api/structural/validate.ts";
import { invalidValue } from "#api/validation/errors.ts";
import type { DefinedVersion } from "./definition.ts";
import type { RuleCheck, RuleFindings } from "./rules/rule-check.ts";
import { validateScale } from "./scale-paths.ts";

interface CustomRules {
  /** By validated object: findings of rules that do not refuse the write. */
  readonly tolerated: WeakMap<AnyObject, readonly string[]>;
  readonly kind: string;
  readonly apiVersion: string;
  readonly subresources: DefinedVersion["subresources"];
  readonly structural: () => Structural | undefined;
  /** Returns the check of rules. Undefined: the schema has no rules. */
  readonly checkRules: () => RuleCheck | undefined;
}

export function customStrategy(given: Omit<CustomRules, "tolerated">): Strategy {
  const rules: CustomRules = { ...given, tolerated: new WeakMap() };
  const hasStatus = rules.subresources?.status !== undefined;
  const main: UpdateStrategy = {
    prepareForUpdate: (next, old) => prepareUpdate(hasStatus, next, old),
    validateUpdate: (next, old) => judge(rules, "object", next, old),
    findFurther: (next, old, found) => ruleErrors(rules, found, next, old),
  };
  const status: UpdateStrategy = {
    prepareForUpdate: prepareStatus,
    validateUpdate: (next, old) => judge(rules, "status", next, old),
    findFurther: (next, old, found) => ruleErrors(rules, found, next, old),
  };
  return {
    ...main,
    allowCreateOnUpdate: false,
    allowUnconditionalUpdate: false,
    prepareForCreate: (object) => prepareCreate(hasStatus, object),
    validate: (object) => judge(rules, "object", object),
    warnings: (next, old) => [
      ...(rules.tolerated.get(next) ?? []),
      ...finalizerWarnings(next, old),
    ],
    warningsOfRefused: (object) => rules.tolerated.get(object) ?? [],
    gracePeriodSeconds: () => undefined,
    defaultPropagation: "Background",
    subresources: hasStatus ? { status, scale: main } : { scale: main },
  };
}

function prepareCreate(hasStatus: boolean, object: AnyObject): AnyObject {
  const { status: _, ...rest } = object;
  return withGeneration(hasStatus ? rest : object, 1);
}

function prepareUpdate(hasStatus: boolean, next: AnyObject, old: AnyObject): AnyObject {
  const prepared = hasStatus ? withStatusOf(next, old) : next;
  const before = old.metadata?.generation ?? 0;
  const isSame = jsonEqual(withoutMetadata(prepared), withoutMetadata(old));
  return withGeneration(prepared, isSame ? before : before + 1);
}

function withStatusOf(next: AnyObject, old: AnyObject): AnyObject {
  if (next["status"] === old["status"]) return next;
  const { status: _, ...rest } = next;
  return Object.hasOwn(old, "status") ? { ...rest, status: old["status"] } : rest;
}

function withoutMetadata(object: AnyObject): object {
  const { metadata: _, ...rest } = object;
  return rest;
}

function withGeneration(object: AnyObject, generation: number): AnyObject {
  if (object.metadata?.generation === generation) return object;
  return { ...object, metadata: { ...object.metadata, generation } };
}

/** Returns the old object with the new status and the new managedFields. */
function prepareStatus(next: AnyObject, old: AnyObject): AnyObject {
  const { managedFields: _, ...before } = old.metadata ?? {};
  const { managedFields } = next.metadata ?? {};
  const metadata: ObjectMeta = managedFields === undefined ? before : { ...before, managedFields };
  const { status: __, ...rest } = old;
  const kept = { ...rest, metadata };
  return Object.hasOwn(next, "status") ? { ...kept, status: next["status"] } : kept;
}

/**
 * With `part` status only errors of the status count: a specification that older rules accepted does not block a status
 * update. `old` absent: the object is new.
 */
function judge(
  rules: CustomRules,
  part: "object" | "status",
  next: AnyObject,
  old?: AnyObject,
): readonly FieldError[] {
  const wrong = typeErrors(rules, next);
  if (wrong.length > 0) return wrong;
  return schemaErrors(rules, part, next, old).concat(
    validateScale(next, rules.subresources?.scale, part),
  );
}

function typeErrors({ kind, apiVersion }: CustomRules, object: AnyObject): FieldError[] {
  const out: FieldError[] = [];
  const { kind: givenKind = "", apiVersion: givenVersion = "" } = object;
  if (givenKind !== kind) out.push(invalidValue("kind", givenKind, `must be ${kind}`));
  if (givenVersion !== apiVersion) {
    out.push(invalidValue("apiVersion", givenVersion, `must be ${apiVersion}`));
  }
  return out;
}

function schemaErrors(
  { structural }: CustomRules,
  part: "object" | "status",
  object: AnyObject,
  old: AnyObject | undefined,
): readonly FieldError[] {
  const schema = structural();
  if (schema === undefined) return [];
  // Objects are plain JSON data.
  const data = object as unknown as JsonObject;
  if (old === undefined) return validateCustomObject(data, schema);
  const before = old as unknown as JsonObject;
  return part === "status"
    ? validateCustomStatus(data, schema, before)
    : validateCustomObject(data, schema, before);
}

/** Findings after which rules are not evaluated, because a value may have another type than declared. */
const blocking: ReadonlySet<string> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

function ruleErrors(
  rules: CustomRules,
  found: readonly FieldError[],
  object: AnyObject,
  old: AnyObject | undefined,
): readonly FieldError[] | Promise<readonly FieldError[]> {
  if (typeErrors(rules, object).length > 0) return [];
  const check = rules.checkRules();
  if (check === undefined) return [];
  if (found.some(({ reason }) => blocking.has(reason))) {
    const why =
      "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
    return [invalidValue("<nil>", null, why)];
  }
  const take = ({ errors, warnings }: RuleFindings): readonly FieldError[] => {
    if (warnings.length > 0) rules.tolerated.set(object, warnings);
    return errors;
  };
  const checked = check(object, old);
  return checked instanceof Promise ? checked.then(take) : take(checked);
}

const standardFinalizers: ReadonlySet<string> = new Set([
  "orphan",
  "foregroundDeletion",
  "kubernetes",
]);

/** Returns warnings about finalizers that this write adds. */
function finalizerWarnings(next: AnyObject, old: AnyObject | undefined): readonly string[] {
  const before = new Set(old?.metadata?.finalizers);
  const added = new Set((next.metadata?.finalizers ?? []).filter((name) => !before.has(name)));
  return [...added].sort().flatMap(warningsOfFinalizer);
}

function warningsOfFinalizer(name: string): readonly string[] {
  const said = `metadata.finalizers: ${JSON.stringify(name)}: `;
  const texts = qualifiedNameErrors(name).map((text) => said + text);
  if (name.includes("/") || standardFinalizers.has(name)) return texts;
  const more = name.includes(".") ? " including a path (/)" : "";
  const why = `prefer a domain-qualified finalizer name${more} to avoid accidental conflicts with other finalizer writers`;
  return [...texts, said + why];
}
