/** The deadline of short requests: a signal for the handler, and 504 for the client when it passes. */
import { parseGoDuration } from "#api/go/go-duration.ts";
import { badRequest, failure } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";

/** Timeout from ?timeout=, a Go duration, limited by the server's own. @throws ApiError 400. */
export function allowedTimeoutMs(query: URLSearchParams, limitMs: number): number {
  const text = query.get("timeout");
  if (text === null || text === "") return limitMs;
  const wished = parseGoDuration(text);
  if (wished === undefined) {
    throw badRequest(
      `invalid timeout specified in the request URL - time: invalid duration "${text}"`,
    );
  }
  return wished <= 0 ? limitMs : Math.min(wished, limitMs);
}

/** The end of a request. The AbortSignal is made on first use: most requests never need one. */
interface Leaving {
  readonly signal: AbortSignal;
}

/** Runs `f` with a signal that aborts at the deadline or with `gone`; rejects with 504 at the deadline. */
export function runWithDeadline<T>(
  clock: Clock,
  limitMs: number,
  gone: Leaving,
  f: (ending: Leaving) => Promise<T>,
): Promise<T> {
  const ending = new Ending(gone);
  return new Promise((resolve, reject) => {
    const timer = clock.after("server.deadline", limitMs, () => {
      ending.abort();
      reject(timedOut());
    });
    const settle = (): void => {
      timer.cancel();
      ending.forget();
    };
    f(ending).then(
      (value) => {
        settle();
        resolve(value);
      },
      (error: unknown) => {
        settle();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}

/** One reason for all aborts: Node's default reason costs 10 us each. */
const ended = new Error("the request has ended");

/** A signal that aborts at the deadline or with `gone`. Most requests end before either. */
class Ending implements Leaving {
  readonly #gone: Leaving;
  #inner: AbortController | undefined;
  #late = false;
  readonly #abort = (): void => this.#inner?.abort(ended);

  constructor(gone: Leaving) {
    this.#gone = gone;
  }

  get signal(): AbortSignal {
    if (this.#inner !== undefined) return this.#inner.signal;
    this.#inner = new AbortController();
    const { signal } = this.#gone;
    if (this.#late || signal.aborted) this.#inner.abort(ended);
    else signal.addEventListener("abort", this.#abort, { once: true });
    return this.#inner.signal;
  }

  abort(): void {
    this.#late = true;
    this.#inner?.abort(ended);
  }

  /** Removes the listener: a direct caller's signal may serve many requests. */
  forget(): void {
    if (this.#inner !== undefined) this.#gone.signal.removeEventListener("abort", this.#abort);
  }
}

function timedOut(): Error {
  const text = "Timeout: request did not complete within the allotted timeout";
  return failure(504, "Timeout", text, {});
}
