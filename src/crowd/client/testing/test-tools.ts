/**
 * `import { testTools } from "pilothouse/client/testing"`: the same tools as from `connect`, for tests of controllers,
 * with a clock that the test moves. Delays, backoff and leases made with these tools advance on
 * command; the plane behind the client keeps its own time.
 *
 * Holds  between two timers, and before `advance` returns, every request under way has ended: a lease is
 *        not lost because a test skipped the time in which its renewal was answered.
 */
import { setImmediate as hostTurn } from "node:timers/promises";
import { nodeLog, type LogLevel } from "#platform/node/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { Client } from "../client.ts";
import type { ControllerDeps } from "../controller-frame.ts";
import { createInformerSet } from "../informer-set.ts";

export interface TestTools extends ControllerDeps {
  /** Time stands still until `advance` is called. */
  readonly clock: FakeClock;
  /** Advances by `ms`: fires timers in order, and lets the requests of each end before the next. */
  advance(ms: number): Promise<void>;
  /** Resolves when no request is running and none was started for some turns of the event loop. */
  settle(): Promise<void>;
}

/** On an in-process plane, a write reaches its informers within this many turns. */
const quietTurns = 8;

/** `client`: that of `startControlPlane`. With sockets, events might arrive after `settle`. */
export function testTools(client: Client, { logLevel = "error" as LogLevel } = {}): TestTools {
  const clock = new FakeClock();
  const calls = new CountedCalls(client);
  const log = nodeLog({ level: logLevel, destination: 2 });
  const deps = { client: calls.client, clock, random: new FakeRandom(1), log };
  return {
    ...deps,
    clock,
    informers: createInformerSet(deps),
    settle: () => calls.settle(),
    advance: (ms) => advance(clock, ms, calls),
  };
}

async function advance(clock: FakeClock, ms: number, calls: CountedCalls): Promise<void> {
  const untilMs = clock.monotonicMs() + ms;
  await calls.settle();
  for (;;) {
    const nextMs = clock.nextMs();
    if (nextMs === undefined || clock.monotonicMs() + nextMs > untilMs) break;
    clock.tick(nextMs);
    await calls.settle();
  }
  clock.tick(untilMs - clock.monotonicMs());
}

/** A client that counts its running requests, except watches, which do not end. */
class CountedCalls {
  readonly client: Client;
  #count = 0;

  constructor(client: Client) {
    this.client = new Proxy(client, {
      get: (target, name) => {
        const verb: unknown = Reflect.get(target, name, target);
        if (typeof verb !== "function" || name === "watch") return bound(verb, target);
        return (...args: unknown[]) => this.#counted(Reflect.apply(verb, target, args));
      },
    });
  }

  async settle(): Promise<void> {
    for (let quiet = 0; quiet < quietTurns; quiet++) {
      await hostTurn();
      if (this.#count > 0) quiet = 0;
    }
  }

  async #counted(answer: unknown): Promise<unknown> {
    this.#count++;
    try {
      return await answer;
    } finally {
      this.#count--;
    }
  }
}

function bound(verb: unknown, target: Client): unknown {
  return typeof verb === "function" ? verb.bind(target) : verb;
}
