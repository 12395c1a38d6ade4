/** Extenders over the network: certificates, hangs, answers without end, errors, redirects. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openWebhookServer } from "#extension/testing/webhook-server.ts";
import { makeNode, makePod } from "#scheduler/testing.ts";
import type { ExtenderConfig, ExtenderTls } from "./extender-config.ts";
import { openExtender } from "./extender-http.ts";

const noTls: ExtenderTls = {
  isHttps: false,
  isInsecure: false,
  serverName: undefined,
  certFile: undefined,
  keyFile: undefined,
  caFile: undefined,
  certPem: undefined,
  keyPem: undefined,
  caPem: undefined,
};

function configOf(port: number, tls: Partial<ExtenderTls>, timeoutMs = 5_000): ExtenderConfig {
  return {
    urlPrefix: `https://127.0.0.1:${port}/scheduler/`,
    filterVerb: "filter",
    prioritizeVerb: undefined,
    preemptVerb: undefined,
    bindVerb: undefined,
    weight: 1,
    isNodeCacheCapable: true,
    managedResources: [],
    isIgnorable: false,
    timeoutMs,
    tls: { ...noTls, ...tls },
  };
}

const never = new AbortController().signal;
const pod = makePod("p");
const nodes = [makeNode("a"), makeNode("b")];

async function filtered(config: ExtenderConfig): Promise<readonly (string | undefined)[]> {
  const open = openExtender(config);
  try {
    const { kept } = await open.extender.filter(pod, nodes, never);
    return kept.map(({ metadata }) => metadata?.name);
  } finally {
    open.close();
  }
}

test("it is asked over TLS, by the authority of the configuration; any is believed when none is named", async () => {
  await using server = await opened();
  const body: string[] = [];
  server.raw("/scheduler/filter", (request, response, bytes) => {
    body.push(bytes.toString(), request.headers["content-type"] ?? "", request.method ?? "");
    response.end(JSON.stringify({ NodeNames: ["b"] }));
  });
  const caPem = Buffer.from(server.caBundle, "base64").toString();
  assert.deepEqual(await filtered(configOf(server.port, { isHttps: true, caPem })), ["b"]);
  assert.deepEqual(body.slice(1), ["application/json", "POST"]);
  assert.deepEqual((JSON.parse(body[0] ?? "") as { NodeNames: unknown }).NodeNames, ["a", "b"]);
  assert.deepEqual(await filtered(configOf(server.port, { isHttps: true })), ["b"]);
  assert.deepEqual(await filtered(configOf(server.port, { isInsecure: true })), ["b"]);
  await assert.rejects(filtered(configOf(server.port, {})), /certificate/);
  const serverName = "other.example.com";
  const misnamed = configOf(server.port, { isHttps: true, caPem, serverName });
  await assert.rejects(filtered(misnamed), /Post "https:.*\/scheduler\/filter": .*altnames/i);
});

test("one that hangs costs its timeout, before its answer or within", async () => {
  await using server = await opened();
  const config = configOf(server.port, { isInsecure: true }, 200);
  server.raw("/scheduler/filter", () => {});
  await assert.rejects(filtered(config), /Post "https/);
  server.raw("/scheduler/filter", (_request, response) => void response.write('{"NodeNames":['));
  await assert.rejects(filtered(config));
  const drip = { stop: () => {} };
  server.raw("/scheduler/filter", (_request, response) => {
    const timer = setInterval(() => response.write(" "), 20);
    drip.stop = () => clearInterval(timer);
  });
  await assert.rejects(filtered(config));
  drip.stop();
});

test("an answer of 100 MB is cut off", async () => {
  await using server = await opened();
  let sent = 0;
  server.raw("/scheduler/filter", (_request, response) => {
    const piece = Buffer.alloc(1_000_000, 0x20);
    const more = (): void => {
      while (sent < 100_000_000 && !response.destroyed) {
        sent += piece.length;
        if (!response.write(piece)) return void response.once("drain", more);
      }
      response.end();
    };
    more();
  });
  const config = configOf(server.port, { isInsecure: true });
  await assert.rejects(filtered(config), /more than \d+ bytes/);
  assert.ok(sent < 30_000_000, `${sent} bytes were taken`);
});

for (const [what, answer, text] of [
  [
    "an error",
    [500, "{}"],
    /failed filter with extender at URL https:.*\/scheduler\/filter, code 500/,
  ],
  ["a redirect", [302, ""], /code 302/],
  ["no JSON", [200, "<html>"], /JSON/],
  ["nothing", [200, ""], /JSON/],
] as const) {
  test(`one that answers ${what} fails the call`, async () => {
    await using server = await opened();
    server.raw("/scheduler/filter", (_request, response) => {
      response.writeHead(answer[0], { location: "/scheduler/other" }).end(answer[1]);
    });
    const config = configOf(server.port, { isInsecure: true });
    await assert.rejects(filtered(config), text);
  });
}

test("one that is not there fails the call", async () => {
  const server = await opened();
  await server.close();
  const config = configOf(server.port, { isInsecure: true });
  await assert.rejects(filtered(config), /Post "https:.*": .*ECONNREFUSED/);
});

async function opened() {
  const server = await openWebhookServer(Date.now());
  return { ...server, [Symbol.asyncDispose]: () => server.close() };
}
