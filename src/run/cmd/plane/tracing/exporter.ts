/**
 * Sends spans to an OpenTelemetry collector over gRPC without TLS, as upstream: batches of `batchMax` every five seconds.
 *
 * Holds  a request never waits for it. `queueMax` spans wait; what is more, and a batch that the collector does not take
 *        within ten seconds, is dropped and counted. One batch is on its way at a time.
 */
import type { ClientHttp2Session } from "node:http2";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Span } from "#server/trace.ts";
import { framed, GrpcError, prefixBytes } from "#wire/grpc.ts";
import { callUnary, rpcText } from "#wire/grpc-unary.ts";
import type { CollectorAddress } from "./configuration.ts";
import { exportRequest } from "./otlp.ts";

/** OpenTelemetry's defaults for a batch span processor. */
const queueMax = 2_048;
const batchMax = 512;
const everyMs = 5_000;
const timeoutMs = 10_000;
/** Interval between two log lines about a collector that fails. */
const tellEveryMs = 60_000;

const method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

interface ExporterDeps {
  readonly clock: Clock;
  readonly log: Log;
}

interface ExporterOptions {
  readonly address: CollectorAddress;
  readonly instanceId: string;
  readonly version: string;
}

export class SpanExporter {
  readonly #deps: ExporterDeps;
  readonly #options: ExporterOptions;
  readonly #counts = { sent: 0, dropped: 0 };
  #queue: Span[] = [];
  #session: ClientHttp2Session | undefined;
  #sending: Promise<void> | undefined;
  #timer: Timer | undefined;
  #toldMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(deps: ExporterDeps, options: ExporterOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Numbers of sent and dropped spans, for metrics. */
  get counts(): { readonly sent: number; readonly dropped: number } {
    return this.#counts;
  }

  add(spans: readonly Span[]): void {
    const room = queueMax - this.#queue.length;
    const taken = this.#isClosed ? [] : spans.slice(0, room);
    this.#counts.dropped += spans.length - taken.length;
    this.#queue.push(...taken);
    if (this.#queue.length >= batchMax) this.#send();
    else if (this.#queue.length > 0) this.#arm();
  }

  /** Sends the waiting spans if that takes no longer than one batch may take, then disconnects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#sending;
    if (this.#queue.length > 0) await this.#sendBatches();
    this.#session?.destroy();
  }

  #arm(): void {
    this.#timer ??= this.#deps.clock.after("tracing.export", everyMs, () => {
      this.#timer = undefined;
      this.#send();
    });
  }

  #send(): void {
    // `#sendBatches` never rejects.
    this.#sending ??= this.#sendBatches().finally(() => (this.#sending = undefined));
  }

  /** Sends batches until the queue is empty or the collector fails. */
  async #sendBatches(): Promise<void> {
    let isWell = true;
    while (isWell && this.#queue.length > 0) isWell = await this.#sendOne();
    if (this.#queue.length > 0 && !this.#isClosed) this.#arm();
  }

  /** Sends one batch. Never rejects. @returns whether the collector accepted it. */
  async #sendOne(): Promise<boolean> {
    const { clock } = this.#deps;
    const batch = this.#queue.splice(0, batchMax);
    const late = new AbortController();
    const timer = clock.after("tracing.export", timeoutMs, () => late.abort());
    try {
      const request = exportRequest(batch, this.#options);
      const message = framed(Buffer.concat([Buffer.alloc(prefixBytes), request]));
      await callUnary(await this.#connected(), method, message, late.signal);
      this.#counts.sent += batch.length;
      return true;
    } catch (error) {
      this.#counts.dropped += batch.length;
      this.#tell(error);
      return false;
    } finally {
      timer.cancel();
    }
  }

  #tell(error: unknown): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#toldMs < tellEveryMs) return;
    this.#toldMs = nowMs;
    const why = error instanceof GrpcError ? rpcText(error) : String(error);
    this.#deps.log.warn("traces export failed; spans are dropped", { error: why });
  }

  /** HTTP/2 and sockets are imported with the first batch. */
  async #connected(): Promise<ClientHttp2Session> {
    const known = this.#session;
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const [{ connect }, net] = await Promise.all([import("node:http2"), import("node:net")]);
    const { address } = this.#options;
    const session = connect("http://localhost", {
      createConnection: () => net.connect(address),
      settings: { enablePush: false },
    });
    session.unref();
    // The calls on this connection fail and report the error.
    session.on("error", () => undefined);
    this.#session = session;
    return session;
  }
}
