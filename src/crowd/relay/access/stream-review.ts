/**
 * Reviews open streams: each one's rights are checked again every `reviewStreamsMs`, and it ends when its
 * user may not read any more, or its credential is no longer valid.
 *
 * Kubernetes itself never asks twice; a relay must, because its clients' watches would otherwise
 * outlive a revoked token by hours. Reviews go through the decision cache: one question upstream per
 * user and place, however many streams. An upstream that is away ends nothing within its grace.
 */
import { ApiError } from "#api/status.ts";
import { Deadlines, type DeadlineStep, type Expiring } from "#platform/deadlines.ts";
import type { Clock } from "#platform/clock.ts";
import type { ByteSink, PlainResponse } from "#platform/http.ts";

/** Dependencies that all streams of a relay share. */
export interface StreamReviewDeps {
  readonly deadlines: Deadlines;
  readonly everyMs: number;
  readonly ended: () => void;
}

export function reviewDeadlines(clock: Clock): Deadlines {
  return new Deadlines(clock, { name: "relay.review", stepMs: 250 });
}

/** Returns the stream with periodic reviews; `review` rejects with ApiError 401 or 403 to end the stream. */
export function reviewStream(
  deps: StreamReviewDeps,
  response: PlainResponse,
  review: () => Promise<void>,
): PlainResponse {
  if (response.kind !== "stream") return response;
  return {
    ...response,
    open(sink: ByteSink) {
      const stream = new ReviewedStream(deps, { sink, review, close: response.open(sink) });
      return () => stream.close();
    },
  };
}

class ReviewedStream implements Expiring {
  readonly #deps: StreamReviewDeps;
  readonly #sink: ByteSink;
  readonly #review: () => Promise<void>;
  readonly #close: () => void;
  #step: DeadlineStep;
  #closed = false;

  constructor(
    deps: StreamReviewDeps,
    stream: { sink: ByteSink; review: () => Promise<void>; close: () => void },
  ) {
    this.#deps = deps;
    this.#sink = stream.sink;
    this.#review = stream.review;
    this.#close = stream.close;
    this.#step = deps.deadlines.add(this, deps.everyMs);
  }

  expire(): void {
    void this.#look();
  }

  close(): void {
    this.#closed = true;
    this.#deps.deadlines.delete(this, this.#step);
    this.#close();
  }

  async #look(): Promise<void> {
    const allowed = await this.#review().then(() => true, isOutage);
    if (this.#closed) return;
    if (allowed) {
      this.#step = this.#deps.deadlines.add(this, this.#deps.everyMs);
      return;
    }
    this.#deps.ended();
    this.close();
    this.#sink.end();
  }
}

/** Whether the error is not a verdict on the user: then the stream continues. */
function isOutage(error: unknown): boolean {
  return !(error instanceof ApiError) || (error.code !== 401 && error.code !== 403);
}
