/**
 * A strategy: the rules of one kind for its objects on their way into the store. All functions are pure and
 * return new objects. `strategies.ts` holds one per built-in resource; CRDs make theirs.
 *
 * Order of a write, as upstream: decode -> default -> mutating admission -> prepare -> validate ->
 * validating admission -> store.
 */
import type { AnyObject } from "../object.ts";
import type { FieldError } from "../status.ts";

export interface UpdateStrategy {
  /** Restores from `old` the fields that this (sub)resource may not change; sets the generation. */
  prepareForUpdate(next: AnyObject, old: AnyObject): AnyObject;
  validateUpdate(next: AnyObject, old: AnyObject): readonly FieldError[];
  /** Texts for Warning headers; absent: none. `old` undefined: the object is being created. */
  warnings?(next: AnyObject, old: AnyObject | undefined): readonly string[];
  /**
   * Returns findings besides `found`, which are those of `validate` or `validateUpdate`. They may take longer than the
   * loop may be held, and are then made elsewhere. Absent: there are none.
   */
  findFurther?(
    next: AnyObject,
    old: AnyObject | undefined,
    found: readonly FieldError[],
  ): readonly FieldError[] | Promise<readonly FieldError[]>;
}

export interface Strategy extends UpdateStrategy {
  /** A PUT of a missing object creates it. */
  readonly allowCreateOnUpdate: boolean;
  /** A PUT without resourceVersion overwrites; otherwise it is a 422 "must be specified for an update". */
  readonly allowUnconditionalUpdate: boolean;
  /** Clears status and similar fields; sets generation 1 where the kind has one. */
  prepareForCreate(object: AnyObject): AnyObject;
  /** Validates by the kind's own rules; `validateMetadata` checks the metadata. */
  validate(object: AnyObject): readonly FieldError[];
  /** Texts for Warning headers. */
  warnings(object: AnyObject, old: AnyObject | undefined): readonly string[];
  /** Warnings about an object to be created, as it was sent; absent: none. */
  readonly sentWarnings?: (object: AnyObject) => readonly string[];
  /** Warnings about an object that validation has refused; absent: none. */
  warningsOfRefused?(object: AnyObject): readonly string[];
  /**
   * Grace period of a deletion in seconds, 0 = at once; undefined: the kind has no grace. `requestedSeconds` is the
   * client's value (already non-negative) or undefined. Pods: 30 by default, 0 when unscheduled or finished.
   */
  gracePeriodSeconds(
    object: AnyObject,
    requestedSeconds: number | bigint | undefined,
  ): number | bigint | undefined;
  /** Changes an object at its first delete, for kinds that are never removed at once. */
  readonly markForDeletion?: (object: AnyObject, nowMs: number) => AnyObject;
  /** Propagation policy when the client sets none. */
  readonly defaultPropagation: "Background" | "Orphan";
  /** Strategies by subresource: `status`, `approval`, `resize`, `ephemeralcontainers`, `finalize`. */
  readonly subresources: Readonly<Record<string, UpdateStrategy>>;
}
