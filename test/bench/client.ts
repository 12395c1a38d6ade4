/** `npm run bench -- client`: see `usage`. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { startPodsServer } from "./client/pods-server.ts";
import { flagsOf } from "./flags.ts";
import { cpuSeconds, residentBytes } from "./process-cost.ts";

const usage = `npm run bench -- client [flags]

An informer of Pods in a process of its own, in turn: ours after a list, ours with watchList, and that of
@kubernetes/client-node. CPU until the first state is held, CPU of the changes, and memory after them: as the
system counts it, and the heap after a collection. The server sends all of them the same objects.

  --pods 50000    Pods
  --rate 1000     changes a second
  --seconds 10    how long
  --runs 5        of each; medians are printed
`;
const flags = flagsOf(usage, { pods: "50000", rate: "1000", seconds: "10", runs: "5" });
const seconds = flags.number("seconds");
const rate = flags.number("rate");

interface Cost {
  readonly listSeconds: number;
  readonly changesSeconds: number;
  readonly residentMb: number;
  readonly heapMb: number;
}

interface Answer {
  readonly updates: number;
  readonly heapBytes: number;
}

const sides = ["list", "watch-list", "client-node"] as const;
const costs: Record<(typeof sides)[number], Cost[]> = {
  list: [],
  "watch-list": [],
  "client-node": [],
};
for (let run = 0; run < flags.number("runs"); run++) {
  for (const side of sides) costs[side].push(await measure(side));
}
for (const side of sides) console.log(JSON.stringify({ side, ...medians(costs[side]) }));

async function measure(side: string): Promise<Cost> {
  const server = await startPodsServer(flags.number("pods"));
  const args = ["--expose-gc", join(import.meta.dirname, "client/informer.ts"), side, server.url];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  await once(child, "message");
  const listSeconds = cpuSeconds(child.pid);
  const sent = await server.change(rate, seconds);
  const changesSeconds = cpuSeconds(child.pid) - listSeconds;
  const residentMb = residentBytes(child.pid) / 1e6;
  const { updates, heapBytes } = await ask(child);
  if (updates !== sent) console.log(`${side}: saw ${updates} of ${sent} changes`);
  child.kill();
  await once(child, "exit");
  server.close();
  return { listSeconds, changesSeconds, residentMb, heapMb: heapBytes / 1e6 };
}

async function ask(child: ChildProcess): Promise<Answer> {
  const answer = once(child, "message");
  child.send("how many");
  const [message] = (await answer) as [Answer];
  return message;
}

function medians(all: readonly Cost[]): Cost {
  const of = (name: keyof Cost): number => {
    const sorted = all.map((cost) => cost[name]).toSorted((a, b) => a - b);
    return Math.round((sorted[sorted.length >> 1] ?? Number.NaN) * 100) / 100;
  };
  return {
    listSeconds: of("listSeconds"),
    changesSeconds: of("changesSeconds"),
    residentMb: of("residentMb"),
    heapMb: of("heapMb"),
  };
}
