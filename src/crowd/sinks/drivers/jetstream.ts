/**
 * NATS JetStream: every message names the sequence of the one before it, so the stream takes it there or nowhere.
 *
 * Holds  the newest message tells the position of every source, in a header. A session begins with a mark at
 *        the stream's end: what an earlier session has under way then meets another end, and is refused.
 * Holds  the last message's acknowledgement proves the whole batch: it was expected behind all others.
 * Nats-Msg-Id is not set: it would make a stream refuse for two minutes what it lost and needs again.
 * The stream belongs to the sink: nobody else may publish into it. It is made when it is not there.
 */
import type { MsgHdrs } from "@nats-io/transport-node";
import {
  type KnownObject,
  SinkConfigError,
  type SinkDriver,
  SinkFencedError,
  type SinkRecord,
  type SinkSession,
} from "../sink-driver.ts";
import { JetStreamConnection, type NatsTarget, type StreamEnd } from "./jetstream-connection.ts";

interface JetStreamOptions extends NatsTarget {
  readonly sink: string;
  readonly stream: string;
  /** Subjects of the stream when the driver creates it: `k8s.>`. */
  readonly subjects: string;
  /** Subject of marks without a source. */
  readonly markSubject: string;
  /** Whether each object has a subject of its own. */
  readonly subjectPerObject: boolean;
  /** Number of messages kept per subject in a stream that the driver creates. Undefined: all. */
  readonly keepPerSubject: number | undefined;
  readonly contentType: string;
}

const header = {
  positions: "Pilothouse-Positions",
  type: "Pilothouse-Type",
  id: "Pilothouse-Id",
  key: "Pilothouse-Key",
  uid: "Pilothouse-Uid",
  source: "Pilothouse-Source",
  resourceVersion: "Pilothouse-Resource-Version",
  contentType: "Content-Type",
  expected: "Nats-Expected-Last-Sequence",
} as const;

export class JetStreamDriver implements SinkDriver {
  readonly target: string;
  readonly atLeastOnce = false;
  readonly #options: JetStreamOptions;

  constructor(options: JetStreamOptions) {
    this.#options = options;
    this.target = `${options.servers.join(",")} stream ${options.stream}`;
  }

  async open(_sources: readonly string[], signal: AbortSignal): Promise<SinkSession> {
    const connection = await JetStreamConnection.open(this.#options, signal);
    try {
      const session = new JetStreamSession(connection, this.#options, await connection.end());
      await session.takeOver();
      return session;
    } catch (error) {
      await connection.close();
      throw asSinkError(error);
    }
  }
}

class JetStreamSession implements SinkSession {
  readonly inFlightMax = 4;
  readonly positions: Map<string, string>;
  readonly #connection: JetStreamConnection;
  readonly #options: JetStreamOptions;
  readonly #written: Map<string, string>;
  /** Sequence number of the last message, sent or acknowledged. */
  #sequence: number;
  readonly #messages: number;

  constructor(connection: JetStreamConnection, options: JetStreamOptions, end: StreamEnd) {
    this.#connection = connection;
    this.#options = options;
    this.#sequence = end.sequence;
    this.#messages = end.messages;
    this.positions = parsePositions(end.headers?.get(header.positions) ?? "");
    this.#written = new Map(this.positions);
  }

  /** Publishes a message, so that the expected sequence numbers of an earlier session's messages no longer match. */
  async takeOver(): Promise<void> {
    const headers = this.#headers("POSITION");
    await this.#connection.publish(this.#options.markSubject, undefined, headers);
    this.#sequence++;
  }

  async known(source: string): Promise<Map<string, KnownObject>> {
    const known = new Map<string, KnownObject>();
    if (this.#messages === 0) return known;
    await this.#connection.readHeaders(this.#options.subjectPerObject, (headers) => {
      const key = decodeURIComponent(headers.get(header.key));
      if (key === "" || headers.get(header.source) !== encodeURIComponent(source)) return;
      const uid = decodeURIComponent(headers.get(header.uid));
      const resourceVersion = decodeURIComponent(headers.get(header.resourceVersion));
      if (headers.get(header.type) === "DELETED") known.delete(key);
      else known.set(key, { uid, resourceVersion });
    });
    return known;
  }

  async append(records: readonly SinkRecord[]): Promise<void> {
    const last = records.length - 1;
    let landed: Promise<void> | undefined;
    for (const [at, record] of records.entries()) {
      this.#written.set(record.source, record.position);
      const headers = this.#headers(record.type, record);
      const { route, value } = record;
      if (at < last) this.#connection.send(route, value, headers);
      else landed = this.#connection.publish(route, value, headers);
      this.#sequence++;
    }
    await landed?.catch((error: unknown) => {
      throw asSinkError(error);
    });
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Values that others can choose are percent-encoded, so none of them can end a header line. */
  #headers(type: string, record?: SinkRecord): MsgHdrs {
    const headers: Record<string, string[]> = {
      [header.expected]: [String(this.#sequence)],
      [header.positions]: [formatPositions(this.#written)],
      [header.type]: [type],
    };
    if (record !== undefined) this.#addRecord(headers, record);
    return this.#connection.headers(headers);
  }

  #addRecord(headers: Record<string, string[]>, record: SinkRecord): void {
    const { id, key, uid, source, resourceVersion, value } = record;
    headers[header.id] = [encodeURI(id)];
    headers[header.source] = [encodeURIComponent(source)];
    headers[header.resourceVersion] = [encodeURIComponent(resourceVersion)];
    if (value !== undefined) headers[header.contentType] = [this.#options.contentType];
    if (key === "") return;
    headers[header.key] = [encodeURIComponent(key)];
    headers[header.uid] = [encodeURIComponent(uid)];
  }
}

/** Formats the positions: `v1%2Fpods=41.1 apps%2Fv1%2Fdeployments=40`. */
function formatPositions(positions: ReadonlyMap<string, string>): string {
  const texts = [...positions].map((pair) => pair.map(encodeURIComponent).join("="));
  return texts.join(" ");
}

function parsePositions(text: string): Map<string, string> {
  const positions = new Map<string, string>();
  for (const part of text.split(" ")) {
    const [source = "", at = ""] = part.split("=", 2);
    if (at !== "") positions.set(decodeURIComponent(source), decodeURIComponent(at));
  }
  return positions;
}

function asSinkError(error: unknown): unknown {
  const text = error instanceof Error ? error.message : String(error);
  if (/wrong last sequence/.test(text)) return new SinkFencedError(text);
  if (/authorization|permissions violation/i.test(text)) return new SinkConfigError(text);
  return error;
}
