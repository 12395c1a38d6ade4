/** `npm run bench -- herd`: see `usage`. Clients are plain sockets that count bytes and obey Retry-After. */
import type { ChildProcess } from "node:child_process";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { removeDirectory, startUp, temporaryDirectory, type Running } from "../process/harness.ts";
import { credentialsOf, KubeHttp } from "../process/kube-http.ts";
import { flagsOf } from "./flags.ts";
import { cpuSeconds, residentBytes } from "./process-cost.ts";
import { readerToken, startRelay } from "./relay-in-clear.ts";

const usage = `npm run bench -- herd [--clients 5000] [--objects 10000] [--runs 5]

A whole fleet starts at once behind one relay and lists everything: how long until the last one has its
state, how often a list was encoded, and what the relay needed for it.

  --clients N   that list at once
  --objects N   of 1 KB in the list
  --runs N      one after the other, each a line

Server and clients share the machine's cores.
`;
const flags = flagsOf(usage, { clients: "5000", objects: "10000", runs: "5" });
const clients = flags.number("clients");
const objects = flags.number("objects");
const runs = flags.number("runs");
const list = "/api/v1/configmaps?resourceVersion=0";
const writersMax = 64;

const directory = temporaryDirectory("herd");
const dataDir = join(directory, "data");
const plane = await startUp(["--data-dir", dataDir, "--port", "0", "--nodes", "0"]);
let relay: ChildProcess | undefined;
try {
  await main(plane);
} finally {
  relay?.kill("SIGKILL");
  await plane.kill();
  removeDirectory(directory);
}

async function main(upstream: Running): Promise<void> {
  const admin = new KubeHttp(credentialsOf(upstream.kubeconfig));
  await fill(admin);
  const token = await readerToken(admin);
  const { port, child } = await startRelay(upstream.kubeconfig);
  relay = child;
  console.log(`${clients} clients at once, ${objects} objects of 1 KB, gzip`);
  console.log("run   last has it s   told to wait   GB sent   lists encoded   CPU s   RSS MB");
  let [made, cpu] = [await bodiesMade(port, token), cpuSeconds(child.pid)];
  for (let at = 1; at <= runs; at++) {
    const { seconds, refused, bytes } = await herd(port, token);
    const [madeNow, cpuNow] = [await bodiesMade(port, token), cpuSeconds(child.pid)];
    const gigabytes = (bytes / 1e9).toFixed(2);
    const cells = [at, seconds.toFixed(2), refused, gigabytes, madeNow - made];
    const row = [
      ...cells,
      (cpuNow - cpu).toFixed(1),
      Math.round(residentBytes(child.pid) / 2 ** 20),
    ];
    const widths = [3, 16, 15, 10, 16, 8, 9];
    console.log(row.map((cell, column) => String(cell).padStart(widths[column] ?? 8)).join(""));
    [made, cpu] = [madeNow, cpuNow];
    // A change, so that the next herd finds a state nobody has encoded yet.
    await create(admin, `changed-${at}`);
  }
  admin.close();
}

async function herd(
  port: number,
  token: string,
): Promise<{ seconds: number; refused: number; bytes: number }> {
  const started = performance.now();
  const answers = await Promise.all(
    Array.from({ length: clients }, () => untilListed(port, token)),
  );
  const seconds = (performance.now() - started) / 1000;
  const refused = answers.reduce((sum, answer) => sum + answer.refused, 0);
  const bytes = answers.reduce((sum, answer) => sum + answer.bytes, 0);
  return { seconds, refused, bytes };
}

async function untilListed(
  port: number,
  token: string,
): Promise<{ refused: number; bytes: number }> {
  for (let refused = 0; ; refused++) {
    const { status, retryAfter, bytes } = await listOnce(port, token);
    if (status === 200) return { refused, bytes };
    if (status !== 429) throw new Error(`the relay answers ${status}`);
    await new Promise((resolve) => setTimeout(resolve, retryAfter * 1000));
  }
}

interface Listed {
  readonly status: number;
  readonly retryAfter: number;
  readonly bytes: number;
}

function listOnce(port: number, token: string): Promise<Listed> {
  const head = `GET ${list} HTTP/1.1\r\nhost: relay\r\nauthorization: Bearer ${token}\r\n`;
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, "127.0.0.1");
    let bytes = 0;
    let start = "";
    socket.on("data", (chunk: Buffer) => {
      if (start === "") start = chunk.subarray(0, 2_000).toString("latin1");
      bytes += chunk.length;
    });
    socket.on("error", reject);
    socket.on("close", () => {
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(start)?.[1] ?? 0);
      const length = Number(/content-length: (\d+)/i.exec(start)?.[1] ?? 0);
      if (bytes < length) return reject(new Error("an answer was cut short"));
      resolve({ status, retryAfter: Number(/retry-after: (\d+)/i.exec(start)?.[1] ?? 1), bytes });
    });
    socket.write(`${head}accept-encoding: gzip\r\nconnection: close\r\n\r\n`);
  });
}

async function fill(admin: KubeHttp): Promise<void> {
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < objects) {
      if (next % 2_000 === 0) process.stderr.write(`${next} of ${objects} objects\r`);
      await create(admin, `object-${next++}`);
    }
  };
  await Promise.all(Array.from({ length: writersMax }, writer));
}

async function create(admin: KubeHttp, name: string): Promise<void> {
  // Text that compresses as configuration does, not as one letter would.
  const text = Array.from({ length: 16 }, () => `key-${name}: ${Math.random()}\n`).join("");
  const object = { metadata: { name }, data: { text } };
  const { status } = await admin.request("POST", "/api/v1/namespaces/default/configmaps", object);
  if (status !== 201) throw new Error(`${name} was answered ${status}`);
}

async function bodiesMade(port: number, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const text = await (await fetch(`http://127.0.0.1:${port}/relay/metrics`, { headers })).text();
  return Number(/^relay_bodies_made_total\{.*\} (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
}
