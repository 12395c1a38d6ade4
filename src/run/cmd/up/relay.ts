/**
 * `pilothouse up --relay ADDRESS:PORT`: a relay before the plane of the same process, for clients that
 * come in crowds. It reaches the API server by its socket, as the administrator, like any other relay.
 */
import type { Pki } from "#auth/pki-files.ts";
import { given } from "#base/given.ts";
import type { Clock } from "#platform/clock.ts";
import { listen } from "#platform/node/http/http.ts";
import type { Audit } from "#server/audit/trail.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import type { Host } from "../shared/host.ts";
import type { Plane } from "../plane/plane.ts";
import { addressOf, relayHttpLimits, xdsFlag } from "../relay/listen.ts";
import { type Parts, StartStopped } from "../shared/parts.ts";
import { openListener, openRelay } from "../relay/make.ts";
import { upstreamOf } from "../relay/upstream.ts";
import type { LogLevel } from "#platform/node/log.ts";
import { listenXds } from "../relay/xds-listen.ts";

export interface UpRelayFlags {
  readonly relay: string;
  readonly relayResources: string;
  readonly xdsListen?: string;
  readonly logLevel: LogLevel;
  /** The plane's audit. The plane's own log lines do not name the users that read the relay's mirrors. */
  readonly audit?: Audit;
}

export interface BesideRelay {
  /** URL of the relay, such as `https://127.0.0.1:6444`. */
  readonly url: string;
  /** Address of xDS, for the screen. "": xDS is not served. */
  readonly xds: string;
}

/** Resolves when every mirror has its first list. Throws UsageError for a bad address or resource. */
export async function openRelayOf(
  host: Host,
  plane: Plane,
  pki: Pki,
  flags: UpRelayFlags,
  parts: Parts,
  stopping: AbortSignal,
): Promise<BesideRelay> {
  const { relay, relayResources: resources, xdsListen, logLevel, audit } = flags;
  const { admin, authority, server } = pki;
  const access = {
    server: plane.url,
    ca: authority.certificate,
    certificate: admin.certificate,
    key: admin.privateKey,
  };
  const keys = {
    cert: server.certificate,
    key: server.privateKey,
    clientCa: authority.certificate,
  };
  const at = await addressOf({ listen: relay, cert: keys.cert, key: keys.key }, "--relay");
  const more = {
    clock: host.clock,
    metrics: new MetricSet(),
    ...given({ audit }),
  };
  const xdsAt =
    xdsListen === undefined
      ? undefined
      : await addressOf({ listen: xdsListen, cert: keys.cert, key: keys.key }, xdsFlag);
  const withXds = given({ xdsListen });
  const mirrors = { resources, reads: "verify", logLevel, ...withXds } as const;
  const connect = (clock: Clock) => upstreamOf(access, clock);
  const made = await openRelay(mirrors, connect, more, parts, stopping);
  if (made === undefined) throw new StartStopped();
  const { running } = made;
  const { ledger } = running;
  const options = { ...at, ...keys, limits: relayHttpLimits, ownHttp1: true, ledger };
  const start = () => listen(options, running.handler, host.log);
  const listening = await openListener(made, 0, start, parts);
  const { xds: face } = running;
  const deps = { clock: host.clock, log: host.log };
  const xds =
    face === undefined || xdsAt === undefined
      ? undefined
      : await parts.open("xds-listener", () => listenXds({ ...deps, face }, xdsAt, keys), {
          close: (listener) => listener.close(),
        });
  await running.untilReady(stopping);
  const { address } = listening;
  plane.ownAddresses.addPort(address.port);
  if (xds !== undefined) plane.ownAddresses.addPort(xds.port);
  const name = address.host.includes(":") ? `[${address.host}]` : address.host;
  return {
    url: `https://${name}:${address.port}`,
    xds: xds === undefined ? "" : `\n  xDS         port ${xds.port}`,
  };
}
