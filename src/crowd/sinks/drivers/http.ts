/**
 * HTTP: batches of CloudEvents (`application/cloudevents-batch+json`) by POST, signed as the Standard Webhooks
 * specification says: HMAC-SHA256 of `ID.TIMESTAMP.BODY` in `webhook-signature`, with `webhook-id` and
 * `webhook-timestamp`.
 *
 * A receiver cannot keep our position, so a file does, written after each answer of 2xx: what was answered and
 * not noted comes again, with the same event ids. What the receiver holds cannot be known either: after a gap
 * it gets a whole snapshot between marks.
 */
import { createHmac } from "node:crypto";
import { concatBytes } from "#base/bytes.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import type { Clock } from "#platform/clock.ts";
import {
  SinkConfigError,
  type SinkDriver,
  type SinkRecord,
  type SinkSession,
} from "../sink-driver.ts";

interface HttpOptions {
  readonly sink: string;
  /** Origin of the URL without its path, for logs. */
  readonly origin: string;
  readonly path: string;
  /** Returns the decoded key, also of a file with the `whsec_` prefix. Undefined: batches are not signed. */
  readonly secret: (() => Uint8Array) | undefined;
}

/** File that keeps the position of the sink. */
export interface PositionFile {
  /** Returns the content. Undefined: the file does not exist yet. */
  read(): Promise<string | undefined>;
  /** Replaces the content; it is durable when the promise resolves. */
  write(text: string): Promise<void>;
}

interface HttpDeps {
  readonly clock: Clock;
  readonly http: ByteTransport;
  readonly file: PositionFile;
}

const contentType = "application/cloudevents-batch+json";
const answerBytesMax = 64 * 1024;
const encoder = new TextEncoder();
const comma = encoder.encode(",");

export class HttpDriver implements SinkDriver {
  readonly target: string;
  readonly atLeastOnce = true;
  readonly #deps: HttpDeps;
  readonly #options: HttpOptions;

  constructor(deps: HttpDeps, options: HttpOptions) {
    this.#deps = deps;
    this.#options = options;
    this.target = options.origin;
  }

  async open(_sources: readonly string[], signal: AbortSignal): Promise<SinkSession> {
    const positions = parsePositions(await this.#deps.file.read(), this.#options.sink);
    const noted = new Map(positions);
    return {
      positions,
      // With several batches in flight, a later one could overtake one that is sent again.
      inFlightMax: 1,
      known: () => Promise.resolve(undefined),
      append: async (records) => {
        await this.#post(records, signal);
        for (const { source, position } of records) noted.set(source, position);
        await this.#deps.file.write(formatPositions(noted, this.#options.sink));
      },
      close: () => Promise.resolve(),
    };
  }

  async #post(records: readonly SinkRecord[], signal: AbortSignal): Promise<void> {
    const events = records.flatMap(({ type, value }) =>
      type === "POSITION" || value === undefined ? [] : [value],
    );
    if (events.length === 0) return;
    const body = batchOf(events);
    const id = `${records[0]?.id}..${records.at(-1)?.id}`;
    const response = await this.#deps.http.send({
      method: "POST",
      target: this.#options.path,
      headers: { "content-type": contentType, ...this.#signature(encodeURI(id), body) },
      body,
      signal,
    });
    await response.read(answerBytesMax);
    if (response.status >= 200 && response.status < 300) return;
    throw new Error(`${this.#options.origin} answered ${response.status}`);
  }

  #signature(id: string, body: Uint8Array): Readonly<Record<string, string>> {
    const { secret } = this.#options;
    if (secret === undefined) return {};
    const timestamp = Math.floor(this.#deps.clock.nowMs() / 1000).toString();
    const mac = createHmac("sha256", secret()).update(`${id}.${timestamp}.`).update(body);
    return {
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${mac.digest("base64")}`,
    };
  }
}

/** Returns a JSON list of the events, concatenated without parsing them. */
function batchOf(events: readonly Uint8Array[]): Uint8Array {
  const parts = events.flatMap((event, at) => (at === 0 ? [event] : [comma, event]));
  return concatBytes([encoder.encode("["), ...parts, encoder.encode("]")]);
}

function formatPositions(positions: ReadonlyMap<string, string>, sink: string): string {
  return `${JSON.stringify({ sink, positions: Object.fromEntries(positions) })}\n`;
}

function parsePositions(text: string | undefined, sink: string): ReadonlyMap<string, string> {
  if (text === undefined) return new Map();
  try {
    const found = JSON.parse(text) as { sink?: unknown; positions?: unknown };
    if (found.sink === sink && typeof found.positions === "object" && found.positions !== null) {
      return new Map(Object.entries(found.positions).map(([source, at]) => [source, String(at)]));
    }
  } catch {
    // The error below reports malformed JSON as well.
  }
  throw new SinkConfigError(
    `the position file is not one of sink ${sink}: name another, or remove it to begin with a snapshot`,
  );
}
