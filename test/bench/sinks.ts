/** `npm run bench -- sinks`: see `usage`. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { removeDirectory, temporaryDirectory } from "../process/harness.ts";
import { findKafka, startKafka } from "../process/kafka-broker.ts";
import { findPeer, noPeer, type PeerName } from "../process/peers.ts";
import { SinkServer } from "../process/sink-servers.ts";
import { flagsOf } from "./flags.ts";
import { cpuSeconds, residentBytes } from "./process-cost.ts";
import { startEventServer } from "./sinks/event-server.ts";

const usage = `npm run bench -- sinks [flags]

Changes of Pods of 2.5 KB, as fast as a sink takes them, into Redis Streams, NATS JetStream and Kafka on this
machine: events a second, CPU of the sender and of the server for each event, the sender's memory. Needs
redis-server, nats-server, and for Kafka java and mvn.

  --only redis      one of redis, jetstream, kafka; all when absent
  --pods 1000       of the first state
  --events 100000   changes
  --runs 5          of each; medians are printed
`;
const flags = flagsOf(usage, { only: "", pods: "1000", events: "100000", runs: "5" });
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

interface Side {
  /** Why it cannot be measured here. */
  readonly reason: string | undefined;
  readonly start: (directory: string) => Promise<SinkServer>;
  readonly target: (port: number) => string;
}

function programSide(
  name: PeerName,
  start: (program: string, directory: string) => Promise<SinkServer>,
  target: Side["target"],
): Side {
  const program = findPeer(name);
  const reason = program === undefined ? noPeer(name) : undefined;
  return { reason, start: (directory) => start(program ?? "", directory), target };
}

function kafkaSide(): Side {
  const found = findKafka();
  const jars = "jars" in found ? found.jars : "";
  return {
    reason: "reason" in found ? found.reason : undefined,
    start: (directory) => startKafka(jars, directory),
    target: (port) => `kafka: {brokers: ["127.0.0.1:${port}"], topic: "k8s.{resource}"}`,
  };
}

const sides: Readonly<Record<string, () => Side>> = {
  redis: () =>
    programSide(
      "redis-server",
      (program, directory) => SinkServer.redis(program, directory),
      (port) => `redis: {url: "redis://127.0.0.1:${port}", stream: "k8s:{resource}"}`,
    ),
  jetstream: () =>
    programSide(
      "nats-server",
      (program, directory) => SinkServer.nats(program, directory),
      (port) =>
        `jetstream: {servers: ["nats://127.0.0.1:${port}"], stream: K8S, subject: "k8s.{resource}.{namespace}.{name}"}`,
    ),
  kafka: kafkaSide,
};

const only = flags.text("only");
for (const [name, make] of Object.entries(sides)) {
  if (only !== "" && only !== name) continue;
  const side = make();
  if (side.reason !== undefined) {
    console.log(`${name}: ${side.reason}`);
    continue;
  }
  const results: Result[] = [];
  for (let run = 0; run < flags.number("runs"); run++) {
    const directory = temporaryDirectory("bench-sinks");
    const server = await side.start(join(directory, "data"));
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
