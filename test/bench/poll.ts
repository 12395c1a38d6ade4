/** `npm run bench -- poll`: what a crowd of pollers costs; see `usage`. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { get } from "node:http";
import { cpus, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { flagsOf } from "./flags.ts";
import { cpuSeconds, residentBytes } from "./process-cost.ts";
import { makeTlsFiles } from "./tls-files.ts";

const usage = `npm run bench -- poll [--parts most,every3s,rate,tls,changes] [flags]

What a crowd of pollers costs, each with a bearer token and If-None-Match.

  most      304s, as many as one core gives
  every3s   each of --clients connections every 3 s
  rate      --rate a second from them
  tls       as most, over TLS 1.3; the client is Node: see its share of the other core
  changes   a text view of 20,000 objects: CPU per change with one reader of each encoding, and the
            bytes a client gets that asks for what changed

  --clients N   connections (15000)
  --rate N      polls a second (33333)
  --seconds N   of each window (5)
  --tokens N    different bearer tokens (1000)
  --tls LIST    of tls: h1 and h2 with tokens of 1,100 bytes, h1-large-token and h2-large-token of 3,500,
                h1-certificate and h2-certificate with client certificates (all)

Server and client have a core each (taskset); the client is C, but for tls: without a C compiler it says so and ends.
`;
const flags = flagsOf(usage, {
  clients: "15000",
  rate: "33333",
  seconds: "5",
  tokens: "1000",
  tls: "h1,h1-large-token,h1-certificate,h2,h2-large-token,h2-certificate",
  parts: "most,every3s,rate,tls,changes",
});
const seconds = flags.number("seconds");
const tokens = flags.number("tokens");
const crowd = flags.number("clients");
const pollsPerSecond = flags.number("rate");
const here = dirname(fileURLToPath(import.meta.url));
const directory = mkdtempSync(join(tmpdir(), "pilothouse-poll-"));
const children = new Set<ChildProcess>();
const path = "/views/routes";
/** Connections over HTTP/1.1; a tenth over HTTP/2, each with ten polls on their way. */
const tlsConnections = 500;
const tlsLanes = 10;
/** About a service account's token, and a cloud's. */
const tokenBytes = { usual: 1_100, large: 3_500 };

try {
  const program = join(directory, "poll");
  const made = spawnSync("cc", ["-O2", "-o", program, join(here, "poll.c")], { stdio: "inherit" });
  if (made.status === 0) await main(program);
  else console.log("skipped: no C compiler (cc) to make the client");
} finally {
  for (const child of children) child.kill("SIGKILL");
  rmSync(directory, { recursive: true, force: true });
}

async function main(program: string): Promise<void> {
  console.log(`${cpus()[0]?.model ?? "?"}, bearer tokens: ${tokens}, ${seconds} s each`);
  const parts = new Set(flags.list("parts"));
  if (parts.has("most")) await polls(program, 500, 0);
  if (parts.has("every3s")) await polls(program, crowd, Math.round(crowd / 3));
  if (parts.has("rate")) await polls(program, crowd, pollsPerSecond);
  if (parts.has("tls")) for (const kind of flags.list("tls")) await tlsPolls(kind);
  if (parts.has("changes")) await changes(20_000);
}

async function polls(program: string, clients: number, rate: number): Promise<void> {
  const relay = await started({ objects: 1_000 });
  const args = [relay.port, clients, seconds, rate, tokens, path].map(String);
  // The client's window starts after one second, and two rounds of all clients, at most 5,000 a second.
  const warmMs = 1_000 + (rate > 0 ? (clients / Math.min(rate, 5_000)) * 2_000 : 0);
  const pace = rate === 0 ? "as fast as answered" : `${rate} polls/s`;
  await measured(`${clients} connections, ${pace}`, relay, pinned(1, program, args), warmMs);
}

async function tlsPolls(kind: string): Promise<void> {
  const [version = "", credential = ""] = kind.split(/-(.*)/);
  if (!["h1", "h2"].includes(version) || !["", "large-token", "certificate"].includes(credential)) {
    flags.refuse(`--tls knows no "${kind}"`);
  }
  const files = makeTlsFiles(directory);
  const ca = credential === "certificate" ? { clientCa: files.ca } : {};
  const relay = await started({ objects: 1_000, ...files.server, ...ca });
  const of = credential === "large-token" ? tokenBytes.large : tokenBytes.usual;
  const args = {
    port: relay.port,
    path,
    seconds,
    ...(version === "h2"
      ? { protocol: "h2", connections: tlsConnections / tlsLanes, lanes: tlsLanes }
      : { connections: tlsConnections }),
    ...(credential === "certificate" ? files.client : { tokens, tokenBytes: of }),
  };
  const script = join(here, "poll-tls-client.ts");
  const client = pinned(1, process.execPath, [script, ...argumentsOf(args)]);
  await measured(`over TLS, ${kind}, ${tlsConnections} pollers`, relay, client, 1_000);
}

async function measured(
  what: string,
  relay: Started,
  child: ChildProcess,
  warmMs: number,
): Promise<void> {
  const client = lines(child);
  await client();
  await pause(warmMs + seconds * 250);
  const spent = () => [relay.child, child].map(({ pid }) => cpuSeconds(pid));
  const [before, since] = [spent(), performance.now()];
  await pause(seconds * 500);
  const passed = (performance.now() - since) / 1000;
  const [share = 0, clientShare = 0] = spent().map((cpu, at) => (cpu - (before[at] ?? 0)) / passed);
  const result = JSON.parse(await client()) as Readonly<Record<string, number>>;
  const { perSecond = 0, others, skipped, p50, p99, max } = result;
  console.log(
    `${what}: ${perSecond} 304/s, ${Math.round(perSecond / share)} per CPU second, ${(share * 100).toFixed(0)} % of a core ` +
      `(client ${(clientShare * 100).toFixed(0)} %), ` +
      `p50 ${p50} ms, p99 ${p99} ms, max ${max} ms, not 304: ${others}, not sent in time: ${skipped}, ` +
      `${Math.round(residentBytes(relay.child.pid) / 2 ** 20)} MB`,
  );
  await relay.stop();
}

async function changes(objects: number): Promise<void> {
  const relay = await started({ objects });
  for (const encoding of ["identity", "gzip", "zstd"]) {
    const whole = await fetched(relay.port, path, encoding);
    let deltaBytes = 0;
    const turns = 100;
    const quiet = await cost(relay.child, turns, () => fetched(relay.port, `${path}/none`, "x"));
    const busy = await cost(relay.child, turns, async () => {
      await relay.change(1);
      await fetched(relay.port, path, encoding);
    });
    let since = Number((await fetched(relay.port, path, encoding)).headers["x-revision"]);
    for (let turn = 0; turn < 20; turn++) {
      await relay.change(1);
      const delta = await fetched(relay.port, `${path}?since=${since}`, "identity");
      since = Number(delta.headers["x-revision"]);
      deltaBytes = Math.max(deltaBytes, delta.headBytes + delta.bytes);
    }
    console.log(
      `${objects} objects, ${encoding}: ${whole.bytes} bytes, one change and one reader ${(busy * 1000).toFixed(2)} ms of CPU ` +
        `(a poll of the unchanged body ${(quiet * 1000).toFixed(2)} ms), a delta client gets ${deltaBytes} bytes at most`,
    );
  }
  await relay.stop();
}

async function cost(
  child: ChildProcess,
  turns: number,
  f: () => Promise<unknown>,
): Promise<number> {
  for (let turn = 0; turn < turns / 2; turn++) await f();
  const before = cpuSeconds(child.pid);
  for (let turn = 0; turn < turns; turn++) await f();
  return (cpuSeconds(child.pid) - before) / turns;
}

interface Started {
  readonly port: number;
  readonly child: ChildProcess;
  change(count: number): Promise<void>;
  stop(): Promise<void>;
}

async function started(options: Readonly<Record<string, string | number>>): Promise<Started> {
  const args = [join(here, "poll-relay.ts"), ...argumentsOf(options)];
  const child = pinned(0, process.execPath, args);
  const line = lines(child);
  const port = Number(await line());
  return {
    port,
    child,
    async change(count) {
      child.stdin?.write(`${count}\n`);
      await line();
    },
    stop: () =>
      new Promise((resolve) => {
        child.once("exit", () => resolve());
        child.kill("SIGTERM");
      }),
  };
}

interface Fetched {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly bytes: number;
  readonly headBytes: number;
}

function fetched(port: number, target: string, encoding: string): Promise<Fetched> {
  const headers = { authorization: "Bearer t0", "accept-encoding": encoding };
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port, path: target, headers }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => (bytes += chunk.length));
      response.on("end", () => {
        const headBytes = response.rawHeaders.reduce((sum, text) => sum + text.length + 2, 19);
        resolve({ headers: response.headers, bytes, headBytes });
      });
    }).on("error", reject);
  });
}

function argumentsOf(options: Readonly<Record<string, string | number>>): string[] {
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function pinned(core: number, program: string, args: readonly string[]): ChildProcess {
  const hasTaskset = spawnSync("taskset", ["-V"]).status === 0;
  const command = hasTaskset ? ["taskset", "-c", String(core), program] : [program];
  const [file = "", ...rest] = [...command, ...args];
  const child = spawn(file, rest, { stdio: ["pipe", "pipe", "inherit"] });
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

/** The child's next line, each time. */
function lines(child: ChildProcess): () => Promise<string> {
  if (child.stdout === null) throw new Error("the child has no output");
  const reader = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => {
    const { value, done } = await reader.next();
    if (done === true) throw new Error("a process of the benchmark ended early");
    return value;
  };
}
