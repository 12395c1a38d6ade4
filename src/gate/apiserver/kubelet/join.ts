/**
 * Joins two connections: copies bytes both ways, each direction at its reader's pace.
 *
 * Holds  as in upstream, the end of one direction is passed on and ends both. A side that keeps its half open after
 *        that is disconnected after `lingerMs`. A broken connection breaks the other one.
 */
import type { Clock } from "#platform/clock.ts";
import type { ByteDuplex, ByteSink } from "#platform/http.ts";

/** Time for data in flight to reach a slow reader. */
export const lingerMs = 30_000;

/** Joins two connections in both directions. `done`: called once, when both directions have ended. */
export function join(clock: Clock, client: ByteDuplex, server: ByteDuplex, done: () => void): void {
  const cut = (): void => {
    client.abort();
    server.abort();
  };
  let timer: ReturnType<Clock["after"]> | undefined;
  const half = (): void => {
    timer ??= clock.after("kubelet.end", lingerMs, cut);
  };
  const ways = [oneWay(client, server, half, cut), oneWay(server, client, half, cut)];
  void Promise.all(ways).then(() => {
    timer?.cancel();
    done();
  });
}

async function oneWay(
  from: ByteDuplex,
  to: ByteDuplex,
  ended: () => void,
  cut: () => void,
): Promise<void> {
  try {
    await from.stream((chunk) => untilDrained(to, to.write([chunk])));
    to.end();
    ended();
  } catch {
    cut();
  }
}

/** @returns a promise that holds the source back until the sink drains; undefined when the sink has room. */
export function untilDrained(sink: ByteSink, hasRoom: boolean): Promise<void> | undefined {
  if (hasRoom || sink.closed) return undefined;
  return new Promise((resolve) => sink.onDrain(resolve));
}
