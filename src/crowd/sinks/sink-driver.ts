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
  /** The first state of a source lies between these two. */
  | "SNAPSHOT_BEGIN"
  | "SNAPSHOT_END"
  /** Nothing happened up to this position. */
  | "POSITION";

export interface SinkRecord {
  readonly type: RecordType;
  /** The name of the source, unique within its sink. */
  readonly source: string;
  /** Where the source goes on reading once this record has landed. */
  readonly position: string;
  /** `namespace/name`, or `name`; "" for marks. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** The same however often it is sent. */
  readonly id: string;
  /** Subject, stream or topic. */
  readonly route: string;
  /** Undefined: a deletion that says no more than the key. */
  readonly value: Uint8Array | undefined;
}

/** What a sink knows of an object: the last that was written about it. */
export interface KnownObject {
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface SinkSession {
  /** By source; a source without one was never written. */
  readonly positions: ReadonlyMap<string, string>;
  /** Appends that may be under way at once. */
  readonly inFlightMax: number;
  /** The objects that are there as far as the sink tells, by key; undefined: it cannot tell. */
  known(source: string): Promise<Map<string, KnownObject> | undefined>;
  /** Resolves when all of it is durable in the sink, as durable as the sink makes it. */
  append(records: readonly SinkRecord[]): Promise<void>;
  close(): Promise<void>;
}

export interface SinkDriver {
  /** Names the sink in logs; no credentials. */
  readonly target: string;
  readonly atLeastOnce: boolean;
  /** Takes the sink over. Rejects with SinkConfigError when trying again will not help. */
  open(sources: readonly string[], signal: AbortSignal): Promise<SinkSession>;
}

/** Another session has taken the sink over. */
export class SinkFencedError extends Error {
  constructor(by: string) {
    super(`another instance writes to this sink: ${by}`);
    this.name = "SinkFencedError";
  }
}

/** The sink is set up otherwise than its file says. */
export class SinkConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SinkConfigError";
  }
}
