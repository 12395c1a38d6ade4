/**
 * The common parts of the strategies of most kinds. On create and update the server owns status and the client owns
 * spec; on a status write it is the other way round. Generation counts changes of the spec.
 *
 * A kind's table row states its particular rules; `buildStrategy` makes the Strategy from it.
 */
import { given } from "#base/given.ts";
import { dictionary } from "#base/own.ts";
import type { AnyObject, ObjectMeta } from "../object.ts";
import { resetMetadataForStatus } from "../meta.ts";
import type { FieldError } from "../status.ts";
import type { Strategy, UpdateStrategy } from "./strategy-types.ts";
import type { Fields } from "../validation/fields.ts";
import { semanticEqual } from "../validation/equal.ts";
import { dropGatedFields, type GatedField } from "./gated-fields.ts";

/** Rules of one kind, except those of its metadata. */
export interface Rules {
  readonly validate?: (object: Fields) => readonly FieldError[];
  /** Runs instead of `validate` on update, so it repeats the rules that also hold there. */
  readonly validateUpdate?: (next: Fields, old: Fields) => readonly FieldError[];
  /** Rules of subresources, by name. */
  readonly subresources?: Readonly<
    Record<string, (next: Fields, old: Fields) => readonly FieldError[]>
  >;
  readonly warnings?: (object: Fields, old: Fields | undefined) => readonly string[];
  /** Warnings about an object to be created, as it was sent, before preparation. */
  readonly sentWarnings?: (object: Fields) => readonly string[];
  /** Warnings of subresources, by name; `scale` uses those of the object. */
  readonly subresourceWarnings?: Readonly<Record<string, (next: Fields) => readonly string[]>>;
}

export interface StrategyRow {
  /** Fields of features that are off; they are dropped first. */
  readonly gated?: readonly GatedField[];
  /** If set, the kind has a status with this initial value. */
  readonly status?: Fields;
  /** For kinds that report about themselves (nodes): a create may set the status. */
  readonly statusOnCreate?: true;
  /** Fields whose change increments the generation; absent: the kind has no generation. */
  readonly generation?: readonly string[];
  /** Upstream does not set the generation of these kinds on create. */
  readonly generationStartsUnset?: true;
  /** Which metadata a status write restores: none, the old labels, or all of it. */
  readonly statusMetadata?: "keep" | "labels" | "reset";
  readonly createOnUpdate?: true;
  readonly unconditionalUpdate?: false;
  readonly orphansByDefault?: true;
  readonly prepareForCreate?: (object: AnyObject) => AnyObject;
  /** Converts `next` to its stored form, before it is decided whether metadata.generation grows. */
  readonly prepareForUpdate?: (next: AnyObject, old: AnyObject) => AnyObject;
  readonly prepareStatus?: (next: AnyObject, old: AnyObject) => AnyObject;
  /** If set, replicas can be changed through `scale`, by the rules of the kind. */
  readonly scale?: true;
  /** Preparation for further subresources. */
  readonly subresources?: Readonly<Record<string, (next: AnyObject, old: AnyObject) => AnyObject>>;
  readonly markForDeletion?: (object: AnyObject, nowMs: number) => AnyObject;
  readonly gracePeriodSeconds?: (
    object: AnyObject,
    requested: number | bigint | undefined,
  ) => number | bigint;
}

export function buildStrategy(row: StrategyRow, rules: Rules): Strategy {
  const update: UpdateStrategy = {
    prepareForUpdate: (next, old) => prepareUpdate(row, next, old),
    validateUpdate: (next, old) => validateUpdate(rules, next, old),
  };
  return {
    ...update,
    allowCreateOnUpdate: row.createOnUpdate ?? false,
    allowUnconditionalUpdate: row.unconditionalUpdate ?? true,
    prepareForCreate: (object) => prepareCreate(row, object),
    validate: (object) => rules.validate?.(object) ?? [],
    warnings: (object, old) => rules.warnings?.(object, old) ?? [],
    ...given({ sentWarnings: rules.sentWarnings }),
    gracePeriodSeconds: row.gracePeriodSeconds ?? (() => undefined),
    ...given({ markForDeletion: row.markForDeletion }),
    defaultPropagation: row.orphansByDefault === true ? "Orphan" : "Background",
    subresources: buildSubresources(row, rules, update),
  };
}

function validateUpdate(rules: Rules, next: AnyObject, old: AnyObject): readonly FieldError[] {
  if (rules.validateUpdate !== undefined) return rules.validateUpdate(next, old);
  return rules.validate?.(next) ?? [];
}

function buildSubresources(
  row: StrategyRow,
  rules: Rules,
  update: UpdateStrategy,
): Readonly<Record<string, UpdateStrategy>> {
  const built = dictionary<UpdateStrategy>();
  const validator = (name: string) => rules.subresources?.[name] ?? (() => []);
  const warner = (name: string) => rules.subresourceWarnings?.[name] ?? (() => []);
  if (row.status !== undefined) {
    built["status"] = {
      prepareForUpdate: (next, old) => prepareStatus(row, next, old),
      validateUpdate: validator("status"),
      warnings: warner("status"),
    };
  }
  if (row.scale === true) {
    built["scale"] = { ...update, warnings: (next, old) => rules.warnings?.(next, old) ?? [] };
  }
  for (const [name, prepare] of Object.entries(row.subresources ?? {})) {
    const prepareForUpdate: UpdateStrategy["prepareForUpdate"] = (next, old) =>
      prepare(dropGatedFields(row.gated ?? [], next, old), old);
    built[name] = {
      prepareForUpdate,
      validateUpdate: validator(name),
      warnings: warner(name),
    };
  }
  return built;
}

function prepareCreate(row: StrategyRow, object: AnyObject): AnyObject {
  let next = dropGatedFields(row.gated ?? [], object, undefined);
  if (row.status !== undefined && row.statusOnCreate !== true) {
    next = { ...next, status: row.status };
  }
  if (row.generation !== undefined) {
    next = withGeneration(next, row.generationStartsUnset === true ? undefined : 1);
  }
  return row.prepareForCreate?.(next) ?? next;
}

function prepareUpdate(row: StrategyRow, next: AnyObject, old: AnyObject): AnyObject {
  const known = dropGatedFields(row.gated ?? [], next, old);
  let prepared = row.status === undefined ? known : withStatus(known, old["status"]);
  prepared = row.prepareForUpdate?.(prepared, old) ?? prepared;
  return countGeneration(prepared, old, row.generation ?? []);
}

/** The old generation, plus one when any of the fields changed. */
export function countGeneration(
  next: AnyObject,
  old: AnyObject,
  fields: readonly string[],
): AnyObject {
  const changed = fields.some((field) => !semanticEqual(fieldOf(next, field), fieldOf(old, field)));
  const before = old.metadata?.generation;
  return withGeneration(next, changed ? (before ?? 0) + 1 : before);
}

/** `annotations` means metadata.annotations; every other name is a top-level field. */
function fieldOf(object: AnyObject, field: string): unknown {
  return field === "annotations" ? (object.metadata?.annotations ?? {}) : object[field];
}

function withGeneration(object: AnyObject, generation: number | undefined): AnyObject {
  if (object.metadata?.generation === generation) return object;
  const metadata: Record<string, unknown> = { ...object.metadata };
  if (generation === undefined) delete metadata["generation"];
  else metadata["generation"] = generation;
  return { ...object, metadata: metadata as ObjectMeta };
}

function withStatus(object: AnyObject, status: unknown): AnyObject {
  if (object["status"] === status) return object;
  if (status !== undefined) return { ...object, status };
  const { status: dropped, ...kept } = object;
  void dropped;
  return kept;
}

function prepareStatus(row: StrategyRow, next: AnyObject, old: AnyObject): AnyObject {
  const status = next["status"] ?? row.status;
  let prepared: AnyObject = { ...old, ...withMetadata(statusMetadata(row, next, old)), status };
  prepared = withGeneration(prepared, old.metadata?.generation);
  return row.prepareStatus?.(prepared, old) ?? prepared;
}

function withMetadata(metadata: ObjectMeta | undefined): { readonly metadata?: ObjectMeta } {
  return given({ metadata });
}

function statusMetadata(row: StrategyRow, next: AnyObject, old: AnyObject): ObjectMeta | undefined {
  if (row.statusMetadata === "reset") return resetMetadataForStatus(next, old).metadata;
  if (row.statusMetadata !== "labels") return next.metadata;
  const metadata: Record<string, unknown> = { ...next.metadata };
  delete metadata["labels"];
  const labels = old.metadata?.labels;
  return { ...metadata, ...given({ labels }) };
}
