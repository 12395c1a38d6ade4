/**
 * What a sink is written to through: one interface for JetStream, Redis, Kafka and HTTP.
 *
 * D1  Batches land in the order of `append`, whole or as a beginning of them, and nothing after one that failed.
 * D2  With a record its position lands: what `open` tells afterwards is what the sink holds.
 * D3  After a later `open`, by whomever, no append of an earlier session lands: it rejects with SinkFencedError.
 * A driver that cannot keep D2 or D3 says so (`atLeastOnce`), and its records repeat after a failure.
 */
export type RecordType =
  | "ADDED"
  | "MODIFIED"
  | "DELETED"
  /** These two marks enclose the initial state of a source. */
  | "SNAPSHOT_BEGIN"
  | "SNAPSHOT_END"
  /** A position without an event: the source has no changes up to it. */
  | "POSITION";

export interface SinkRecord {
  readonly type: RecordType;
  /** Name of the source, unique within its sink. */
  readonly source: string;
  /** Position at which the source resumes once this record has been written. */
  readonly position: string;
  /** Key of the object: `namespace/name`, or `name`; "" for marks. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Identifier of the record, equal each time it is sent. */
  readonly id: string;
  /** Name of the subject, stream or topic. */
  readonly route: string;
  /** Undefined: a deletion that contains only the key. */
  readonly value: Uint8Array | undefined;
}

/** The last state of an object that was written to the sink. */
export interface KnownObject {
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface SinkSession {
  /** By source: its last position. A source without one has never been written. */
  readonly positions: ReadonlyMap<string, string>;
  /** Maximum number of appends in flight. */
  readonly inFlightMax: number;
  /** Returns the existing objects by key, as far as the sink shows them. Undefined: the sink cannot be read. */
  known(source: string): Promise<Map<string, KnownObject> | undefined>;
  /** Resolves when all records are in the sink, as durable as the sink makes them. */
  append(records: readonly SinkRecord[]): Promise<void>;
  close(): Promise<void>;
}

export interface SinkDriver {
  /** Name of the sink in logs, without credentials. */
  readonly target: string;
  readonly atLeastOnce: boolean;
  /** Takes the sink over. Rejects with SinkConfigError when a retry cannot succeed. */
  open(sources: readonly string[], signal: AbortSignal): Promise<SinkSession>;
}

/** Another session has taken the sink over. */
export class SinkFencedError extends Error {
  constructor(by: string) {
    super(`another instance writes to this sink: ${by}`);
    this.name = "SinkFencedError";
  }
}

/** The sink's setup does not match the sink file, so a retry cannot succeed. */
export class SinkConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SinkConfigError";
  }
}
