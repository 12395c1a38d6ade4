/** The limits of streams and tables; the relay decides them. */

export interface RightsLimits {
  /** Maximum number of namespaces per stream whose rights are asked for. */
  readonly scopesMax: number;
}

export interface StreamLimits extends RightsLimits {
  readonly namesMax: number;
  readonly nameLengthMax: number;
  readonly typesMax: number;
  /** Maximum bytes of a delta response; the rest follows in the next. */
  readonly responseBytesMax: number;
}

export interface TableLimits {
  /** Number of changes kept for subscriptions to everything. */
  readonly changesMax: number;
  /** Number of contents of deleted resources that are kept. */
  readonly formerMax: number;
}
