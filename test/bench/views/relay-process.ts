/**
 * The relay under `npm run bench -- views`: all of it but the upstream, which is a generator in this process, and the
 * reviews, which know every token and say yes after a turn of the event loop.
 *
 * Prints its port, and when the first table was there. A line on stdin changes an endpoint, as many times as it says.
 */
import { createInterface } from "node:readline";
import { MetricSet } from "#metrics/metric-set.ts";
import type { ByteResponse, ByteTransport } from "#platform/byte-transport.ts";
import type { TakeChunk } from "#platform/http.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { httpLimits, listen } from "#platform/node/http/http.ts";
import { relayLimits } from "#relay/limits.ts";
import { createRelay } from "#relay/relay.ts";
import { relayDeps } from "../relay-deps.ts";
import { routedKinds } from "#relay/testing/routed-objects.ts";
import { parseViewFile } from "#relay/views/view-definition.ts";
import { collections, size, slice } from "./cluster.ts";

const encoder = new TextEncoder();
const pageObjects = 1_000;
let revision = 1;
let takeSlice: TakeChunk = () => {};
/** Made before the relay starts: an upstream would have them. */
const pages = new Map<string, readonly Uint8Array[]>();
for (const [path, { count, make }] of collections) {
  const made: Uint8Array[] = [];
  for (let start = 0; start < count; start += pageObjects) {
    const items = Array.from({ length: pageObjects }, (_, at) =>
      JSON.stringify(make(start + at, 1)),
    );
    const more = start + pageObjects < count ? `,"continue":"${made.length + 1}"` : "";
    const head = `{"metadata":{"resourceVersion":"1"${more}},"items":[`;
    made.push(encoder.encode(`${head}${items.join(",")}]}`));
  }
  pages.set(path, made);
}

const http: ByteTransport = {
  send({ target }) {
    const [path = "", query = ""] = target.split("?");
    const params = new URLSearchParams(query);
    const page = pages.get(path)?.[Number(params.get("continue") ?? 0)] ?? encoder.encode("{}");
    const read = (): Promise<Uint8Array> => Promise.resolve(page);
    const stream: ByteResponse["stream"] = (take) => {
      if (path.endsWith("endpointslices")) takeSlice = take;
      return new Promise<void>(() => {});
    };
    return Promise.resolve({ status: 200, headers: {}, read, stream });
  },
  close() {},
};

async function review(_ref: unknown, _namespace: unknown, asked: unknown): Promise<unknown> {
  const { spec } = asked as { spec: { token?: string } };
  await new Promise((resolve) => setImmediate(resolve));
  if (spec.token === undefined) return { status: { allowed: true } };
  return { status: { authenticated: true, user: { username: `user-${spec.token}`, groups: [] } } };
}

const [definition] = parseViewFile(
  "views: [{name: routes, shipped: skipper-routes, path: /routes}]",
);
const [kind, ...joined] = routedKinds;
if (definition === undefined) throw new Error("the view is missing");
const clock = new NodeClock();
const startMs = performance.now();
const relay = createRelay(relayDeps({ clock, metrics: new MetricSet(), http, review }), {
  resources: routedKinds,
  views: [{ definition, kind, joined }],
  consistency: "cache",
  limits: relayLimits,
});
const limits = { ...httpLimits, connectionsMax: 20_000 };
const at = { host: "127.0.0.1", port: 0, limits, ownHttp1: true };
const listening = await listen(at, relay.handler, silentLog);
await relay.untilReady(new AbortController().signal);
const listedMs = performance.now() - startMs;
const first = await fetch(`http://127.0.0.1:${listening.address.port}/routes`, {
  headers: { authorization: "Bearer t0" },
});
const bytes = (await first.text()).length;
const tableMs = performance.now() - startMs;
const rows = first.headers.get("x-count");
console.log(JSON.stringify({ port: listening.address.port, listedMs, tableMs, bytes, rows }));

createInterface({ input: process.stdin }).on("line", (line) => {
  for (let left = Number(line); left > 0; left--) {
    revision++;
    const object = slice((revision * 7919) % size.services, revision);
    void takeSlice(encoder.encode(`{"type":"MODIFIED","object":${JSON.stringify(object)}}\n`));
  }
  console.log(revision);
});
process.on("SIGTERM", () => process.exit(0));
