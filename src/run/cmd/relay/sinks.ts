/**
 * `pilothouse relay --sink`: sinks that read this relay's mirrors instead of the API server, as the relay's own
 * user, over a socket that only this user can reach. One of several relays writes: the holder of the Lease.
 */
import { hostname } from "node:os";
import { electionTimes, runElected } from "#client/election.ts";
import { socketClient, socketClientLimits } from "#client/rest-client.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { httpClient, httpClientLimits } from "#platform/node/http/http-client.ts";
import { httpLimits, listen } from "#platform/node/http/http.ts";
import { NodeRandom } from "#platform/node/random.ts";
import type { Relay } from "#relay/relay.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { shutdownMs } from "../shared/limits.ts";
import { productVersion } from "../shared/product.ts";
import { makeInnerSocket } from "./workers.ts";
import { declareSinks, runSinks } from "../sink/sinks.ts";

const sinkLease = { namespace: "kube-system", name: "pilothouse-sink" } as const;

interface RelaySinksDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricSet;
}

export interface RelaySinks {
  /** Runs until `signal` aborts. A misconfigured sink ends the sinks with an error in the log, but not the relay. */
  run(relay: Relay, signal: AbortSignal): Promise<void>;
}

/** Throws UsageError for mistakes in the file. */
export function relaySinks({ clock, log, metrics }: RelaySinksDeps, path: string): RelaySinks {
  const deps = { clock, log, random: new NodeRandom() };
  const declared = declareSinks(deps, path, metrics);
  const identity = `${hostname()}_${deps.random.uuid()}`;
  return {
    run: async (relay, signal) => {
      const socket = makeInnerSocket();
      const at = { host: "", port: 0, socketPath: socket.path };
      const listening = await listen({ ...at, limits: httpLimits }, relay.innerHandler, log);
      const server = { server: "http://relay", socketPath: socket.path };
      const http = httpClient({ ...server, limits: httpClientLimits });
      const userAgent = `sink/pilothouse-${productVersion}`;
      const client = socketClient({ http }, { userAgent, ...socketClientLimits });
      const ended = new AbortController();
      const lead = async (term: AbortSignal): Promise<void> => {
        await runSinks({ ...deps, client }, declared, term).catch((error: unknown) => {
          log.error("the sinks of this relay have ended", { error: String(error) });
          ended.abort();
        });
      };
      const until = AbortSignal.any([signal, ended.signal]);
      const lease = { ...sinkLease, identity, ...electionTimes };
      await runElected({ ...deps, client }, lease, lead, until);
      http.close();
      await listening.close(shutdownMs);
      socket.remove();
    },
  };
}
