/**
 * `--kube-api-qps` and `--kube-api-burst`: a token bucket before each client's requests, as in client-go. A
 * request that finds no token waits for its own, in the order of arrival.
 *
 * Holds  in any time t at most burst + qps * t requests are sent.
 * Bounds no queue of its own: the caller of each waiting request waits for it. A request that is aborted
 *        leaves its token unused; golang.org/x/time/rate returns a token only if no later request has its place.
 */
import type { Clock } from "#platform/clock.ts";
import { type RateLimit, TokenBucket } from "./token-bucket.ts";
import { type ByteTransport, ByteTransportError } from "#platform/byte-transport.ts";

export function rateLimited(http: ByteTransport, limit: RateLimit, clock: Clock): ByteTransport {
  const bucket = new TokenBucket(limit, clock);
  return {
    async send(request) {
      const waitMs = bucket.take();
      if (waitMs > 0) await waited(clock, waitMs, request.signal);
      return http.send(request);
    },
    close: () => http.close(),
  };
}

function waited(clock: Clock, waitMs: number, signal: AbortSignal): Promise<void> {
  const aborted = () =>
    new ByteTransportError("the request was taken back while it waited for its turn", "ABORTED");
  if (signal.aborted) return Promise.reject(aborted());
  return new Promise((resolve, reject) => {
    const give = (): void => {
      signal.removeEventListener("abort", cancel);
      resolve();
    };
    const timer = clock.after("client.rate-limit", waitMs, give);
    const cancel = (): void => {
      timer.cancel();
      reject(aborted());
    };
    signal.addEventListener("abort", cancel, { once: true });
  });
}
