/**
 * Open streams and the right to them: each is reviewed again every `reviewStreamsMs`, and ends when
 * its user may not read any more, or is nobody any more.
 *
 * Kubernetes itself never asks twice; a relay must, because its clients' watches would otherwise
 * outlive a revoked token by hours. Reviews go through the decision cache: one question upstream per
 * user and place, however many streams. An upstream that is away ends nothing within its grace.
 */
import { ApiError } from "#api/status.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { ByteSink, PlainResponse } from "#platform/http.ts";

export interface StreamReviewDeps {
  readonly clock: Clock;
  readonly ended: () => void;
}

/** The stream with its reviews: `review` rejects with ApiError 401 or 403 to end it. */
export function reviewed(
  deps: StreamReviewDeps,
  everyMs: number,
  response: PlainResponse,
  review: () => Promise<void>,
): PlainResponse {
  if (response.kind !== "stream") return response;
  return {
    ...response,
    open(sink: ByteSink) {
      let timer: Timer | undefined;
      let closed = false;
      const close = response.open(sink);
      const stop = (): void => {
        closed = true;
        timer?.cancel();
        close();
      };
      const arm = (): void => {
        timer = deps.clock.after("relay.review", everyMs, () => void look());
      };
      const look = async (): Promise<void> => {
        const allowed = await review().then(() => true, isOutage);
        if (closed) return;
        if (allowed) return arm();
        deps.ended();
        stop();
        sink.end();
      };
      arm();
      return stop;
    },
  };
}

/** Not a verdict on the user: the stream goes on. */
function isOutage(error: unknown): boolean {
  return !(error instanceof ApiError) || (error.code !== 401 && error.code !== 403);
}
