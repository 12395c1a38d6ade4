/**
 * `npm run bench -- fanout [--clients 5000] [--seconds 3]`: how many watch events a second one core
 * gives to a crowd over HTTP/1.1, held against a C program that does nothing else.
 *
 * Server and client have a core each (taskset), the client counts bytes. 16 events of 1 KB per write,
 * then one per write. Without a C compiler there is nobody to count: the benchmark says so and ends.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    clients: { type: "string", default: "5000" },
    seconds: { type: "string", default: "3" },
  },
});
const clients = Number(values.clients);
const seconds = Number(values.seconds);
const eventBytes = 1024;
const here = dirname(fileURLToPath(import.meta.url));
const path = "/api/v1/configmaps?watch=true&resourceVersion=0";
const floorPort = 27_801;

const directory = mkdtempSync(join(tmpdir(), "pilothouse-fanout-"));
try {
  const program = compiled();
  if (program === undefined) console.log("skipped: no C compiler (cc) to make the counting client");
  else await main(program);
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function compiled(): string | undefined {
  const out = join(directory, "fanout");
  const made = spawnSync("cc", ["-O2", "-o", out, join(here, "fanout.c")], { stdio: "inherit" });
  return made.status === 0 ? out : undefined;
}

async function main(program: string): Promise<void> {
  console.log(
    `${cpus()[0]?.model ?? "?"}, ${clients} watchers, ${eventBytes} B events, ${seconds} s`,
  );
  console.log(
    "events per write     C epoll       relay  ratio   per CPU second: C       relay  ratio   RSS MB",
  );
  for (const batch of [16, 1]) {
    const floor = await measureFloor(program, batch);
    const relay = await measureRelay(program, batch);
    const ratio = (relay.perSecond / floor.perSecond).toFixed(2);
    const cpuRatio = (relay.perCpuSecond / floor.perCpuSecond).toFixed(2);
    const wall = [batch, Math.round(floor.perSecond), Math.round(relay.perSecond), ratio];
    const cpu = [Math.round(floor.perCpuSecond), Math.round(relay.perCpuSecond), cpuRatio];
    const cells = [...wall, ...cpu, Math.round(relay.memory)];
    const widths = [16, 12, 12, 7, 20, 12, 7, 9];
    console.log(cells.map((cell, at) => String(cell).padStart(widths[at] ?? 9)).join(""));
  }
}

/** On a machine with other work the rate says who got the core; per CPU second says what it costs. */
interface Rate {
  readonly perSecond: number;
  readonly perCpuSecond: number;
}

async function measureFloor(program: string, batch: number): Promise<Rate> {
  const args = ["serve", String(floorPort), String(clients), String(batch * eventBytes)];
  const server = pinned(0, program, args);
  await pause(300);
  const rate = await drained(program, floorPort, server);
  server.kill("SIGKILL");
  return rate;
}

async function measureRelay(program: string, batch: number): Promise<Rate & { memory: number }> {
  const script = join(here, "fanout-relay.ts");
  const args = [script, String(clients), String(batch), String(eventBytes)];
  const server = pinned(0, process.execPath, args);
  const lines = linesOf(server);
  const port = Number(await lines());
  const rate = await drained(program, port, server);
  server.kill("SIGTERM");
  const { memory } = JSON.parse(await lines()) as { memory: number };
  return { ...rate, memory };
}

async function drained(program: string, port: number, server: ChildProcess): Promise<Rate> {
  const args = ["drain", String(port), String(clients), String(seconds), path];
  const lines = linesOf(pinned(1, program, args));
  await lines();
  const counted = lines();
  // The middle of the client's window, which starts a second after everybody is connected.
  await pause(1_000 + (seconds * 1000) / 4);
  const [cpu, since] = [cpuSeconds(server), performance.now()];
  await pause((seconds * 1000) / 2);
  const share = ((cpuSeconds(server) - cpu) * 1000) / (performance.now() - since);
  const perSecond = Number(await counted) / eventBytes;
  return { perSecond, perCpuSecond: perSecond / share };
}

/** User and system time so far; Linux only, NaN elsewhere. */
function cpuSeconds(child: ChildProcess): number {
  try {
    const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return Number.NaN;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function pinned(core: number, program: string, args: readonly string[]): ChildProcess {
  const stdio = ["ignore", "pipe", "inherit"] as const;
  const hasTaskset = spawnSync("taskset", ["-V"]).status === 0;
  if (!hasTaskset) return spawn(program, args, { stdio: [...stdio] });
  return spawn("taskset", ["-c", String(core), program, ...args], { stdio: [...stdio] });
}

function linesOf(child: ChildProcess): () => Promise<string> {
  let text = "";
  const waiting: (() => void)[] = [];
  child.stdout?.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    waiting.splice(0).forEach((wake) => wake());
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  return async () => {
    while (!text.includes("\n")) {
      const more = new Promise<"more">((resolve) => waiting.push(() => resolve("more")));
      if ((await Promise.race([more, ended.then(() => "ended")])) === "ended") break;
    }
    const end = text.indexOf("\n");
    if (end < 0) throw new Error(`a process of the benchmark ended early: ${text}`);
    const line = text.slice(0, end);
    text = text.slice(end + 1);
    return line;
  };
}
