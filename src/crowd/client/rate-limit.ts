/**
 * `--kube-api-qps` and `--kube-api-burst`: a token bucket before each client's requests, as client-go has it. A
 * request that finds no token waits for its own, in the order in which they came.
 *
 * Holds  in any time t at most burst + qps * t requests are sent.
 * Bounds no queue of its own: each waiting request is one its caller made and waits for; one that is taken back
 *        leaves its token unused, as golang.org/x/time/rate gives it back only where no later one has taken its place.
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
