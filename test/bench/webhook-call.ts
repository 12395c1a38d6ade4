/**
 * CPU of one call to a webhook, alone: HTTP/1.1 (or HTTP/2: "h2" as first word) and TLS over kept connections to another process, eight at a
 * time, 2 KB asked. The floor of what a matching webhook adds to a request.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { openWebhookServer } from "#extension/testing/webhook-server.ts";
import { WebhookCaller } from "#extension/webhooks/caller.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { hostsTransport } from "#platform/node/http/http-hosts.ts";

const callsPerRun = 2_000;
const runs = 7;
const atOnce = 8;

async function serve(): Promise<void> {
  const server = await openWebhookServer(Date.now());
  server.on("/allow", () => ({ allowed: true }));
  const { caBundle } = server;
  process.stdout.write(`${JSON.stringify({ url: server.url("/allow"), caBundle })}\n`);
  process.stdin.resume().on("end", () => void server.close());
}

async function measure(): Promise<void> {
  const file = fileURLToPath(import.meta.url);
  const stdio = ["pipe", "pipe", "inherit"] as const;
  const child = spawn(process.execPath, [file, "serve"], { stdio: [...stdio] });
  const [line] = (await once(child.stdout, "data")) as [Buffer]; // one short write
  const target = JSON.parse(String(line)) as { readonly url: string; readonly caBundle: string };
  const limits = { connectMs: 5_000, headBytesMax: 65_536, idleSocketsMax: 64 };
  const caller = new WebhookCaller(
    {
      clock: new NodeClock(),
      services: { resolve: () => ({ address: "127.0.0.1", port: 443 }) },
      open: ({ ca = "" }) => hostsTransport({ credentials: () => ({ ca }), limits }),
    },
    { callsMax: 256, waitingMax: 1_024, answerBytesMax: 3 * 2 ** 20 },
  );
  const hook = { id: "bench", target, timeoutMs: 10_000 };
  const request = { uid: "u", object: { data: { text: "x".repeat(2_048) } } };
  const body = Buffer.from(JSON.stringify({ kind: "AdmissionReview", request }));
  let leastUs = Infinity;
  for (let run = 0; run < runs; run++) {
    const before = process.cpuUsage();
    let left = callsPerRun;
    const ask = async (): Promise<void> => {
      while (left-- > 0) await caller.call(hook, body, undefined);
    };
    await Promise.all(Array.from({ length: atOnce }, ask));
    const { user, system } = process.cpuUsage(before);
    leastUs = Math.min(leastUs, (user + system) / callsPerRun);
  }
  process.stdout.write(`a call to a webhook: ${leastUs.toFixed(0)} us of CPU\n`);
  caller.close();
  child.stdin.end();
}

await (process.argv[2] === "serve" ? serve() : measure());
