/**
 * The relay under `npm run bench -- fanout`: all of it but the upstream, which is a generator in this
 * process, and the reviews, which say yes. A round of events starts when every watcher was given the
 * one before, as the floor does it.
 */
import { ByteTransportError, type ByteTransport } from "../../src/platform/byte-transport.ts";
import type { Client } from "../../src/client/client.ts";
import { NodeClock } from "../../src/platform/node/clock.ts";
import { httpLimits, listen } from "../../src/platform/node/http.ts";
import { NodeRandom } from "../../src/platform/node/random.ts";
import { silentLog } from "../../src/platform/log.ts";
import { relayLimits } from "../../src/relay/limits.ts";
import { createRelay } from "../../src/relay/relay.ts";
import { MetricSet } from "../../src/server/metric-set.ts";

const [clients = 0, batch = 0, eventBytes = 0] = process.argv.slice(2).map(Number);
const encoder = new TextEncoder();
let take: (chunk: Uint8Array) => void | Promise<void> = () => {};
let revision = 1;

const http: ByteTransport = {
  send({ target }) {
    if (!target.includes("watch=true")) return Promise.resolve(emptyList());
    return Promise.resolve({
      status: 200,
      headers: {},
      read: () => Promise.reject(new ByteTransportError("streamed", "EINVAL")),
      stream: (f: typeof take) => {
        take = f;
        return new Promise<void>(() => {});
      },
    });
  },
  close() {},
};
const metrics = new MetricSet();
const yes = { status: { allowed: true } };
const kind = { group: "", version: "v1", resource: "configmaps", kind: "ConfigMap" };
const relay = createRelay(
  {
    clock: new NodeClock(),
    random: new NodeRandom(),
    log: silentLog,
    metrics,
    http,
    passHttp: http,
    // Reviews are all that is asked of it.
    client: { create: () => Promise.resolve(yes) } as unknown as Client,
    headers: () => ({}),
    peers: { authenticate: () => Promise.resolve({ kind: "none" as const }) },
  },
  {
    resources: [{ ...kind, namespaced: true, apiVersion: "v1" }],
    consistency: "cache",
    limits: { ...relayLimits, flushMs: 0, reviewStreamsMs: 600_000 },
  },
);
const limits = { ...httpLimits, connectionsMax: 60_000 };
const listening = await listen({ host: "127.0.0.1", port: 0, limits }, relay.handler, silentLog);
await relay.untilReady(new AbortController().signal);
console.log(listening.address.port);
const mirror = relay.resources[0]?.mirror;
const pad = "x".repeat(Math.max(0, eventBytes - 215));
const cpu = process.cpuUsage();
let rounds = 0;
let startedMs = 0;

/** Events handed to sockets so far, over all watchers. */
function given(): number {
  return Number(/^relay_watch_events_sent_total (\d+)$/m.exec(metrics.text())?.[1] ?? 0);
}

function round(): void {
  if ((mirror?.cache.watchers ?? 0) < clients) return void setTimeout(round, 50);
  if (startedMs === 0) startedMs = performance.now();
  void take(frames());
  rounds++;
  setImmediate(next);
}

function next(): void {
  if (given() >= rounds * batch * clients) round();
  else setImmediate(next);
}

function frames(): Uint8Array {
  let text = "";
  for (let at = 0; at < batch; at++) {
    revision++;
    const name = `c${revision % 1000}`;
    text += `{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}","namespace":"default","uid":"u-${name}","resourceVersion":"${revision}"},"data":{"pad":"${pad}"}}}\n`;
  }
  return encoder.encode(text);
}

round();
process.on("SIGTERM", () => {
  const { user, system } = process.cpuUsage(cpu);
  const memory = process.memoryUsage().rss / 2 ** 20;
  const seconds = (performance.now() - startedMs) / 1000;
  console.log(JSON.stringify({ rounds, user: user / 1e6, system: system / 1e6, memory, seconds }));
  process.exit(0);
});

function emptyList() {
  const body = encoder.encode('{"metadata":{"resourceVersion":"1"},"items":[]}');
  return {
    status: 200,
    headers: {},
    read: () => Promise.resolve(body),
    stream: () => Promise.resolve(),
  };
}
