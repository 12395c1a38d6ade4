/** `npm run bench -- views`: what a route table joined of four resources costs; see `usage`. */
import { type ChildProcess, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { get } from "node:http";
import { cpus, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { flagsOf } from "./flags.ts";
import { pinned } from "./pinned.ts";
import { cpuNanoseconds, cpuSeconds, residentBytes } from "./process-cost.ts";
import { size } from "./views/cluster.ts";

const usage = `npm run bench -- views [flags]

What the routes of Skipper cost a relay: ${size.ingresses} Ingresses and ${size.groups} RouteGroups, joined with
${size.services} Services of ${size.endpoints} endpoints.

  --changes N   endpoints that are moved one by one (300)
  --pollers L   connections that poll every 3 s, each with a token and If-None-Match (300,5000)
  --seconds N   of each window (10)

Relay and client have a core each (taskset); the pollers are a C program: without a C compiler they are left out.
`;
const flags = flagsOf(usage, { changes: "300", pollers: "300,5000", seconds: "10" });
const changes = flags.number("changes");
const seconds = flags.number("seconds");
const here = dirname(fileURLToPath(import.meta.url));
const path = "/routes";
const child = pinned(0, process.execPath, [join(here, "views", "relay-process.ts")], "pipe");
const line = lines(child);
const directory = mkdtempSync(join(tmpdir(), "pilothouse-views-"));

try {
  await main();
} finally {
  child.kill("SIGKILL");
  rmSync(directory, { recursive: true, force: true });
}

async function main(): Promise<void> {
  console.log(cpus()[0]?.model ?? "?");
  const first = JSON.parse(await line()) as Readonly<Record<string, number>>;
  const { port = 0, listedMs = 0, tableMs = 0, bytes, rows } = first;
  console.log(
    `first table: ${rows} routes, ${bytes} bytes, ${(tableMs / 1000).toFixed(2)} s after the start ` +
      `(lists ${(listedMs / 1000).toFixed(2)} s), ${megabytes()} MB`,
  );
  await changed(port);
  const program = join(directory, "poll");
  const made = spawnSync("cc", ["-O2", "-o", program, join(here, "poll.c")], { stdio: "inherit" });
  if (made.status !== 0) return console.log("pollers left out: no C compiler (cc)");
  for (const clients of flags.list("pollers")) await polled(program, port, Number(clients));
}

/** CPU per change, with the rows alone and with a reader of the whole body. */
async function changed(port: number): Promise<void> {
  const one = await cost(() => tell(1));
  const read = await cost(async () => {
    await tell(1);
    await fetched(port, "identity");
  });
  const packed = await cost(async () => {
    await tell(1);
    await fetched(port, "gzip");
  });
  const whole = await fetched(port, "gzip");
  console.log(
    `a change of one endpoint: ${one} ms of CPU; with one reader of the body ${read} ms, ` +
      `of its gzip form (${whole} bytes) ${packed} ms; n ${changes} each`,
  );
}

async function cost(change: () => Promise<void>): Promise<string> {
  for (let at = 0; at < 50; at++) await change();
  const before = cpuNanoseconds(child.pid);
  for (let at = 0; at < changes; at++) await change();
  // What was gathered in a window is written.
  await pause(50);
  return ((cpuNanoseconds(child.pid) - before) / changes / 1e6).toFixed(2);
}

async function polled(program: string, port: number, clients: number): Promise<void> {
  const rate = Math.round(clients / 3);
  const args = [port, clients, seconds, rate, 300, path].map(String);
  const client = pinned(1, program, args);
  const told = lines(client);
  await told();
  await pause(1_000 + (clients / rate) * 2_000 + seconds * 250);
  const [before, since] = [cpuSeconds(child.pid), performance.now()];
  await pause(seconds * 500);
  const share = (cpuSeconds(child.pid) - before) / ((performance.now() - since) / 1000);
  const { perSecond, p50, p99, others } = JSON.parse(await told()) as Record<string, number>;
  console.log(
    `${clients} pollers every 3 s: ${perSecond} 304/s, ${(share * 100).toFixed(1)} % of a core, ` +
      `p50 ${p50} ms, p99 ${p99} ms, not 304: ${others}`,
  );
}

async function tell(count: number): Promise<void> {
  child.stdin?.write(`${count}\n`);
  await line();
}

function fetched(port: number, encoding: string): Promise<number> {
  const headers = { authorization: "Bearer t0", "accept-encoding": encoding };
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port, path, headers }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => (bytes += chunk.length));
      response.on("end", () => resolve(bytes));
    }).on("error", reject);
  });
}

function megabytes(): number {
  return Math.round(residentBytes(child.pid) / 2 ** 20);
}

/** The next line of its output. */
function lines(process: ChildProcess): () => Promise<string> {
  const reader = process.stdout && createInterface({ input: process.stdout });
  const iterator = reader?.[Symbol.asyncIterator]();
  return async () => {
    const next = await iterator?.next();
    if (next === undefined || next.done === true) throw new Error("the program has ended");
    return next.value;
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
