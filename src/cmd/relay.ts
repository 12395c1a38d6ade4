/**
 * `pilothouse relay`: a coalescing proxy before any Kubernetes API server, until SIGTERM. Alone in
 * this process, or as the owner of the upstream with serving workers (relay-workers.ts).
 */
import { readFileSync } from "node:fs";
import { SelectorError } from "#api/label-selector.ts";
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
import { type RelayLimits, relayLimits } from "#relay/limits.ts";
import { kindId, type MirroredKind } from "#relay/mirrored-kind.ts";
import { createRelay, type Relay, type ViewOn } from "#relay/relay.ts";
import { type Chosen, chosen, discover, UnknownResourceError } from "#relay/resources.ts";
import {
  definitionOn,
  parseViewFile,
  type ViewDefinition,
  ViewFileError,
} from "#relay/view-definition.ts";
import { MetricSet } from "#server/metric-set.ts";
import { productVersion } from "./product.ts";
import { peerStreams } from "./relay-peers.ts";
import {
  type Address,
  innerSocket,
  makeInnerSocket,
  onOwnerGone,
  reportToOwner,
  Workers,
} from "./relay-workers.ts";
import { onStopSignal } from "./stop-signal.ts";
import { UsageError } from "./usage-error.ts";

export interface RelayFlags {
  readonly upstream: string;
  readonly context?: string;
  readonly resources: string;
  readonly listen: string;
  readonly cert?: string;
  readonly key?: string;
  readonly clientCa?: string;
  readonly views?: string;
  readonly reads: "verify" | "cache";
  readonly shrinkGuard?: number;
  readonly readyMaxAge?: number;
  readonly drainSeconds: number;
  readonly servingWorkers: number;
  readonly shadow?: number;
  readonly peers?: string;
  readonly peersCa?: string;
  readonly logLevel: LogLevel;
}

type MirrorFlags = Pick<
  RelayFlags,
  | "resources"
  | "reads"
  | "logLevel"
  | "views"
  | "peers"
  | "peersCa"
  | "shrinkGuard"
  | "readyMaxAge"
  | "shadow"
>;
type ListenFlags = Pick<RelayFlags, "listen" | "cert" | "key">;

/** A crowd is what a relay is for. */
export const relayHttpLimits = { ...httpLimits, connectionsMax: 60_000 };
const shutdownMs = 5_000;
const userAgent = `pilothouse-relay/${productVersion}`;
/** As kubelets close silent streams. */
const passIdleMs = 4 * 3_600_000;
const retryMs = 1_000;

export async function relay(flags: RelayFlags): Promise<void> {
  const stopping = new AbortController();
  onStopSignal(() => stopping.abort());
  // Timers of the platform do not keep a process alive, and before we listen nothing else would.
  const alive = setInterval(() => {}, 60_000);
  const inner = innerSocket();
  try {
    if (inner !== undefined) await serveAsWorker(flags, inner, stopping);
    else if (flags.servingWorkers > 0) await ownForWorkers(flags, stopping.signal);
    else await serveAlone(flags, stopping.signal);
  } finally {
    clearInterval(alive);
  }
}

async function serveAlone(flags: RelayFlags, stopping: AbortSignal): Promise<void> {
  const address = addressOf(flags);
  const access = await accessOf(flags);
  const made = await makeRelay(flags, upstreamOf(access), stopping);
  if (made === undefined) return;
  const listening = await listenTo(flags, address, made.running, made.log);
  await made.running.untilReady(stopping);
  if (!stopping.aborted) {
    process.stdout.write(readyText(flags, access, listening.address, made));
  }
  await aborted(stopping);
  await stopRelay(made, listening, flags.drainSeconds * 1000);
  process.stdout.write("stopped\n");
}

/** The upstream's one reader; whoever serves clients reads from it. */
async function ownForWorkers(flags: RelayFlags, stopping: AbortSignal): Promise<void> {
  addressOf(flags);
  if (flags.peers !== undefined) {
    throw new UsageError("--peers balances whole processes: leave --serving-workers at 0 with it");
  }
  const access = await accessOf(flags);
  const socket = makeInnerSocket();
  const metrics = new MetricSet();
  const log = nodeLog({ level: flags.logLevel, destination: 2 });
  const workers = new Workers({ log }, { socketPath: socket.path });
  const metricsText = (): Promise<string> => workers.metrics(metrics.text());
  const more = { metrics, metricsText, followsViews: false };
  const made = await makeRelay(flags, upstreamOf(access), stopping, more);
  if (made === undefined) return socket.remove();
  const { innerHandler } = made.running;
  const at = { host: "", port: 0, socketPath: socket.path };
  const listening = await listen({ ...at, limits: httpLimits }, innerHandler, log);
  await made.running.untilReady(stopping);
  const address = await workers.start(flags.servingWorkers, stopping);
  if (address !== undefined) {
    process.stdout.write(readyText(flags, access, address, made));
  }
  await aborted(stopping);
  await workers.stop(flags.drainSeconds * 1000 + 2 * shutdownMs);
  await stopRelay(made, listening, 0);
  socket.remove();
  process.stdout.write("stopped\n");
}

async function serveAsWorker(
  flags: RelayFlags,
  socketPath: string,
  stopping: AbortController,
): Promise<void> {
  onOwnerGone(() => stopping.abort());
  const { signal } = stopping;
  const metrics = new MetricSet();
  const upstream = upstreamOf({ server: "http://owner", socketPath });
  const metricsText = (): Promise<string> => ownersMetrics(upstream, signal);
  const made = await makeRelay(flags, upstream, signal, { metrics, metricsText });
  if (made === undefined) return;
  await made.running.untilReady(signal);
  const listening = await listenTo(flags, addressOf(flags), made.running, made.log);
  reportToOwner(listening.address, () => metrics.text());
  await aborted(signal);
  await stopRelay(made, listening, flags.drainSeconds * 1000);
  process.exit(0);
}

async function ownersMetrics(up: Upstreams, signal: AbortSignal): Promise<string> {
  const asked = { method: "GET", target: "/relay/metrics", headers: {}, signal };
  const body = await (await up.http.send(asked)).read(relayLimits.discoveryBytesMax);
  return body === "too-large" ? "" : new TextDecoder().decode(body);
}

export interface Made {
  readonly running: Relay;
  /** Names of custom resources that are not defined yet. */
  readonly awaited: readonly string[];
  readonly up: Upstreams;
  readonly log: Log;
}

interface MoreOfRelay {
  readonly metrics: MetricSet;
  readonly metricsText?: () => Promise<string>;
  /** False: the views' resources are mirrored, and the views are left to others. */
  readonly followsViews?: boolean;
}

/** Undefined: told to stop before the upstream said what it has. */
export async function makeRelay(
  flags: MirrorFlags,
  up: Upstreams,
  stopping: AbortSignal,
  more: MoreOfRelay = { metrics: new MetricSet() },
): Promise<Made | undefined> {
  const log = nodeLog({ level: flags.logLevel, destination: 2 });
  const definitions = viewsOf(flags);
  const all = await discovered(up, log, stopping);
  if (stopping.aborted) return undefined;
  const views = definitions.map((definition) => viewOn(all, definition, flags));
  const { kinds, awaited, custom } = resourcesOf(all, flags, views);
  const random = new NodeRandom();
  const peers = flags.peers === undefined ? {} : { peerStreams: peersOf(flags, flags.peers) };
  const running = createRelay(
    { ...up, random, log, ...more, ...peers, peers: new CertificateAuthenticator(up) },
    {
      resources: kinds,
      views: more.followsViews === false ? [] : views,
      ...(custom === undefined ? {} : { custom }),
      consistency: flags.reads,
      shadowRate: flags.shadow ?? 0,
      limits: limitsOf(flags),
    },
  );
  return { running, awaited, up, log };
}

function limitsOf({ shrinkGuard, readyMaxAge }: MirrorFlags): RelayLimits {
  const readyAgeMsMax = readyMaxAge === undefined ? undefined : readyMaxAge * 1000;
  return { ...relayLimits, shrinkPercentMax: shrinkGuard, readyAgeMsMax };
}

function peersOf(flags: MirrorFlags, urls: string): () => Promise<readonly number[]> {
  return peerStreams(urls, flags.peersCa === undefined ? undefined : readText(flags.peersCa));
}

export async function stopRelay(made: Made, listening: Listening, drainMs: number): Promise<void> {
  await made.running.drain(drainMs);
  await listening.close(shutdownMs);
  await endRelay(made);
}

export async function endRelay(made: Made): Promise<void> {
  await made.running.stop();
  made.up.http.close();
  made.up.passHttp.close();
}

export interface Upstreams {
  readonly clock: NodeClock;
  readonly http: ByteTransport;
  readonly passHttp: ByteTransport;
  readonly client: ReturnType<typeof socketClient>;
  readonly headers: () => Readonly<Record<string, string>>;
}

export function upstreamOf(
  access: Omit<KubeAccess, "namespace"> & { readonly socketPath?: string },
): Upstreams {
  const { bearerToken } = access;
  const http = httpClient({ ...access, limits: httpClientLimits });
  // A crowd that passes through must not keep the mirrors from a connection.
  // A log may be silent for as long as its container is.
  const passLimits = { ...httpClientLimits, socketsMax: 4_096, idleMs: passIdleMs };
  const passHttp = httpClient({ ...access, limits: passLimits });
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

/** Empty when we are stopped first; an upstream that is away at the start is waited for. */
async function discovered(
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
    throw new Error(`upstream answers ${response.status} to ${path}: ${text.slice(0, 200)}`);
  };
  for (;;) {
    try {
      return await discover({ read });
    } catch (error) {
      if (stopping.aborted) return [];
      log.warn("discovery waits", { error: String(error) });
      await sleep(up.clock, "client.backoff", retryMs, stopping);
    }
  }
}

/** What views are of is mirrored as well. */
function resourcesOf(
  all: readonly MirroredKind[],
  flags: MirrorFlags,
  views: readonly ViewOn[],
): Chosen {
  const names = flags.resources.split(",").map((name) => name.trim());
  const ofViews = views.map(({ kind }) => kindId(kind));
  return usage("--resources", () => chosen(all, [...names, ...ofViews]));
}

/** A name the upstream does not know, or a field it cannot select by, is a mistake. */
function viewOn(
  all: readonly MirroredKind[],
  definition: ViewDefinition,
  { views = "" }: MirrorFlags,
): ViewOn {
  return usage(`${views}: view ${definition.name}`, () => {
    const [kind] = chosen(all, [definition.resource]).kinds;
    if (kind === undefined) throw new UnknownResourceError([definition.resource]);
    return { definition: definitionOn(kind, definition), kind };
  });
}

function viewsOf({ views }: MirrorFlags): readonly ViewDefinition[] {
  return views === undefined ? [] : usage(views, () => parseViewFile(readText(views)));
}

function usage<T>(where: string, f: () => T): T {
  try {
    return f();
  } catch (error) {
    const told = [UnknownResourceError, ViewFileError, SelectorError];
    if (!told.some((kind) => error instanceof kind)) throw error;
    throw new UsageError(`${where}: ${(error as Error).message}`, { cause: error });
  }
}

export function addressOf(flags: ListenFlags, flag = "--listen"): Address {
  const match = /^\[?([^\]]*?)\]?:([0-9]{1,5})$/.exec(flags.listen);
  const [, host = "", port = ""] = match ?? [];
  if (match === null || Number(port) > 65_535) {
    throw new UsageError(`${flag} must be ADDRESS:PORT, not ${flags.listen}`);
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
  return listen(
    { ...address, ...secure, ...clientCa, limits: relayHttpLimits },
    running.handler,
    log,
  );
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
  address: Address,
  { running, awaited }: Made,
): string {
  const scheme = flags.cert === undefined ? "http" : "https";
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  const seconds = (performance.now() / 1000).toFixed(2);
  const names = running.resources.map(({ kind }) => kindId(kind));
  const later = awaited.length === 0 ? "" : `\n  awaits      ${awaited.join(" ")}`;
  return `pilothouse ${productVersion} relay ready in ${seconds} s
  listens     ${scheme}://${host}:${address.port}
  upstream    ${access.server}
  mirrors     ${names.join(" ")}${later}
  faces       Kubernetes at /, ETag at /etag and /views, metrics at /relay/metrics
`;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true }),
  );
}
