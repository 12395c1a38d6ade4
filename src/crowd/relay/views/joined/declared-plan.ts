/**
 * The plan of a view with declared joins: one input per join, and the row's own resource before them. Templates and
 * fields see the object of the row, with what was joined below `joins`.
 *
 * Holds  of a Secret only names, labels and type are seen: a view shows which there are, never what is in them.
 */
import { chooseFields, type FieldRule } from "#api/json-path/field-rule.ts";
import {
  findValues,
  JsonPathError,
  type JsonPathTemplate,
  printTemplate,
} from "#api/json-path/json-path.ts";
import { isRecord } from "#base/is-record.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import { kindId, type MirroredKind } from "../../mirror/mirrored-kind.ts";
import { identity, placeOf } from "../view-form.ts";
import type { JoinBy, JoinDefinition } from "./join-definition.ts";
import type { JoinedRow, JoinInput, JoinPlan, Lookup } from "./join-plan.ts";
import { type TextFormat, textRules } from "./text-rules.ts";

export type JoinedShape =
  | { readonly kind: "fields"; readonly rules: readonly FieldRule[] }
  | { readonly kind: "text"; readonly template: JsonPathTemplate; readonly format: TextFormat };

interface Declared {
  readonly kind: MirroredKind;
  readonly joins: readonly (JoinDefinition & { readonly kind: MirroredKind })[];
  readonly shape: JoinedShape;
}

/** Maximum number of keys of one object, and of keys looked up for one object. */
const keysMax = 1_024;

export function declaredPlan(view: Declared, limits: { readonly rowLengthMax: number }): JoinPlan {
  const print = printer(view.shape, limits.rowLengthMax);
  const kinds = new Map([
    ["", view.kind],
    ...view.joins.map(({ as, kind }) => [as, kind] as const),
  ]);
  const plans = view.joins.map((join, at) => {
    const from = kinds.get(join.from);
    // A join from or to objects without namespace matches objects of all namespaces.
    const isLocal = join.kind.namespaced && from?.namespaced === true;
    return { ...join, input: at + 1, isLocal };
  });
  return {
    inputs: [rootInput(), ...plans.map(joinInput)],
    makers: [0],
    make: (_, value, lookup) => {
      const root = value as CachedObject;
      const object = seen(view.kind, root);
      const row = print(root, { ...object, joins: joined(object, plans, lookup) });
      return { rows: row === undefined ? [] : [row], shares: [] };
    },
    group: () => [],
    fixed: [],
  };
}

type JoinStep = JoinDefinition & {
  readonly kind: MirroredKind;
  readonly input: number;
  readonly isLocal: boolean;
};

function rootInput(): JoinInput {
  return {
    indexes: 0,
    project: (object) => ({ value: object, keys: [], weight: 1 }),
  };
}

function joinInput({ kind, by, isLocal }: JoinStep): JoinInput {
  return {
    indexes: 1,
    project(object) {
      const value = seen(kind, object);
      return { value, keys: [keysOf(value, by, isLocal)], weight: weightOf(object) };
    },
  };
}

/** Weight of an object grows with its size, because its text is read whole. */
function weightOf({ bytes }: CachedObject): number {
  return 1 + Math.ceil(bytes / 128);
}

interface Seen {
  readonly metadata: Readonly<Record<string, unknown>>;
}

const secrets = "v1/secrets";

/** Returns the fields of an object that rows may contain; of a Secret none of its data. */
function seen(kind: MirroredKind, { object }: CachedObject): Seen {
  const { metadata = {} } = object;
  const whole = object as unknown as Readonly<Record<string, unknown>>;
  if (kindId(kind) !== secrets) return { ...whole, metadata: metadata as Seen["metadata"] };
  const { name, namespace, labels, uid, ownerReferences } = metadata;
  // Annotations may repeat the whole object: kubectl's last applied configuration.
  const shown = { name, namespace, labels, uid, ownerReferences };
  return { metadata: shown, ...({ type: whole["type"] } as object) };
}

function keysOf(object: Seen, by: JoinBy, isLocal: boolean): readonly string[] {
  const { namespace, name, labels } = object.metadata;
  const texts = (): readonly unknown[] => {
    switch (by.kind) {
      case "name":
        return [name];
      case "label":
        return isRecord(labels) && Object.hasOwn(labels, by.label) ? [labels[by.label]] : [];
      case "owner":
        return owners(object);
      case "field":
        return valuesOf(() => findValues(by.path, object));
      default:
        return by satisfies never;
    }
  };
  return scoped(texts(), isLocal ? String(namespace) : "");
}

function owners({ metadata }: Seen): readonly unknown[] {
  const { ownerReferences } = metadata;
  if (!Array.isArray(ownerReferences)) return [];
  return ownerReferences.map((one: unknown) => (isRecord(one) ? one["uid"] : undefined));
}

/** A path that fails on an object has no values: the object is not found, or finds no other. */
function valuesOf(find: () => readonly unknown[]): readonly unknown[] {
  try {
    return find();
  } catch (error) {
    if (error instanceof JsonPathError) return [];
    throw error;
  }
}

/** Returns the keys of the values within a namespace; names contain no line end, which separates the two. */
function scoped(values: readonly unknown[], namespace: string): readonly string[] {
  const texts = values.filter((one) => typeof one === "string" || typeof one === "number");
  const keys = new Set<string>();
  for (const text of texts) {
    if (keys.size >= keysMax) break;
    keys.add(`${namespace}\n${text}`);
  }
  return [...keys];
}

function joined(
  root: Seen,
  steps: readonly JoinStep[],
  lookup: Lookup,
): Readonly<Record<string, readonly unknown[]>> {
  const found = new Map<string, readonly Seen[]>([["", [root]]]);
  for (const step of steps) {
    const objects = new Set<Seen>();
    for (const from of found.get(step.from) ?? []) {
      const { namespace } = from.metadata;
      const values = valuesOf(() => findValues(step.value, from));
      for (const key of scoped(values, step.isLocal ? String(namespace) : "")) {
        for (const one of lookup.find(step.input, 0, key)) objects.add(one as Seen);
      }
    }
    found.set(step.as, [...objects]);
  }
  found.delete("");
  return Object.fromEntries(found);
}

function printer(
  shape: JoinedShape,
  lengthMax: number,
): (root: CachedObject, object: object) => JoinedRow | undefined {
  if (shape.kind === "fields") {
    return (root, object) => {
      const fields = chooseFields(shape.rules, object);
      const text = JSON.stringify({ ...identity(root), fields });
      const id = placeOf(root);
      return { id, place: id, text, change: text, identity: JSON.stringify(identity(root)) };
    };
  }
  const rules = textRules(shape.format, lengthMax);
  return (root, object) => {
    const printed = printTemplate(shape.template, object, rules);
    if (printed.trim() === "") return undefined;
    const text = printed.endsWith("\n") ? printed : `${printed}\n`;
    const id = placeOf(root);
    const change = JSON.stringify({ ...identity(root), text });
    return { id, place: `${text}\0${id}`, text, change, identity: JSON.stringify(identity(root)) };
  };
}
