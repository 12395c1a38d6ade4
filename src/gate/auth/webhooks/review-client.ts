/**
 * Sends reviews to another server, with upstream's retries and a bounded waiting time.
 *
 * In     the review as an object, its server as a function. Out: the answer as JSON.
 * Time   each attempt ends after `timeoutMs`; up to `attemptsMax` of them, 0.5 s apart and growing by half, after
 *        429, 500, 504 and broken connections (upstream's WithExponentialBackoff and DefaultShouldRetry).
 * Bounds `callsMax` concurrent reviews; further ones fail at once as an error of the webhook.
 */
import { type Clock, sleep } from "#platform/clock.ts";

interface ReviewAnswer {
  readonly status: number;
  /** Parsed body. Undefined: it is no JSON. */
  readonly value: unknown;
}

/** Sends a review. The size of the answer is bounded. Rejects with an error that says what went wrong. */
export type SendReview = (body: Uint8Array, signal: AbortSignal) => Promise<ReviewAnswer>;

/** Why the webhook gave no usable answer. */
export class ReviewError extends Error {
  readonly kind: "timeout" | "error";

  constructor(message: string, kind: "timeout" | "error", options?: ErrorOptions) {
    super(message, options);
    this.name = "ReviewError";
    this.kind = kind;
  }
}

interface ReviewClientDeps {
  readonly clock: Clock;
  readonly send: SendReview;
}

const attemptsMax = 5;
const firstWaitMs = 500;
const waitFactor = 1.5;
const callsMax = 512;

export class ReviewClient {
  readonly #deps: ReviewClientDeps;
  readonly #timeoutMs: number;
  #calls = 0;

  constructor(deps: ReviewClientDeps, options: { readonly timeoutMs: number }) {
    this.#deps = deps;
    this.#timeoutMs = options.timeoutMs;
  }

  /** @returns the `status` of the answer. Rejects with ReviewError. */
  async ask(review: object): Promise<Readonly<Record<string, unknown>>> {
    if (this.#calls >= callsMax) throw new ReviewError("too many reviews are in flight", "error");
    this.#calls++;
    try {
      return await this.#askAgain(new TextEncoder().encode(JSON.stringify(review)));
    } finally {
      this.#calls--;
    }
  }

  async #askAgain(body: Uint8Array): Promise<Readonly<Record<string, unknown>>> {
    const never = new AbortController().signal;
    let waitMs = firstWaitMs;
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#once(body).catch((error: unknown) => failureOf(error));
      if (!(answer instanceof Attempt)) return answer;
      if (!answer.mayHelp || attempt >= attemptsMax) throw answer.error;
      await sleep(this.#deps.clock, "auth.webhook", waitMs, never);
      waitMs *= waitFactor;
    }
  }

  async #once(body: Uint8Array): Promise<Readonly<Record<string, unknown>>> {
    const ending = new AbortController();
    const why = new ReviewError("context deadline exceeded", "timeout");
    const timer = this.#deps.clock.after("auth.webhook", this.#timeoutMs, () => ending.abort(why));
    try {
      const { status, value } = await this.#deps.send(body, ending.signal);
      if (status < 200 || status > 206) throw new StatusError(status);
      return statusOf(value);
    } catch (error) {
      throw ending.signal.aborted ? why : error;
    } finally {
      timer.cancel();
    }
  }
}

class StatusError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the server answered ${status}`);
    this.status = status;
  }
}

/** An attempt that failed. */
class Attempt {
  readonly error: ReviewError;
  readonly mayHelp: boolean;

  constructor(error: ReviewError, mayHelp: boolean) {
    this.error = error;
    this.mayHelp = mayHelp;
  }
}

const retried: ReadonlySet<number> = new Set([429, 500, 504]);

function failureOf(error: unknown): Attempt {
  if (error instanceof ReviewError) return new Attempt(error, false);
  const { code, message } = error as { readonly code?: unknown; readonly message: string };
  const isReset = code === "ECONNRESET" || code === "EPIPE";
  const mayHelp = isReset || (error instanceof StatusError && retried.has(error.status));
  return new Attempt(new ReviewError(message, "error", { cause: error }), mayHelp);
}

/** Returns the status of a review. An answer that is no review decides nothing. @throws ReviewError */
function statusOf(value: unknown): Readonly<Record<string, unknown>> {
  const { status } = (value ?? {}) as { readonly status?: unknown };
  if (typeof status === "object" && status !== null) return status as Record<string, unknown>;
  throw new ReviewError("the answer is no review with a status", "error");
}
