/** `npm run bench -- sinks`: see `usage`. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { removeDirectory, temporaryDirectory } from "../process/harness.ts";
import { findPeer, noPeer } from "../process/peers.ts";
import { SinkServer } from "../process/sink-servers.ts";
import { flagsOf } from "./flags.ts";
import { cpuSeconds, residentBytes } from "./process-cost.ts";
import { startEventServer } from "./sinks/event-server.ts";

const usage = `npm run bench -- sinks [flags]

Changes of Pods of 2.5 KB, as fast as a sink takes them, into Redis Streams and NATS JetStream on this machine:
events a second, CPU of the sender and of the server for each event, the sender's memory. Needs redis-server
and nats-server.

  --pods 1000       of the first state
  --events 100000   changes
  --runs 5          of each; medians are printed
`;
const flags = flagsOf(usage, { pods: "1000", events: "100000", runs: "5" });
const pods = flags.number("pods");
const events = flags.number("events");
/** The marks around the first state. */
const marks = 2;

interface Result {
  readonly perSecond: number;
  readonly perSenderCpuSecond: number;
  readonly senderMicros: number;
  readonly serverMicros: number;
  readonly residentMb: number;
}

const sides = {
  redis: {
    program: "redis-server",
    start: (program: string, directory: string) => SinkServer.redis(program, directory),
    target: (port: number) => `redis: {url: "redis://127.0.0.1:${port}", stream: "k8s:{resource}"}`,
  },
  jetstream: {
    program: "nats-server",
    start: (program: string, directory: string) => SinkServer.nats(program, directory),
    target: (port: number) =>
      `jetstream: {servers: ["nats://127.0.0.1:${port}"], stream: K8S, subject: "k8s.{resource}.{namespace}.{name}"}`,
  },
} as const;

for (const [name, side] of Object.entries(sides)) {
  const program = findPeer(side.program);
  if (program === undefined) {
    console.log(`${name}: ${noPeer(side.program)}`);
    continue;
  }
  const results: Result[] = [];
  for (let run = 0; run < flags.number("runs"); run++) {
    const directory = temporaryDirectory("bench-sinks");
    const server = await side.start(program, join(directory, "data"));
    results.push(await measure(server, side.target(server.port)));
    await server.kill();
    removeDirectory(directory);
  }
  console.log(JSON.stringify({ sink: name, ...medians(results) }));
}

async function measure(server: SinkServer, target: string): Promise<Result> {
  const api = await startEventServer(pods);
  const text = `sinks:\n  - name: bench\n    ${target}\n    resources: [{resource: v1/pods}]\n`;
  const args = [join(import.meta.dirname, "sinks/sender.ts"), api.url, text];
  const sender = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  await once(sender, "message");
  await untilLanded(sender, pods + marks);
  const before = { sender: cpuSeconds(sender.pid), server: cpuSeconds(server.pid) };
  const startMs = performance.now();
  api.release(events);
  await untilLanded(sender, pods + marks + events);
  const seconds = (performance.now() - startMs) / 1000;
  const senderSeconds = cpuSeconds(sender.pid) - before.sender;
  const serverSeconds = cpuSeconds(server.pid) - before.server;
  const residentMb = residentBytes(sender.pid) / 1e6;
  sender.kill();
  await once(sender, "exit");
  api.close();
  return {
    perSecond: events / seconds,
    perSenderCpuSecond: events / senderSeconds,
    senderMicros: (senderSeconds / events) * 1e6,
    serverMicros: (serverSeconds / events) * 1e6,
    residentMb,
  };
}

async function untilLanded(sender: ChildProcess, count: number): Promise<void> {
  for (;;) {
    const answer = once(sender, "message");
    sender.send("how many");
    const [landed] = (await answer) as [number];
    if (landed >= count) return;
    await sleep(20);
  }
}

function medians(all: readonly Result[]): Result {
  const of = (name: keyof Result): number => {
    const sorted = all.map((result) => result[name]).toSorted((a, b) => a - b);
    return Math.round((sorted[sorted.length >> 1] ?? Number.NaN) * 10) / 10;
  };
  return {
    perSecond: of("perSecond"),
    perSenderCpuSecond: of("perSenderCpuSecond"),
    senderMicros: of("senderMicros"),
    serverMicros: of("serverMicros"),
    residentMb: of("residentMb"),
  };
}
