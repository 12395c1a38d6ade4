/** The limits of streams and tables; the relay decides them. */

export interface RightsLimits {
  /** Namespaces of one stream that are asked about. */
  readonly scopesMax: number;
}

export interface StreamLimits extends RightsLimits {
  readonly namesMax: number;
  readonly nameLengthMax: number;
  readonly typesMax: number;
  /** Of a delta response; what is left follows in the next. */
  readonly responseBytesMax: number;
}

export interface TableLimits {
  /** Changes that are remembered for those who follow everything. */
  readonly changesMax: number;
  /** Contents of deleted resources that are remembered. */
  readonly formerMax: number;
}
