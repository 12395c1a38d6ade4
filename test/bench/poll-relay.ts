/**
 * The relay under `npm run bench -- poll`: all of it but the upstream, which is a generator in this
 * process, and the reviews, which know every token and say yes after a turn of the event loop.
 *
 *   poll-relay --objects N [--key F --cert F [--clientCa F]]     prints its port; a line on stdin changes that many objects, one a revision,
 *                          and is answered by the newest revision
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import type { ByteTransport } from "../../src/core/platform/byte-transport.ts";
import { ByteTransportError } from "../../src/core/platform/byte-transport.ts";
import { silentLog } from "../../src/core/platform/log.ts";
import { NodeClock } from "../../src/core/platform/node/clock.ts";
import { httpLimits, listen } from "../../src/core/platform/node/http/http.ts";
import { relayLimits } from "../../src/crowd/relay/limits.ts";
import { createRelay } from "../../src/crowd/relay/relay.ts";
import { relayDeps } from "./relay-deps.ts";
import { parseViewFile } from "../../src/crowd/relay/views/view-definition.ts";
import { MetricSet } from "#metrics/metric-set.ts";

const { values } = parseArgs({
  options: {
    objects: { type: "string", default: "1000" },
    /** PEM files: HTTP/2 and HTTP/1.1 over TLS; with the last, client certificates are asked for. */
    key: { type: "string" },
    cert: { type: "string" },
    clientCa: { type: "string" },
  },
});
const objects = Number(values.objects);
const encoder = new TextEncoder();
let take: (chunk: Uint8Array) => void | Promise<void> = () => {};
let revision = 1;

/** A Service as a route table wants it, about 1 KB. */
function object(at: number): string {
  const name = `route-${String(at).padStart(6, "0")}`;
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name,
      namespace: `ns-${at % 50}`,
      uid: `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`,
      resourceVersion: String(revision),
      labels: { app: `app-${at % 200}`, zone: `zone-${at % 3}` },
      annotations: { host: `${name}.shop.example`, notes: "x".repeat(400) },
    },
    spec: {
      clusterIP: `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`,
      ports: [{ name: "http", port: 80, targetPort: 8080 + (revision % 1000) }],
    },
  });
}

const http: ByteTransport = {
  send({ target }) {
    if (!target.includes("watch=true")) return Promise.resolve(list(target));
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

/** Pages of a thousand. */
function list(target: string) {
  const query = new URLSearchParams(target.split("?")[1] ?? "");
  const start = Number(query.get("continue") ?? 0);
  const end = Math.min(objects, start + 1000);
  const items = Array.from({ length: end - start }, (_, at) => object(start + at));
  const more = end < objects ? `,"continue":"${end}"` : "";
  const text = `{"metadata":{"resourceVersion":"1"${more}},"items":[${items.join(",")}]}`;
  const read = () => Promise.resolve(encoder.encode(text));
  return { status: 200, headers: {}, read, stream: () => Promise.resolve() };
}

async function review(_ref: unknown, _namespace: unknown, asked: unknown): Promise<unknown> {
  const { spec } = asked as { spec: { token?: string } };
  await new Promise((resolve) => setImmediate(resolve));
  if (spec.token === undefined) return { status: { allowed: true } };
  const username = `user-${spec.token.split(".")[0]}`;
  return { status: { authenticated: true, user: { username, groups: [] } } };
}

const kind = {
  group: "",
  version: "v1",
  resource: "services",
  kind: "Service",
  namespaced: true,
  apiVersion: "v1",
};
const [definition] = parseViewFile(`
views:
  - name: routes
    resource: services
    text: '{.metadata.name}: Host("{.metadata.annotations.host}") -> "http://{.spec.clusterIP}:{.spec.ports[0].targetPort}";'
    zone: {path: .metadata.labels.zone, minimum: 3}
`);
if (definition === undefined) throw new Error("the view is missing");
const clock = new NodeClock();
const relay = createRelay(relayDeps({ clock, metrics: new MetricSet(), http, review }), {
  resources: [kind],
  views: [{ definition, kind }],
  consistency: "cache",
  limits: relayLimits,
});
const limits = { ...httpLimits, connectionsMax: 120_000, streamsPerConnectionMax: 1_000 };
const pem = Object.fromEntries(
  Object.entries({ key: values.key, cert: values.cert, clientCa: values.clientCa }).flatMap(
    ([name, file]) => (file === undefined ? [] : [[name, readFileSync(file, "utf8")]]),
  ),
);
const at = { host: "127.0.0.1", port: 0, limits, ownHttp1: true, ...pem };
const listening = await listen(at, relay.handler, silentLog);
await relay.untilReady(new AbortController().signal);
console.log(listening.address.port);

createInterface({ input: process.stdin }).on("line", (line) => {
  for (let left = Number(line); left > 0; left--) {
    revision++;
    const frame = `{"type":"MODIFIED","object":${object((revision * 7919) % objects)}}\n`;
    void take(encoder.encode(frame));
  }
  console.log(revision);
});
// So that a profile asked for with --cpu-prof is written.
process.on("SIGTERM", () => process.exit(0));
