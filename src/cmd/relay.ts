/**
 * `pilothouse relay`: a coalescing proxy before any Kubernetes API server, until SIGTERM. Alone in
 * this process, or as the owner of the upstream with serving workers (relay-workers.ts).
 */
import { httpLimits, listen } from "#platform/node/http.ts";
import type { KubeAccess } from "#platform/node/kubeconfig.ts";
import { nodeLog } from "#platform/node/log.ts";
import { relayLimits } from "#relay/limits.ts";
import { kindId } from "#relay/mirrored-kind.ts";
import { shutdownMs } from "./limits.ts";
import { processMetricSet } from "./process-metric-set.ts";
import { productVersion } from "./product.ts";
import { accessOf } from "./relay-access.ts";
import type { RelayFlags } from "./relay-flags.ts";
import { addressOf, listenTo } from "./relay-listen.ts";
import { type Made, makeRelay, stopRelay } from "./relay-make.ts";
import { type Upstreams, upstreamOf } from "./relay-upstream.ts";
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
  const access = await accessOf(flags, process.env);
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
  const access = await accessOf(flags, process.env);
  const socket = makeInnerSocket();
  const metrics = processMetricSet();
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
  const metrics = processMetricSet();
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
