/** `npm run bench -- client`: see `usage`. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPodsServer } from "./client/pods-server.ts";
import { flagsOf } from "./flags.ts";
import { cpuSeconds, residentBytes } from "./process-cost.ts";

const allSides = [
  "json",
  "json,watchList",
  "protobuf",
  "protobuf,watchList",
  "protobuf,watchList,keepsDecoded",
  "client-node",
];

const usage = `npm run bench -- client [flags]

An informer of Pods in a process of its own, in turn: ours in JSON and in protobuf, after a list or with
watchList, and that of @kubernetes/client-node. Handlers of all sides read the name and the phase of each object
they are given. CPU of the start, of the list until the first state is held, and of the changes; memory after them: as the system
counts it, and after a collection the heap and what lies outside of it. The server sends all of them the same
objects.

  --pods 50000    Pods
  --rate 1000     changes a second
  --seconds 10    how long
  --runs 5        of each; medians are printed
  --sides         which, with ; between them (${allSides.join("; ")})
`;
const flags = flagsOf(usage, {
  pods: "50000",
  rate: "1000",
  seconds: "10",
  runs: "5",
  sides: allSides.join(";"),
});
interface Load {
  readonly pods: number;
  readonly changesPerSecond: number;
  readonly forSeconds: number;
}

const load: Load = {
  pods: flags.number("pods"),
  changesPerSecond: flags.number("rate"),
  forSeconds: flags.number("seconds"),
};
const sides = flags.text("sides").split(";");

interface Cost {
  /** Of the process with its modules, before it asks the server anything. */
  readonly startSeconds: number;
  readonly listSeconds: number;
  readonly changesSeconds: number;
  readonly residentMb: number;
  readonly heapMb: number;
  readonly heldMb: number;
}

interface Answer {
  readonly adds: number;
  readonly updates: number;
  readonly running: number;
  readonly heapBytes: number;
  readonly heldBytes: number;
}

const costs = new Map<string, Cost[]>(sides.map((side) => [side, []]));
// The modules of every side are compiled already, as those of an installed package are: this repository is TypeScript.
const compiled = mkdtempSync(join(tmpdir(), "pilothouse-bench-"));
for (const side of sides) await measure(side, { pods: 1, changesPerSecond: 50, forSeconds: 1 });
for (let run = 0; run < flags.number("runs"); run++) {
  for (const side of sides) costs.get(side)?.push(await measure(side, load));
}
rmSync(compiled, { recursive: true, force: true });
for (const side of sides) {
  console.log(JSON.stringify({ side, ...medians(costs.get(side) ?? []) }));
}

async function measure(side: string, { pods, changesPerSecond, forSeconds }: Load): Promise<Cost> {
  const server = await startPodsServer(pods);
  const args = ["--expose-gc", join(import.meta.dirname, "client/informer.ts"), side, server.url];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { ...process.env, NODE_COMPILE_CACHE: compiled },
  });
  await once(child, "message");
  const startSeconds = cpuSeconds(child.pid);
  child.send("start");
  await once(child, "message");
  const untilList = cpuSeconds(child.pid);
  const sent = await server.change(changesPerSecond, forSeconds);
  const changesSeconds = cpuSeconds(child.pid) - untilList;
  const listSeconds = untilList - startSeconds;
  const residentMb = residentBytes(child.pid) / 1e6;
  const { adds, updates, running, heapBytes, heldBytes } = await ask(child);
  if (adds !== pods || updates !== sent || running !== adds + updates) {
    console.log(
      `${side}: saw ${adds} of ${pods} Pods, ${updates} of ${sent} changes, ${running} running`,
    );
  }
  child.kill(); // it exits by itself, and writes what it compiled
  await once(child, "exit");
  server.close();
  const memory = { residentMb, heapMb: heapBytes / 1e6, heldMb: heldBytes / 1e6 };
  return { startSeconds, listSeconds, changesSeconds, ...memory };
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
    startSeconds: of("startSeconds"),
    listSeconds: of("listSeconds"),
    changesSeconds: of("changesSeconds"),
    residentMb: of("residentMb"),
    heapMb: of("heapMb"),
    heldMb: of("heldMb"),
  };
}
