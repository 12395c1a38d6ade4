/**
 * A strategy: what is particular to one kind on its way into the store. All functions are pure and
 * return new objects; `strategies.ts` holds one per built-in resource, CRDs make theirs.
 *
 * Order of a write, as upstream: decode -> default -> mutating admission -> prepare -> validate ->
 * validating admission -> store.
 */
import type { AnyObject } from "../object.ts";
import type { FieldError } from "../status.ts";

export interface UpdateStrategy {
  /** Wipes what this (sub)resource may not change by copying it from `old`; sets generation. */
  prepareForUpdate(next: AnyObject, old: AnyObject): AnyObject;
  validateUpdate(next: AnyObject, old: AnyObject): readonly FieldError[];
  /** Texts for Warning headers; absent: there are none. `old` is undefined when the object is made. */
  warnings?(next: AnyObject, old: AnyObject | undefined): readonly string[];
  /**
   * Findings besides `found`, which are those of `validate` or `validateUpdate`. They may take longer than the loop may
   * be held, and are then made elsewhere. Absent: there are none.
   */
  findFurther?(
    next: AnyObject,
    old: AnyObject | undefined,
    found: readonly FieldError[],
  ): readonly FieldError[] | Promise<readonly FieldError[]>;
}

export interface Strategy extends UpdateStrategy {
  /** PUT of a missing object creates it. */
  readonly allowCreateOnUpdate: boolean;
  /** PUT without resourceVersion overwrites; otherwise 422 "must be specified for an update". */
  readonly allowUnconditionalUpdate: boolean;
  /** Wipes status and the like, sets generation 1 where the kind tracks it. */
  prepareForCreate(object: AnyObject): AnyObject;
  /** Findings of the kind's own rules; metadata rules are `validateMetadata`'s. */
  validate(object: AnyObject): readonly FieldError[];
  /** Texts for Warning headers. */
  warnings(object: AnyObject, old: AnyObject | undefined): readonly string[];
  /** Of an object that is made, as it was sent; absent: none. */
  readonly sentWarnings?: (object: AnyObject) => readonly string[];
  /** Of an object that validation has just refused; absent: none. */
  warningsOfRefused?(object: AnyObject): readonly string[];
  /**
   * Seconds of grace a deletion gets, 0 = at once; undefined: the kind knows no grace. `requestedSeconds` is the
   * client's wish (already non-negative) or undefined. Pods: 30 by default, 0 when unscheduled or finished.
   */
  gracePeriodSeconds(
    object: AnyObject,
    requestedSeconds: number | bigint | undefined,
  ): number | bigint | undefined;
  /** What the first delete makes of an object, for kinds that never go at once. */
  readonly markForDeletion?: (object: AnyObject, nowMs: number) => AnyObject;
  /** What happens to dependents when the client does not say. */
  readonly defaultPropagation: "Background" | "Orphan";
  /** By name: `status`, `approval`, `resize`, `ephemeralcontainers`, `finalize`. */
  readonly subresources: Readonly<Record<string, UpdateStrategy>>;
}
