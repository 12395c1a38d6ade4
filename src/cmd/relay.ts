/**
 * `pilothouse relay`: a coalescing proxy before any Kubernetes API server, until SIGTERM. Alone in
 * this process, or as the owner of the upstream with serving workers (relay-workers.ts).
 */
import type { EtcdListening } from "#etcd/server.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { freePort, httpLimits, listen } from "#platform/node/http/http.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { KubeAccess } from "#platform/node/kubeconfig.ts";
import { nodeLog } from "#platform/node/log.ts";
import { relayLimits } from "#relay/limits.ts";
import { kindId } from "#relay/mirror/mirrored-kind.ts";
import type { AuditSink } from "#server/audit.ts";
import type { MetricSet } from "#server/metric-set.ts";
import { openAuditFile } from "./audit-file.ts";
import { shutdownMs } from "./limits.ts";
import { processMetricSet } from "./process-metric-set.ts";
import { productVersion } from "./product.ts";
import { readOperatorFile } from "./operator-file.ts";
import { accessOf } from "./relay-access.ts";
import type { RelayFlags } from "./relay-flags.ts";
import { addressOf, listenTo, xdsFlag } from "./relay-listen.ts";
import { type Made, makeRelay, stopRelay } from "./relay-make.ts";
import { type Upstreams, upstreamOf } from "./relay-upstream.ts";
import {
  type Address,
  makeInnerSocket,
  onOwnerGone,
  reportToOwner,
  workerPlace,
  type WorkerPlace,
  Workers,
} from "./relay-workers.ts";
import type { RelaySinks } from "./sinks/relay-sinks.ts";
import { giveMemoryBack } from "./spare-memory.ts";
import { onStopSignal } from "./stop-signal.ts";
import { countFailures, supervised } from "./supervise.ts";
import { UsageError } from "./usage-error.ts";

export async function relay(flags: RelayFlags): Promise<void> {
  const stopping = new AbortController();
  onStopSignal(() => stopping.abort());
  // Timers of the platform do not keep a process alive, and before we listen nothing else would.
  const alive = setInterval(() => {}, 60_000);
  const place = workerPlace();
  const own = relayProcess(flags);
  try {
    if (place !== undefined) await serveAsWorker(own, flags, place, stopping);
    else if (flags.servingWorkers > 0) await ownForWorkers(own, flags, stopping.signal);
    else await serveAlone(own, flags, stopping.signal);
  } finally {
    clearInterval(alive);
  }
}

interface RelayProcess {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricSet;
}

/** Timers, uncaught errors and rejections end up at one supervisor. */
function relayProcess({ logLevel }: RelayFlags): RelayProcess {
  const log = nodeLog({ level: logLevel, destination: 2 });
  const { clock, supervisor } = supervised({ clock: new NodeClock(), log });
  const metrics = processMetricSet();
  countFailures(metrics, supervisor);
  return { clock, log, metrics };
}

async function serveAlone(
  { clock, log, metrics }: RelayProcess,
  flags: RelayFlags,
  stopping: AbortSignal,
): Promise<void> {
  const address = await addressOf(flags);
  const xdsAt = await xdsAddressOf(flags);
  const access = await accessOf(flags, process.env);
  const audit = await auditOf({ clock, log }, flags);
  const sinks = await sinksOf({ clock, log, metrics }, flags);
  const made = await makeRelay(flags, upstreamOf(access, clock), stopping, {
    metrics,
    ...audit.of,
  });
  if (made === undefined) return audit.close();
  const listening = await listenTo(flags, address, made.running, made.log);
  const xds = await xdsOf(flags, xdsAt, made, clock);
  await made.running.untilReady(stopping);
  const writing = sinks?.run(made.running, stopping);
  if (!stopping.aborted) {
    process.stdout.write(readyText(flags, access, listening.address, made, xds?.port));
  }
  const spare = giveMemoryBack(clock);
  await untilAborted(stopping);
  spare.stop();
  await writing;
  await stopRelay(made, listening, flags.drainSeconds * 1000);
  await xds?.close();
  await audit.close();
  process.stdout.write("stopped\n");
}

/** Their code is loaded by who uses them. */
async function sinksOf(deps: RelayProcess, { sink }: RelayFlags): Promise<RelaySinks | undefined> {
  if (sink === undefined) return undefined;
  const { relaySinks } = await import("./sinks/relay-sinks.ts");
  return relaySinks(deps, sink);
}

/** Undefined: not asked for. */
async function xdsAddressOf(flags: RelayFlags): Promise<Address | undefined> {
  const { xdsListen: listen } = flags;
  return listen === undefined ? undefined : addressOf({ ...flags, listen }, xdsFlag);
}

/** Undefined: not asked for. Its code is loaded only then. */
async function xdsOf(
  flags: RelayFlags,
  at: Address | undefined,
  { running: { xds: face }, log }: Made,
  clock: Clock,
): Promise<EtcdListening | undefined> {
  if (face === undefined || at === undefined) return undefined;
  const read = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : readOperatorFile(file);
  const [cert, key, clientCa] = [read(flags.cert), read(flags.key), read(flags.clientCa)];
  const { listenXds } = await import("./xds-listen.ts");
  return listenXds({ clock, log, face }, at, { cert, key, clientCa });
}

interface RelayAuditFile {
  /** Absent members: no log was asked for. */
  readonly of: { readonly audit?: AuditSink };
  close(): Promise<void>;
}

async function auditOf(
  deps: Pick<RelayProcess, "clock" | "log">,
  { auditLog }: RelayFlags,
): Promise<RelayAuditFile> {
  if (auditLog === undefined) return { of: {}, close: () => Promise.resolve() };
  const audit = await openAuditFile(deps, auditLog);
  process.on("SIGHUP", () => audit.reopen());
  return { of: { audit }, close: () => audit.close() };
}

/** Runs the only reader of the upstream; serving workers read from it. */
async function ownForWorkers(
  { clock, log, metrics }: RelayProcess,
  flags: RelayFlags,
  stopping: AbortSignal,
): Promise<void> {
  if (flags.xdsListen !== undefined) {
    throw new UsageError(
      `${xdsFlag} is served by one process: leave --serving-workers at 0 with it`,
    );
  }
  const { port } = await freePort(await addressOf(flags));
  if (flags.peers !== undefined) {
    throw new UsageError("--peers balances whole processes: leave --serving-workers at 0 with it");
  }
  const access = await accessOf(flags, process.env);
  // Each worker writes the lines of its clients; that they can is found out now.
  await (await auditOf({ clock, log }, flags)).close();
  const socket = makeInnerSocket();
  const workers = new Workers({ log }, { socketPath: socket.path, port });
  const metricsText = (): Promise<string> => workers.metrics(metrics.text());
  const more = { metrics, metricsText, followsViews: false };
  const sinks = await sinksOf({ clock, log, metrics }, flags);
  const made = await makeRelay(flags, upstreamOf(access, clock), stopping, more);
  if (made === undefined) return socket.remove();
  const { innerHandler } = made.running;
  const at = { host: "", port: 0, socketPath: socket.path };
  const listening = await listen({ ...at, limits: httpLimits, ownHttp1: true }, innerHandler, log);
  await made.running.untilReady(stopping);
  const address = await workers.start(flags.servingWorkers, stopping);
  if (address !== undefined) {
    process.stdout.write(readyText(flags, access, address, made));
  }
  const writing = sinks?.run(made.running, stopping);
  const spare = giveMemoryBack(clock);
  await untilAborted(stopping);
  spare.stop();
  await writing;
  await workers.stop(flags.drainSeconds * 1000 + 2 * shutdownMs);
  await stopRelay(made, listening, 0);
  socket.remove();
  process.stdout.write("stopped\n");
}

async function serveAsWorker(
  { clock, log, metrics }: RelayProcess,
  flags: RelayFlags,
  { socketPath, port }: WorkerPlace,
  stopping: AbortController,
): Promise<void> {
  onOwnerGone(() => stopping.abort());
  const { signal } = stopping;
  // At the owner's socket a request without credentials is the relay's own, so anonymous probes go past it.
  const outside = await accessOf(flags, process.env);
  const upstream = upstreamOf({ server: "http://owner", socketPath }, clock, outside);
  const metricsText = (): Promise<string> => ownersMetrics(upstream, signal);
  const audit = await auditOf({ clock, log }, flags);
  const made = await makeRelay(flags, upstream, signal, { metrics, metricsText, ...audit.of });
  if (made === undefined) return audit.close();
  await made.running.untilReady(signal);
  const at = { ...(await addressOf(flags)), port };
  const listening = await listenTo(flags, at, made.running, made.log, true);
  reportToOwner(listening.address, () => metrics.text());
  const spare = giveMemoryBack(clock);
  await untilAborted(signal);
  spare.stop();
  await stopRelay(made, listening, flags.drainSeconds * 1000);
  await audit.close();
  process.exit(0);
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

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true }),
  );
}
