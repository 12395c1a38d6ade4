/** Metrics of requests to an API server, with client-go's names and buckets. */
import type { Counter, Histogram, MetricSet } from "#metrics/metric-set.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import type { Clock } from "#platform/clock.ts";
import type { PlainHandler } from "#platform/http.ts";

const secondsBounds = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
/** 64 bytes, multiplied by four ten times; as in client-go, the fourth step only doubles. */
const bytesBounds = [
  64, 256, 512, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216,
];

export class RestMetrics {
  readonly #requests: Counter;
  readonly #seconds: Histogram;
  readonly #sent: Histogram;

  constructor(set: MetricSet) {
    this.#requests = set.counter(
      "rest_client_requests_total",
      "[ALPHA] Requests to an API server, by code, method and host.",
      ["code", "method", "host"],
    );
    this.#seconds = set.histogram(
      "rest_client_request_duration_seconds",
      "[ALPHA] Time until the head of the answer in seconds.",
      ["verb", "host"],
      secondsBounds,
    );
    this.#sent = set.histogram(
      "rest_client_request_size_bytes",
      "[ALPHA] Bytes of request bodies.",
      ["verb", "host"],
      bytesBounds,
    );
  }

  /** `code`: that of the answer; `<error>` when there was none, as in client-go. */
  requested(method: string, host: string, code: string, ms: number): void {
    this.#requests.add([code, method, host]);
    this.#seconds.observe([method, host], ms / 1_000);
  }

  sized(method: string, host: string, bytes: number): void {
    this.#sent.observe([method, host], bytes);
  }
}

interface Counting {
  readonly clock: Clock;
  readonly metrics: RestMetrics;
  /** Host and port of the URL. */
  readonly host: string;
}

/** `http` with counting. */
export function countedTransport(
  http: ByteTransport,
  { clock, metrics, host }: Counting,
): ByteTransport {
  return {
    async send(request) {
      const { method, body } = request;
      const beganMs = clock.monotonicMs();
      const count = (code: string): void =>
        metrics.requested(method, host, code, clock.monotonicMs() - beganMs);
      metrics.sized(method, host, body?.length ?? 0);
      try {
        const response = await http.send(request);
        count(String(response.status));
        return response;
      } catch (error) {
        count("<error>");
        throw error;
      }
    },
    close: () => http.close(),
  };
}

/** The same for a server in this process, which has no address. */
export function countedHandler(
  handler: PlainHandler,
  { clock, metrics }: Omit<Counting, "host">,
): PlainHandler {
  return async (request) => {
    const beganMs = clock.monotonicMs();
    const response = await handler(request);
    const ms = clock.monotonicMs() - beganMs;
    metrics.requested(request.method, "direct", String(response.status), ms);
    return response;
  };
}
