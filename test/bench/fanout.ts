/**
 * `npm run bench -- fanout [--clients 5000] [--seconds 3]`: how many watch events a second one core
 * gives to a crowd over HTTP/1.1, held against a C program that does nothing else.
 *
 * Server and client have a core each (taskset), the client counts bytes. 16 events of 1 KB per write,
 * then one per write. Without a C compiler there is nobody to count: the benchmark says so and ends.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
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
  console.log("events per write   C epoll/s    relay/s   ratio   CPU s (relay)   RSS MB");
  for (const batch of [16, 1]) {
    const floor = await measureFloor(program, batch);
    const { perSecond, own } = await measureRelay(program, batch);
    const ratio = (perSecond / floor).toFixed(2);
    const cpu = `${own.user.toFixed(1)} + ${own.system.toFixed(1)} of ${own.seconds.toFixed(1)}`;
    const cells = [
      batch,
      Math.round(floor),
      Math.round(perSecond),
      ratio,
      cpu,
      Math.round(own.memory),
    ];
    console.log(
      cells.map((cell, at) => String(cell).padStart([16, 12, 11, 8, 18, 9][at] ?? 9)).join(""),
    );
  }
}

async function measureFloor(program: string, batch: number): Promise<number> {
  const args = ["serve", String(floorPort), String(clients), String(batch * eventBytes)];
  const server = pinned(0, program, args);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const bytes = await drained(program, floorPort);
  server.kill("SIGKILL");
  return bytes / eventBytes;
}

interface Own {
  readonly user: number;
  readonly system: number;
  readonly memory: number;
  readonly seconds: number;
}

async function measureRelay(
  program: string,
  batch: number,
): Promise<{ perSecond: number; own: Own }> {
  const script = join(here, "fanout-relay.ts");
  const args = [script, String(clients), String(batch), String(eventBytes)];
  const server = pinned(0, process.execPath, args);
  const lines = linesOf(server);
  const port = Number(await lines());
  const bytes = await drained(program, port);
  server.kill("SIGTERM");
  const own = JSON.parse(await lines()) as Own;
  return { perSecond: bytes / eventBytes, own };
}

async function drained(program: string, port: number): Promise<number> {
  const args = ["drain", String(port), String(clients), String(seconds), path];
  return Number(await linesOf(pinned(1, program, args))());
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
