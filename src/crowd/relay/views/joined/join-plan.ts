/**
 * What a joined view is made of: inputs, how their objects are found by each other, and the rows they make.
 *
 *   input      the objects of one resource, projected to what rows need, and the keys they are found by
 *   maker      an input whose objects make rows; a row looks others up by key (`Lookup`), which is all it may depend on
 *   group      rows made of what several makers say together (a host of several Ingresses)
 *
 * Holds  `make` and `group` are functions of their arguments and of what `lookup` returns: the same rows wherever the
 *        same objects are.
 */
import type { CachedObject } from "#forms/cached-object.ts";

/** The part of an object that its input keeps. */
export interface Projected {
  readonly value: unknown;
  /** By index of the input: the lookup keys of the object, each once. */
  readonly keys: readonly (readonly string[])[];
  /** Cost of joining it to a row, at least 1; an endpoint costs 1. */
  readonly weight: number;
}

export interface JoinInput {
  /** Number of indexes by which its objects can be looked up. */
  readonly indexes: number;
  /** Returns the kept part of an object. Undefined: the object is ignored. */
  project(object: CachedObject): Projected | undefined;
}

/** One row. Of several rows with the same id, that of the first maker is shown. */
export interface JoinedRow {
  readonly id: string;
  /** Sort key of the row; unique like the id. */
  readonly place: string;
  readonly text: string;
  /** JSON of the row in lists of changes and in events. */
  readonly change: string;
  /** JSON that identifies the row there after its deletion. */
  readonly identity: string;
  /** By zone: the text of the row in zones where it differs. Absent: it differs in none. */
  readonly zones?: ReadonlyMap<string, string>;
}

/** Contribution of a maker to a group. */
export interface Share {
  readonly group: string;
  readonly value: string;
}

export interface Made {
  readonly rows: readonly JoinedRow[];
  readonly shares: readonly Share[];
}

export interface Lookup {
  /** Returns the values in the order of their objects' keys. Throws RowLimitError when their weight is too large. */
  find(input: number, index: number, key: string): readonly unknown[];
}

export interface JoinPlan {
  readonly inputs: readonly JoinInput[];
  /** Numbers of the inputs whose objects make rows; rows of the first ones take precedence. */
  readonly makers: readonly number[];
  /** Makes the rows of an object. Throws JsonPathError or RowLimitError: the object has no rows. */
  make(input: number, value: unknown, lookup: Lookup): Made;
  /** Makes the rows of a group from the shares in the order of their makers. */
  group(group: string, shares: readonly string[]): readonly JoinedRow[];
  /** Rows that do not depend on any object. */
  readonly fixed: readonly JoinedRow[];
}

/** A row would exceed its maximum length, or the maximum weight of its objects. */
export class RowLimitError extends Error {}

export interface JoinLimits {
  /** Maximum total weight of the objects from which the rows of one maker, or of a group, are made. */
  readonly joinedWeightMax: number;
  /** Maximum number of characters of one row with all its forms. */
  readonly rowLengthMax: number;
  /** Number of makers and groups whose rows are made anew in one turn of the loop. */
  readonly rowsPerTurn: number;
  /** Maximum number of changes that readers can resume from; `joinedChangesLengthMax`: maximum characters of their rows. */
  readonly joinedChangesMax: number;
  readonly joinedChangesLengthMax: number;
}

/** Returns the key of an object within its resource. */
export function objectKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
