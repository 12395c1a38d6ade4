/**
 * `pilothouse relay`: a coalescing proxy before any Kubernetes API server, until SIGTERM. Alone in
 * this process, or as the owner of the upstream with serving workers (workers.ts).
 */
import { given } from "#base/given.ts";
import type { EtcdListening } from "#etcd/server.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { freePort, httpLimits, listen, type Listening } from "#platform/node/http/http.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { KubeAccess } from "#platform/node/kubeconfig.ts";
import { nodeLog } from "#platform/node/log.ts";
import { relayLimits } from "#relay/limits.ts";
import { kindId } from "#relay/mirror/mirrored-kind.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { shutdownMs } from "../shared/limits.ts";
import { processMetricSet } from "../shared/process-metric-set.ts";
import { productVersion } from "../shared/product.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { Parts } from "../shared/parts.ts";
import { accessOf } from "../shared/upstream-access.ts";
import type { RelayFlags } from "./flags.ts";
import { addressOf, listenTo, xdsFlag } from "./listen.ts";
import { type Made, openListener, openRelay } from "./make.ts";
import { type Upstreams, upstreamOf } from "./upstream.ts";
import {
  type Address,
  makeInnerSocket,
  onOwnerGone,
  reportToOwner,
  workerPlace,
  type WorkerPlace,
  Workers,
} from "./workers.ts";
import type { RelaySinks } from "./sinks.ts";
import { type OpenRole, runToEnd, type Started, throwFailure } from "../shared/role-life.ts";
import { openAudit } from "../shared/audit.ts";
import { openSpareMemory } from "../shared/spare-memory.ts";
import { onStopSignal } from "../shared/stop-signal.ts";
import { countFailures, supervised } from "../shared/supervise.ts";
import { UsageError } from "../shared/usage-error.ts";

export function relay(flags: RelayFlags): Promise<void> {
  const own = relayProcess(flags);
  const place = workerPlace();
  if (place !== undefined) return serveAsWorker(own, flags, place);
  const open: OpenRole =
    flags.servingWorkers > 0
      ? (parts, stopping) => openOwner(own, flags, parts, stopping)
      : (parts, stopping) => openAlone(own, flags, parts, stopping);
  return runToEnd(open, { onFailed: throwFailure });
}

interface RelayProcess {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricSet;
}

/** Returns the process's parts. One supervisor handles timers, uncaught errors and rejections. */
function relayProcess({ logLevel }: RelayFlags): RelayProcess {
  const log = nodeLog({ level: logLevel, destination: 2 });
  const { clock, supervisor } = supervised({ clock: new NodeClock(), log });
  const metrics = processMetricSet();
  countFailures(metrics, supervisor);
  return { clock, log, metrics };
}

export async function openAlone(
  own: RelayProcess,
  flags: RelayFlags,
  parts: Parts,
  stopping: AbortSignal,
): Promise<Started | undefined> {
  const { clock, metrics } = own;
  const address = await addressOf(flags);
  const xdsAt = await xdsAddressOf(flags);
  const access = await accessOf(flags, process.env);
  const audit = await openAudit(own, flags, parts);
  const sinks = await sinksOf(own, flags);
  const more = { clock, metrics, ...given({ audit }) };
  const made = await openRelay(
    flags,
    (timers) => upstreamOf(access, timers),
    more,
    parts,
    stopping,
  );
  if (made === undefined) return undefined;
  const xds = await openXds(flags, xdsAt, made, clock, parts);
  const start = (): Promise<Listening> => listenTo(flags, address, made.running, made.log);
  const listening = await openListener(made, flags.drainSeconds * 1000, start, parts);
  await made.running.untilReady(stopping);
  await openSinks(sinks, made, parts);
  await openSpareMemory(clock, parts);
  return { text: readyText(flags, access, listening.address, made, xds?.port) };
}

/** Imports the code of sinks only where sinks are configured. */
async function sinksOf(deps: RelayProcess, { sink }: RelayFlags): Promise<RelaySinks | undefined> {
  if (sink === undefined) return undefined;
  const { relaySinks } = await import("./sinks.ts");
  return relaySinks(deps, sink);
}

async function openSinks(
  sinks: RelaySinks | undefined,
  { running }: Made,
  parts: Parts,
): Promise<void> {
  if (sinks === undefined) return;
  const ending = new AbortController();
  await parts.open("sinks", () => ({ done: sinks.run(running, ending.signal) }), {
    close: async ({ done }) => {
      ending.abort();
      await done;
    },
  });
}

/** Returns the address of xDS. Undefined: the flag is not given. */
async function xdsAddressOf(flags: RelayFlags): Promise<Address | undefined> {
  const { xdsListen: listen } = flags;
  return listen === undefined ? undefined : addressOf({ ...flags, listen }, xdsFlag);
}

/** Imports the code of xDS and opens its listener. Undefined: the flag is not given, and nothing is imported. */
async function openXds(
  flags: RelayFlags,
  at: Address | undefined,
  { running: { xds: face }, log }: Made,
  clock: Clock,
  parts: Parts,
): Promise<EtcdListening | undefined> {
  if (face === undefined || at === undefined) return undefined;
  const read = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : readOperatorFile(file);
  const [cert, key, clientCa] = [read(flags.cert), read(flags.key), read(flags.clientCa)];
  const { listenXds } = await import("./xds-listen.ts");
  const start = () => listenXds({ clock, log, face }, at, { cert, key, clientCa });
  return parts.open("xds-listener", start, { close: (listening) => listening.close() });
}

/** Opens the owner, the only reader of the upstream. Serving workers read from it. */
export async function openOwner(
  own: RelayProcess,
  flags: RelayFlags,
  parts: Parts,
  stopping: AbortSignal,
): Promise<Started | undefined> {
  const { clock, log, metrics } = own;
  refuseOneProcessFlags(flags);
  const { port } = await freePort(await addressOf(flags));
  const access = await accessOf(flags, process.env);
  await checkAudit(own, flags);
  const socket = await parts.open("inner-socket", makeInnerSocket, {
    close: (made) => made.remove(),
  });
  const workers = new Workers({ log }, { socketPath: socket.path, port });
  const metricsText = (): Promise<string> => workers.metrics(metrics.text());
  const more = { clock, metrics, metricsText, followsViews: false };
  const sinks = await sinksOf(own, flags);
  const made = await openRelay(
    flags,
    (timers) => upstreamOf(access, timers),
    more,
    parts,
    stopping,
  );
  if (made === undefined) return undefined;
  const { innerHandler } = made.running;
  const at = { host: "", port: 0, socketPath: socket.path, limits: httpLimits, ownHttp1: true };
  await openListener(made, 0, () => listen(at, innerHandler, log), parts);
  await made.running.untilReady(stopping);
  const workersMs = flags.drainSeconds * 1000 + 2 * shutdownMs;
  const address = await parts.open("workers", () => workers.start(flags.servingWorkers, stopping), {
    close: () => workers.stop(workersMs),
  });
  if (address === undefined) return undefined;
  await openSinks(sinks, made, parts);
  await openSpareMemory(clock, parts);
  return { text: readyText(flags, access, address, made) };
}

/** Refuses flags that exclude serving workers. Throws UsageError. */
function refuseOneProcessFlags({ xdsListen, peers }: RelayFlags): void {
  if (xdsListen !== undefined) {
    throw new UsageError(
      `${xdsFlag} is served by one process: leave --serving-workers at 0 with it`,
    );
  }
  if (peers !== undefined) {
    throw new UsageError("--peers balances whole processes: leave --serving-workers at 0 with it");
  }
}

/** Checks the audit log before workers exist, because each worker writes the lines of its clients to it. */
async function checkAudit(own: RelayProcess, flags: RelayFlags): Promise<void> {
  await using parts = new Parts();
  await openAudit(own, flags, parts);
}

/** Serves until the owner ends. Only the owner prints to the screen. */
async function serveAsWorker(
  own: RelayProcess,
  flags: RelayFlags,
  place: WorkerPlace,
): Promise<void> {
  const open: OpenRole = (parts, stopping) => openWorker(own, flags, place, parts, stopping);
  await runToEnd(open, { onFailed: throwFailure, onStop: onWorkerStop, print: () => {} });
  process.exit(0);
}

/** Calls `stop` at a stop signal, from the owner or to the process group, and at the owner's end. */
function onWorkerStop(stop: () => void): () => void {
  const forgetSignals = onStopSignal(stop);
  const forgetOwner = onOwnerGone(stop);
  return () => {
    forgetSignals();
    forgetOwner();
  };
}

async function openWorker(
  own: RelayProcess,
  flags: RelayFlags,
  { socketPath, port }: WorkerPlace,
  parts: Parts,
  stopping: AbortSignal,
): Promise<Started | undefined> {
  const { clock, metrics } = own;
  // At the owner's socket a request without credentials has the relay's rights, so anonymous probes bypass it.
  const outside = await accessOf(flags, process.env);
  const audit = await openAudit(own, flags, parts);
  const owner = { server: "http://owner", socketPath };
  const upstream = upstreamOf(owner, clock, outside);
  const metricsText = (): Promise<string> => ownersMetrics(upstream, stopping);
  const more = { clock, metrics, metricsText, ...given({ audit }) };
  const made = await openRelay(flags, () => upstream, more, parts, stopping);
  if (made === undefined) return undefined;
  await made.running.untilReady(stopping);
  const at = { ...(await addressOf(flags)), port };
  const start = (): Promise<Listening> => listenTo(flags, at, made.running, made.log, true);
  const listening = await openListener(made, flags.drainSeconds * 1000, start, parts);
  reportToOwner(listening.address, () => metrics.text());
  await openSpareMemory(clock, parts);
  return { text: "" };
}

async function ownersMetrics(up: Upstreams, signal: AbortSignal): Promise<string> {
  const asked = { method: "GET", target: "/relay/metrics", headers: {}, signal };
  const body = await (await up.http.send(asked)).read(relayLimits.discoveryBytesMax);
  return body === "too-large" ? "" : new TextDecoder().decode(body);
}

function readyText(
  flags: RelayFlags,
  access: KubeAccess,
  address: Address,
  { running, awaited }: Made,
  xdsPort?: number,
): string {
  const scheme = flags.cert === undefined ? "http" : "https";
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  const xds = xdsPort === undefined ? "" : `\n  xDS         port ${xdsPort}`;
  const seconds = (performance.now() / 1000).toFixed(2);
  const names = running.resources.map(({ kind }) => kindId(kind));
  const later = awaited.length === 0 ? "" : `\n  awaits      ${awaited.join(" ")}`;
  return `pilothouse ${productVersion} relay ready in ${seconds} s
  listens     ${scheme}://${host}:${address.port}
  upstream    ${access.server}${xds}
  mirrors     ${names.join(" ")}${later}
  frontends   Kubernetes at /, ETag at /etag and /views, metrics at /relay/metrics
`;
}
