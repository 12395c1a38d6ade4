/** A relay's connection to its upstream: transports, and the resources of its discovery. */
import { given } from "#base/given.ts";
import { socketClient, socketClientLimits } from "#client/rest-client.ts";
import { ByteTransportError, type ByteTransport } from "#platform/byte-transport.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { httpClient, httpClientLimits } from "#platform/node/http/http-client.ts";
import type { KubeAccess } from "#platform/node/kubeconfig.ts";
import { relayLimits } from "#relay/limits.ts";
import type { MirroredKind } from "#relay/mirror/mirrored-kind.ts";
import { discover, DiscoveryError } from "#relay/mirror/resources.ts";
import { productVersion } from "../shared/product.ts";

const userAgent = `pilothouse-relay/${productVersion}`;
/** Idle time after which a forwarded stream ends, the same as in kubelets. */
const passIdleMs = 4 * 3_600_000;
const retryMs = 1_000;
/** Codes of OpenSSL and Node.js for certificates that cannot be verified. */
const distrust = /SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|ERR_TLS_CERT_ALTNAME_INVALID/;

export interface Upstreams {
  readonly clock: Clock;
  readonly http: ByteTransport;
  readonly passHttp: ByteTransport;
  readonly anonymousHttp: ByteTransport;
  readonly client: ReturnType<typeof socketClient>;
  readonly headers: () => Readonly<Record<string, string>>;
}

/** Returns the transports. `outside`: access to the API server, where `access` leads from a serving worker to its owner. */
export function upstreamOf(
  access: UpstreamAccess & { readonly socketPath?: string },
  clock: Clock,
  outside: UpstreamAccess = access,
): Upstreams {
  const { bearerToken } = access;
  const http = httpClient({ ...access, limits: httpClientLimits });
  // A crowd that passes through must not keep the mirrors from a connection.
  // A log may be silent for as long as its container is.
  const passLimits = { ...httpClientLimits, socketsMax: 4_096, idleMs: passIdleMs };
  const passHttp = httpClient({ ...access, limits: passLimits });
  const token = given({ bearerToken });
  return {
    clock,
    http,
    passHttp,
    anonymousHttp: anonymousTo(outside),
    client: socketClient({ http }, { userAgent, ...token, ...socketClientLimits }),
    headers: () => (bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken()}` }),
  };
}

type UpstreamAccess = Omit<KubeAccess, "namespace">;

/** Returns an anonymous transport, with the server's address and its CA but without any credential. */
function anonymousTo({ server, ca, serverName, insecure }: UpstreamAccess): ByteTransport {
  return httpClient({
    server,
    ...given({ ca, serverName, insecure }),
    limits: httpClientLimits,
  });
}

/** Reads the discovery, and waits while the upstream is unavailable. Empty when it was stopped before. */
export async function discoverUpstream(
  up: Upstreams,
  log: Log,
  stopping: AbortSignal,
): Promise<readonly MirroredKind[]> {
  const read = async (path: string): Promise<unknown> => {
    const headers = { ...up.headers(), accept: "application/json", "user-agent": userAgent };
    const response = await up.http.send({ method: "GET", target: path, headers, signal: stopping });
    const body = await response.read(relayLimits.discoveryBytesMax);
    const text = body === "too-large" ? "" : new TextDecoder().decode(body);
    if (response.status === 200) return JSON.parse(text);
    throw new DiscoveryError(response.status, path, text.slice(0, 200));
  };
  const unread = (path: string, error: DiscoveryError): void =>
    log.warn("an API group cannot be read: its resources pass through", {
      path,
      error: error.message,
    });
  for (;;) {
    try {
      return await discover({ read, unread });
    } catch (error) {
      if (stopping.aborted) return [];
      log.warn("discovery waits", { error: String(error), ...advice(error) });
      await sleep(up.clock, "client.backoff", retryMs, stopping);
    }
  }
}

/** Returns a hint for the operator where waiting does not help. */
function advice(error: unknown): { hint?: string } {
  if (error instanceof DiscoveryError && (error.status === 401 || error.status === 403)) {
    return {
      hint: "check who the relay is: the kubeconfig's user, --upstream-token-file or --upstream-cert",
    };
  }
  if (error instanceof ByteTransportError && distrust.test(error.code)) {
    return {
      hint: "name the authority of its certificate: the kubeconfig's, or --upstream-ca with a URL",
    };
  }
  return {};
}
