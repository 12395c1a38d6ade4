/**
 * The relay under `npm run bench -- fanout`: all of it but the upstream, which is a generator in this
 * process, and the reviews, which say yes. Without a rate a round of events starts when every watcher
 * was given the one before, as the floor does it; with one, events come evenly, whatever becomes of
 * them, and carry the moment they were made. The generator's share of this core is that of one
 * reader: an event is made once and decoded once.
 */
import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { ByteTransportError, type ByteTransport } from "../../src/core/platform/byte-transport.ts";
import { NodeClock } from "../../src/core/platform/node/clock.ts";
import { httpLimits, listen } from "../../src/core/platform/node/http/http.ts";
import { silentLog } from "../../src/core/platform/log.ts";
import { relayLimits } from "../../src/crowd/relay/limits.ts";
import { createRelay } from "../../src/crowd/relay/relay.ts";
import { relayDeps } from "./relay-deps.ts";
import { type Counter, MetricSet } from "#metrics/metric-set.ts";

const { values } = parseArgs({
  options: {
    clients: { type: "string", default: "0" },
    /** Events per round. */
    batch: { type: "string", default: "1" },
    bytes: { type: "string", default: "1024" },
    /** Events a second; 0: rounds. */
    rate: { type: "string", default: "0" },
    /** So many at the very start, whatever the rate: fills the sockets of those who never read. */
    burst: { type: "string", default: "0" },
    keys: { type: "string", default: "1000" },
    /** Not 0: pods, on this many nodes, instead of config maps. */
    nodes: { type: "string", default: "0" },
    /** PEM files: HTTP/2 and HTTP/1.1 over TLS. */
    key: { type: "string" },
    cert: { type: "string" },
    /** Of key exchange, for OpenSSL. */
    curves: { type: "string" },
    /** PEM file: client certificates are asked for. */
    clientCa: { type: "string" },
  },
});
const [clients, batch, eventBytes] = [values.clients, values.batch, values.bytes].map(Number) as [
  number,
  number,
  number,
];
const [rate, keys, nodes] = [Number(values.rate), Number(values.keys), Number(values.nodes)];
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

/** Keeps the counter the generator asks for every turn: the text of all metrics would be load of its own. */
class Metrics extends MetricSet {
  sent: Counter | undefined;

  override counter(name: string, help: string, labels: readonly string[]): Counter {
    const counter = super.counter(name, help, labels);
    if (name === "relay_watch_events_sent_total") this.sent = counter;
    return counter;
  }
}

const metrics = new Metrics();

/** Every token is somebody: what comes before the first dot. */
function review(_ref: unknown, _namespace: unknown, asked: unknown): Promise<unknown> {
  const { token } = (asked as { readonly spec: { readonly token?: string } }).spec;
  if (token === undefined) return Promise.resolve({ status: { allowed: true } });
  const user = { username: token.split(".")[0], groups: [] };
  return Promise.resolve({ status: { authenticated: true, user } });
}

const clock = new NodeClock();
const kind =
  nodes === 0
    ? { group: "", version: "v1", resource: "configmaps", kind: "ConfigMap" }
    : { group: "", version: "v1", resource: "pods", kind: "Pod" };
const relay = createRelay(relayDeps({ clock, metrics, http, review }), {
  resources: [{ ...kind, namespaced: true, apiVersion: "v1" }],
  views: [],
  consistency: "cache",
  limits: { ...relayLimits, ...(rate === 0 ? { flushMs: 0 } : {}), reviewStreamsMs: 600_000 },
});
/** More streams a connection than a server offers: what is measured is the fan-out. */
const limits = { ...httpLimits, connectionsMax: 60_000, streamsPerConnectionMax: 1_000 };
const tls =
  values.key === undefined || values.cert === undefined
    ? {}
    : {
        key: readFileSync(values.key, "utf8"),
        cert: readFileSync(values.cert, "utf8"),
        ...(values.curves === undefined ? {} : { curves: values.curves }),
        ...(values.clientCa === undefined
          ? {}
          : { clientCa: readFileSync(values.clientCa, "utf8") }),
      };
const listening = await listen(
  { host: "127.0.0.1", port: 0, limits, ownHttp1: true, ...tls },
  relay.handler,
  silentLog,
);
await relay.untilReady(new AbortController().signal);
console.log(listening.address.port);
const mirror = relay.resources[0]?.mirror;
const pad = "x".repeat(Math.max(0, eventBytes - 242));
const loop = monitorEventLoopDelay({ resolution: 1 });
const cpu = process.cpuUsage();
let rounds = 0;
let startedMs = 0;

/** Events handed to sockets so far, over all watchers. */
function given(): number {
  if (metrics.sent === undefined) throw new Error("the relay has no count of events sent any more");
  return metrics.sent.value([]);
}

function start(): void {
  if ((mirror?.cache.watchers ?? 0) < clients) return void setTimeout(start, 50);
  startedMs = performance.now();
  loop.enable();
  if (rate === 0) return round();
  if (Number(values.burst) > 0) void take(frames(Number(values.burst)));
  setInterval(pace, 1);
}

function round(): void {
  void take(frames(batch));
  rounds++;
  setImmediate(next);
}

function next(): void {
  if (given() >= rounds * batch * clients) round();
  else setImmediate(next);
}

/** What is due by now. */
function pace(): void {
  const due = Math.floor(((performance.now() - startedMs) * rate) / 1000) - rounds;
  if (due <= 0) return;
  rounds += due;
  void take(frames(due));
}

function frames(count: number): Uint8Array {
  let text = "";
  const stamp = String(process.hrtime.bigint()).padStart(19, "0");
  for (let at = 0; at < count; at++) {
    revision++;
    const name = `c${revision % keys}`;
    const spec = nodes === 0 ? "" : `"spec":{"nodeName":"node-${(revision % keys) % nodes}"},`;
    text += `{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"${kind.kind}","metadata":{"name":"${name}","namespace":"default","uid":"u-${name}","resourceVersion":"${revision}"},${spec}"data":{"at":"@${stamp}","pad":"${pad}"}}}\n`;
  }
  return encoder.encode(text);
}

start();
// Run with --expose-gc: what a watcher really takes.
process.on("SIGUSR1", () => {
  if (typeof gc === "function") gc();
});
process.on("SIGTERM", () => {
  const { user, system } = process.cpuUsage(cpu);
  const memory = process.memoryUsage().rss / 2 ** 20;
  const seconds = (performance.now() - startedMs) / 1000;
  const loopMs = loop.percentile(99) / 1e6;
  const used = { user: user / 1e6, system: system / 1e6 };
  // Who waits for its turn is an event or two behind, not this far.
  const behind = mirror?.cache.positionsBehind().filter((at) => at < revision - 20).length;
  console.log(JSON.stringify({ rounds, ...used, memory, seconds, loopMs, behind }));
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
