/**
 * Everything a role has opened, as a stack of named parts: opened from top to bottom, disposed in reverse, in one place.
 *
 * In     `open`: the part's name, how it is opened, and how it is closed.
 * Holds  a part is in the stack from the moment it is open; one that fails to open is not, and cleans up after itself.
 *        Each part is closed once, also when another one's closing fails. After `stopping` no further part is opened.
 * Out    health checks and metrics of all parts, in the order of opening.
 */
import type { Clock } from "#platform/clock.ts";
import { OwnedTimers } from "#platform/owned-timers.ts";
import type { HealthCheck } from "#server/health.ts";
import type { MetricSet } from "#metrics/metric-set.ts";

/** The functions that a role needs for one part. */
interface PartOf<Value> {
  /** Closes the part, and resolves when nothing of it is open. Called once. */
  readonly close: (value: Value) => unknown;
  readonly checks?: (value: Value) => readonly HealthCheck[];
  /** Adds the part's metrics to the role's. */
  readonly describe?: (value: Value, metrics: MetricSet) => void;
}

interface Part extends AsyncDisposable {
  readonly name: string;
  readonly checks: readonly HealthCheck[];
  describe(metrics: MetricSet): void;
}

interface PartsOptions {
  /** Once aborted, the next `open` throws StartStopped. Absent: a start is never interrupted. */
  readonly stopping?: AbortSignal;
  /** Called with the name of each part after its opening. A test ends a start by throwing here. */
  readonly onOpened?: (name: string) => void;
}

/** Ends a start because the role must stop. */
export class StartStopped extends Error {
  override readonly name = "StartStopped";
}

export class Parts implements AsyncDisposable {
  readonly #options: PartsOptions;
  readonly #prefix: string;
  readonly #stack = new AsyncDisposableStack();
  readonly #parts: Part[] = [];

  constructor(options: PartsOptions = {}, prefix = "") {
    this.#options = options;
    this.#prefix = prefix;
  }

  /** Aborted when the role must stop. Undefined: a start is never interrupted. */
  get stopping(): AbortSignal | undefined {
    return this.#options.stopping;
  }

  /** @returns the value of `make`, now owned by this stack. Rejects with the error of `make`, or with StartStopped. */
  async open<Value>(
    name: string,
    make: () => Value | Promise<Value>,
    part: PartOf<Value>,
  ): Promise<Value> {
    if (this.#options.stopping?.aborted === true) throw new StartStopped();
    const value = await make();
    this.#keep({
      name: this.#prefix + name,
      checks: part.checks?.(value) ?? [],
      describe: (metrics) => part.describe?.(value, metrics),
      [Symbol.asyncDispose]: async () => {
        await part.close(value);
      },
    });
    return value;
  }

  /** Returns a stack within this one, whose parts' names begin with `name/`. */
  nest(name: string): Parts {
    const inner = new Parts(this.#options, `${this.#prefix}${name}/`);
    this.#stack.use(inner);
    this.#parts.push(inner.#asPart(name));
    return inner;
  }

  checks(): readonly HealthCheck[] {
    return this.#parts.flatMap(({ checks }) => checks);
  }

  describe(metrics: MetricSet): void {
    for (const part of this.#parts) part.describe(metrics);
  }

  /** Closes every part when `start` fails, and rejects with its cause. */
  async closeOnFailure<Result>(start: () => Promise<Result>): Promise<Result> {
    try {
      return await start();
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Closes the parts in reverse order of opening. A second call does nothing. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  #keep(part: Part): void {
    this.#stack.use(part);
    this.#parts.push(part);
    this.#options.onOpened?.(part.name);
  }

  #asPart(name: string): Part {
    const checks = (): readonly HealthCheck[] => this.checks();
    return {
      name,
      get checks() {
        return checks();
      },
      describe: (metrics) => this.describe(metrics),
      [Symbol.asyncDispose]: () => this[Symbol.asyncDispose](),
    };
  }
}

/** Opens a clock as a part. Timers that still wait when all later parts are closed are cancelled. */
export function openTimers(clock: Clock, parts: Parts): Promise<Clock> {
  return parts.open("timers", () => new OwnedTimers(clock), {
    close: (timers) => timers.cancelAll(),
  });
}
