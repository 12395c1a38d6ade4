/** Metrics of authentication and authorization, with upstream's names, labels and buckets. */
import type { CounterCell, HistogramCell, MetricSet } from "#metrics/metric-set.ts";
import type { Clock } from "#platform/clock.ts";

/** Bounds from 1 ms, doubled 14 times. */
const secondsBounds = Array.from({ length: 15 }, (_, power) =>
  Number((0.001 * 2 ** power).toFixed(3)),
);

type Authentication = "success" | "failure" | "error";
type Authorization = "allowed" | "denied" | "error";

interface Cells {
  readonly count: CounterCell;
  readonly seconds: HistogramCell;
}

export class AccessMetrics {
  readonly #clock: Clock;
  readonly #authentication: Readonly<Record<Authentication, Cells>>;
  readonly #authorization: Readonly<Record<Authorization, Cells>>;

  constructor(clock: Clock, set: MetricSet) {
    this.#clock = clock;
    const of = (count: string, seconds: string, what: string): ((result: string) => Cells) => {
      const counter = set.counter(count, `[ALPHA] ${what}, by result.`, ["result"]);
      const help = `[ALPHA] Time of ${what}, by result, in seconds.`;
      const histogram = set.histogram(seconds, help, ["result"], secondsBounds);
      return (result) => ({ count: counter.cell([result]), seconds: histogram.cell([result]) });
    };
    const authn = of(
      "authentication_attempts",
      "authentication_duration_seconds",
      "authentications",
    );
    const authz = of("authorization_attempts_total", "authorization_duration_seconds", "decisions");
    this.#authentication = {
      success: authn("success"),
      failure: authn("failure"),
      error: authn("error"),
    };
    this.#authorization = {
      allowed: authz("allowed"),
      denied: authz("denied"),
      error: authz("error"),
    };
  }

  async authenticated<Result extends { readonly kind: string }>(
    decide: () => Promise<Result>,
  ): Promise<Result> {
    const beganMs = this.#clock.monotonicMs();
    try {
      const result = await decide();
      this.#note(this.#authentication[result.kind === "user" ? "success" : "failure"], beganMs);
      return result;
    } catch (error) {
      this.#note(this.#authentication.error, beganMs);
      throw error;
    }
  }

  authorized(isAllowed: boolean, beganMs: number): void {
    this.#note(this.#authorization[isAllowed ? "allowed" : "denied"], beganMs);
  }

  #note({ count, seconds }: Cells, beganMs: number): void {
    count.count++;
    seconds.observe((this.#clock.monotonicMs() - beganMs) / 1_000);
  }
}
