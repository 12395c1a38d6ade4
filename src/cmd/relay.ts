/** `pilothouse relay`: a coalescing proxy before any Kubernetes API server, until SIGTERM. */
import { readFileSync } from "node:fs";
import { CertificateAuthenticator } from "#auth/x509.ts";
import { socketClient, socketClientLimits } from "#client/rest-client.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import { sleep } from "#platform/clock.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { httpClient, httpClientLimits } from "#platform/node/http-client.ts";
import { httpLimits, listen, type Listening } from "#platform/node/http.ts";
import { KubeconfigError, loadKubeconfig, type KubeAccess } from "#platform/node/kubeconfig.ts";
import { nodeLog, type LogLevel } from "#platform/node/log.ts";
import { NodeRandom } from "#platform/node/random.ts";
import type { Log } from "#platform/log.ts";
import { relayLimits } from "#relay/limits.ts";
import type { MirroredKind } from "#relay/mirrored-kind.ts";
import { createRelay, type Relay } from "#relay/relay.ts";
import { chosen, discover, UnknownResourceError } from "#relay/resources.ts";
import { MetricSet } from "#server/metric-set.ts";
import { productVersion } from "./product.ts";
import { UsageError } from "./usage-error.ts";

export interface RelayFlags {
  readonly upstream: string;
  readonly context?: string;
  readonly resources: string;
  readonly listen: string;
  readonly cert?: string;
  readonly key?: string;
  readonly clientCa?: string;
  readonly reads: "verify" | "cache";
  readonly drainSeconds: number;
  readonly logLevel: LogLevel;
}

const shutdownMs = 5_000;
const userAgent = `pilothouse-relay/${productVersion}`;
const retryMs = 1_000;

export async function relay(flags: RelayFlags): Promise<void> {
  const stopping = stopSignal();
  // Timers of the platform do not keep a process alive, and before we listen nothing else would.
  const alive = setInterval(() => {}, 60_000);
  const address = addressOf(flags);
  const log = nodeLog({ level: flags.logLevel, destination: 2 });
  const access = await accessOf(flags);
  const up = upstreamOf(access);
  const resources = await resourcesOf(up, flags, log, stopping);
  if (stopping.aborted) return clearInterval(alive);
  const running = createRelay(
    {
      clock: up.clock,
      random: new NodeRandom(),
      log,
      metrics: new MetricSet(),
      http: up.http,
      passHttp: up.passHttp,
      client: up.client,
      headers: up.headers,
      peers: new CertificateAuthenticator(up),
    },
    { resources, consistency: flags.reads, limits: relayLimits },
  );
  const listening = await listenTo(flags, address, running, log);
  await running.untilReady(stopping);
  if (!stopping.aborted) process.stdout.write(readyText(flags, access, listening, resources));
  await aborted(stopping);
  await stop(running, listening, up, flags);
  clearInterval(alive);
}

async function stop(
  running: Relay,
  listening: Listening,
  up: Upstreams,
  flags: RelayFlags,
): Promise<void> {
  await running.drain(flags.drainSeconds * 1000);
  await listening.close(shutdownMs);
  await running.stop();
  up.http.close();
  up.passHttp.close();
  process.stdout.write("stopped\n");
}

interface Upstreams {
  readonly clock: NodeClock;
  readonly http: ByteTransport;
  readonly passHttp: ByteTransport;
  readonly client: ReturnType<typeof socketClient>;
  readonly headers: () => Readonly<Record<string, string>>;
}

function upstreamOf(access: KubeAccess): Upstreams {
  const { bearerToken } = access;
  const http = httpClient({ ...access, limits: httpClientLimits });
  // A crowd that passes through must not keep the mirrors from a connection.
  const passHttp = httpClient({ ...access, limits: { ...httpClientLimits, socketsMax: 4_096 } });
  const token = bearerToken === undefined ? {} : { bearerToken };
  return {
    clock: new NodeClock(),
    http,
    passHttp,
    client: socketClient({ http }, { userAgent, ...token, ...socketClientLimits }),
    headers: () => (bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken()}` }),
  };
}

async function accessOf(flags: RelayFlags): Promise<KubeAccess> {
  try {
    return await loadKubeconfig(flags.upstream, flags.context);
  } catch (error) {
    if (error instanceof KubeconfigError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/** An upstream that is away at the start is waited for; a name it does not know is a mistake. */
async function resourcesOf(
  up: Upstreams,
  flags: RelayFlags,
  log: Log,
  stopping: AbortSignal,
): Promise<readonly MirroredKind[]> {
  const names = flags.resources.split(",").map((name) => name.trim());
  const read = async (path: string): Promise<unknown> => {
    const headers = { ...up.headers(), accept: "application/json", "user-agent": userAgent };
    const response = await up.http.send({ method: "GET", target: path, headers, signal: stopping });
    const body = await response.read(relayLimits.discoveryBytesMax);
    const text = body === "too-large" ? "" : new TextDecoder().decode(body);
    if (response.status === 200) return JSON.parse(text);
    throw new Error(`upstream answers ${response.status} to ${path}: ${text.slice(0, 200)}`);
  };
  for (;;) {
    try {
      return chosen(await discover({ read }), names);
    } catch (error) {
      if (stopping.aborted) return [];
      if (error instanceof UnknownResourceError) throw new UsageError(error.message);
      log.warn("discovery waits", { error: String(error) });
      await sleep(up.clock, "client.backoff", retryMs, stopping);
    }
  }
}

interface Address {
  readonly host: string;
  readonly port: number;
}

function addressOf(flags: RelayFlags): Address {
  const match = /^\[?([^\]]*?)\]?:([0-9]{1,5})$/.exec(flags.listen);
  const [, host = "", port = ""] = match ?? [];
  if (match === null || Number(port) > 65_535) {
    throw new UsageError(`--listen must be ADDRESS:PORT, not ${flags.listen}`);
  }
  const address = { host: host === "" ? "0.0.0.0" : host, port: Number(port) };
  if ((flags.cert === undefined) !== (flags.key === undefined)) {
    throw new UsageError("give both --cert and --key, or neither");
  }
  if (flags.cert === undefined && !/^(127\.|::1$|localhost$)/.test(address.host)) {
    throw new UsageError(
      `bearer tokens must not cross a network in the clear: give --cert and --key, or listen on 127.0.0.1`,
    );
  }
  return address;
}

function listenTo(
  flags: RelayFlags,
  address: Address,
  running: Relay,
  log: Log,
): Promise<Listening> {
  const secure =
    flags.cert === undefined || flags.key === undefined
      ? {}
      : { cert: readText(flags.cert), key: readText(flags.key) };
  const clientCa = flags.clientCa === undefined ? {} : { clientCa: readText(flags.clientCa) };
  const limits = { ...httpLimits, connectionsMax: 60_000 };
  return listen({ ...address, ...secure, ...clientCa, limits }, running.handler, log);
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
}

function readyText(
  flags: RelayFlags,
  access: KubeAccess,
  { address }: Listening,
  resources: readonly MirroredKind[],
): string {
  const scheme = flags.cert === undefined ? "http" : "https";
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  const seconds = (performance.now() / 1000).toFixed(2);
  const names = resources.map(({ apiVersion, resource }) => `${apiVersion}/${resource}`);
  return `pilothouse ${productVersion} relay ready in ${seconds} s
  listens     ${scheme}://${host}:${address.port}
  upstream    ${access.server}
  mirrors     ${names.join(" ")}
  faces       Kubernetes at /, ETag at /etag, metrics at /relay/metrics
`;
}

/** A second signal ends the process at once. */
function stopSignal(): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      process.once(signal, () => process.exit(130));
      stopping.abort();
    });
  }
  return stopping.signal;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true }),
  );
}
