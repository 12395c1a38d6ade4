/**
 * `pilothouse up --relay ADDRESS:PORT`: a relay before the plane of the same process, for clients that
 * come in crowds. It reaches the API server by its socket, as the administrator, like any other relay.
 */
import type { Pki } from "#auth/pki-files.ts";
import { listen } from "#platform/node/http/http.ts";
import type { AuditSink } from "#server/audit.ts";
import { MetricSet } from "#server/metric-set.ts";
import type { Host } from "./host.ts";
import type { Plane } from "./plane.ts";
import { addressOf, relayHttpLimits, xdsFlag } from "./relay-listen.ts";
import { endRelay, makeRelay, stopRelay } from "./relay-make.ts";
import { upstreamOf } from "./relay-upstream.ts";
import type { LogLevel } from "#platform/node/log.ts";
import { listenXds } from "./xds-listen.ts";

export interface UpRelayFlags {
  readonly relay: string;
  readonly relayResources: string;
  readonly xdsListen?: string;
  readonly logLevel: LogLevel;
  /** The plane's: its own lines do not name who reads the relay's mirrors. */
  readonly audit?: AuditSink;
}

export interface BesideRelay {
  /** `https://127.0.0.1:6444`. */
  readonly url: string;
  /** Where it serves xDS, for the screen; "": nowhere. */
  readonly xds: string;
  stop(): Promise<void>;
}

/** Resolves when every mirror has its first list. Throws UsageError for a bad address or resource. */
export async function startRelayBeside(
  host: Host,
  plane: Plane,
  pki: Pki,
  flags: UpRelayFlags,
): Promise<BesideRelay> {
  const { relay, relayResources: resources, xdsListen, logLevel, audit } = flags;
  const { admin, authority, server } = pki;
  const ends = new AbortController();
  const upstream = upstreamOf(
    {
      server: plane.url,
      ca: authority.certificate,
      certificate: admin.certificate,
      key: admin.privateKey,
    },
    host.clock,
  );
  const keys = {
    cert: server.certificate,
    key: server.privateKey,
    clientCa: authority.certificate,
  };
  const at = await addressOf({ listen: relay, cert: keys.cert, key: keys.key }, "--relay");
  const more = { metrics: new MetricSet(), ...(audit === undefined ? {} : { audit }) };
  const xdsAt =
    xdsListen === undefined
      ? undefined
      : await addressOf({ listen: xdsListen, cert: keys.cert, key: keys.key }, xdsFlag);
  const withXds = xdsListen === undefined ? {} : { xdsListen };
  const mirrors = { resources, reads: "verify", logLevel, ...withXds } as const;
  const made = await makeRelay(mirrors, upstream, ends.signal, more);
  if (made === undefined) throw new Error("a relay that nobody stopped was not made");
  const options = { ...at, ...keys, limits: relayHttpLimits, ownHttp1: true };
  const listening = await listen(options, made.running.handler, host.log).catch(async (error) => {
    await endRelay(made);
    throw error;
  });
  const { xds: face } = made.running;
  const deps = { clock: host.clock, log: host.log };
  const xds =
    face === undefined || xdsAt === undefined
      ? undefined
      : await listenXds({ ...deps, face }, xdsAt, keys).catch(async (error) => {
          await stopRelay(made, listening, 0);
          throw error;
        });
  await made.running.untilReady(ends.signal);
  const { address } = listening;
  const name = address.host.includes(":") ? `[${address.host}]` : address.host;
  return {
    url: `https://${name}:${address.port}`,
    xds: xds === undefined ? "" : `\n  xDS         port ${xds.port}`,
    stop: async () => {
      await stopRelay(made, listening, 0);
      await xds?.close();
    },
  };
}
