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

/** An object as its input keeps it. */
export interface Projected {
  readonly value: unknown;
  /** By index of the input: the keys it is found by, each once. */
  readonly keys: readonly (readonly string[])[];
  /** What a row that joins it costs, as endpoints: 1 and more. */
  readonly weight: number;
}

export interface JoinInput {
  /** How many ways there are to find its objects. */
  readonly indexes: number;
  /** Undefined: it does not count. */
  project(object: CachedObject): Projected | undefined;
}

/** One row. Several with one id: that of the first maker counts. */
export interface JoinedRow {
  readonly id: string;
  /** Where it stands among the others; unique as the id is. */
  readonly place: string;
  readonly text: string;
  /** As a list of changes and events show it: JSON. */
  readonly change: string;
  /** What names it there when it is gone: JSON. */
  readonly identity: string;
  /** Where a zone sees another text; absent: none does. */
  readonly zones?: ReadonlyMap<string, string>;
}

/** What a maker says in a group. */
export interface Share {
  readonly group: string;
  readonly value: string;
}

export interface Made {
  readonly rows: readonly JoinedRow[];
  readonly shares: readonly Share[];
}

export interface Lookup {
  /** Values in the order of their objects' keys. Throws RowLimitError when they are too many. */
  find(input: number, index: number, key: string): readonly unknown[];
}

export interface JoinPlan {
  readonly inputs: readonly JoinInput[];
  /** Inputs whose objects make rows; the first ones count first. */
  readonly makers: readonly number[];
  /** Throws JsonPathError or RowLimitError: the object has no rows. */
  make(input: number, value: unknown, lookup: Lookup): Made;
  /** Shares in the order of their makers. */
  group(group: string, shares: readonly string[]): readonly JoinedRow[];
  /** Rows of no object. */
  readonly fixed: readonly JoinedRow[];
}

/** A row would be larger than the bound, or made of more objects. */
export class RowLimitError extends Error {}

export interface JoinLimits {
  /** Weights of the objects that the rows of one maker, or of a group, may be made of, together. */
  readonly joinedWeightMax: number;
  /** Of one row with its forms, in characters. */
  readonly rowLengthMax: number;
  /** Rows and groups that are made anew in one turn of the loop. */
  readonly rowsPerTurn: number;
  /** Changes that readers resume from, and the characters of their rows. */
  readonly joinedChangesMax: number;
  readonly joinedChangesLengthMax: number;
}

/** Of an object within a resource. */
export function objectKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
