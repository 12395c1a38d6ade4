/**
 * The TLS part of `npm run bench -- fanout`: a relay with a certificate made for the run on one core, the
 * counting client (fanout-tls-client.ts) on the other. CPU of both is told: it says who was the limit.
 */
import { type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeAuthority, makeServerCertificate } from "../../src/auth/pki.ts";
import { linesOf, pause, pinned } from "./pinned.ts";
import { cpuSeconds, residentBytes } from "./process-cost.ts";

export interface TlsLoad {
  readonly streams: number;
  readonly connections: number;
  /** Events per write. */
  readonly batch: number;
  readonly bytes: number;
  readonly seconds: number;
}

export interface TlsRate {
  readonly perSecond: number;
  /** Shares of a core, in the middle of the run. */
  readonly cpu: number;
  readonly clientCpu: number;
  /** MB. */
  readonly memory: number;
}

const here = dirname(fileURLToPath(import.meta.url));

export async function measureTls(directory: string, path: string, load: TlsLoad): Promise<TlsRate> {
  const { streams, connections, batch, bytes, seconds } = load;
  const server = await tlsRelay(directory, { clients: streams, batch, bytes });
  const options = { port: server.port, path, protocol: "h2", streams, connections, seconds };
  const client = pinned(1, process.execPath, clientArgs(options));
  try {
    const lines = linesOf(client);
    await lines();
    const counted = lines();
    // The middle of the client's window, which starts a second after everybody is answered.
    await pause(1_000 + (seconds * 1000) / 4);
    const [cpu = 0, clientCpu = 0] = await shares([server.child, client], (seconds * 1000) / 2);
    const memory = residentBytes(server.child.pid) / 2 ** 20;
    return { perSecond: Number(await counted) / bytes, cpu, clientCpu, memory };
  } finally {
    client.kill("SIGKILL");
    server.child.kill("SIGKILL");
  }
}

/** Bytes of resident memory per idle HTTP/1.1 watch over TLS, as it is and after a collection. */
export async function tlsIdle(
  directory: string,
  path: string,
  crowd: number,
): Promise<{ fresh: number; collected: number }> {
  // One more than will come: no event is ever made.
  const server = await tlsRelay(directory, { clients: crowd + 1 });
  const before = residentBytes(server.child.pid);
  const counts = { streams: crowd, connections: crowd, seconds: 60 };
  const options = { port: server.port, path, protocol: "http/1.1", ...counts };
  const client = pinned(1, process.execPath, clientArgs(options));
  try {
    await linesOf(client)();
    await pause(2_000);
    const fresh = (residentBytes(server.child.pid) - before) / crowd;
    server.child.kill("SIGUSR1");
    await pause(2_000);
    const collected = (residentBytes(server.child.pid) - before) / crowd;
    return { fresh, collected };
  } finally {
    client.kill("SIGKILL");
    server.child.kill("SIGKILL");
  }
}

async function tlsRelay(
  directory: string,
  options: Record<string, number>,
): Promise<{ child: ChildProcess; port: number }> {
  const { key, cert } = certificateFiles(directory);
  const script = join(here, "fanout-relay.ts");
  const args = ["--expose-gc", script, ...flags({ ...options, key, cert })];
  const child = pinned(0, process.execPath, args);
  return { child, port: Number(await linesOf(child)()) };
}

function certificateFiles(directory: string): { key: string; cert: string } {
  const now = Date.now();
  const validity = { notBeforeMs: now - 60_000, notAfterMs: now + 3_600_000 };
  const authority = makeAuthority("bench", { validity, serial: randomBytes(16) });
  const hosts = ["localhost", "127.0.0.1"];
  const options = { validity, serial: randomBytes(16) };
  const issued = makeServerCertificate(authority, "bench", hosts, options);
  const files = { key: join(directory, "key.pem"), cert: join(directory, "cert.pem") };
  writeFileSync(files.key, issued.privateKey, { mode: 0o600 });
  writeFileSync(files.cert, issued.certificate);
  return files;
}

function clientArgs(options: Record<string, string | number>): readonly string[] {
  return [join(here, "fanout-tls-client.ts"), ...flags(options)];
}

function flags(options: Record<string, string | number>): string[] {
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

async function shares(children: readonly ChildProcess[], forMs: number): Promise<number[]> {
  const before = children.map(({ pid }) => cpuSeconds(pid));
  const since = performance.now();
  await pause(forMs);
  const seconds = (performance.now() - since) / 1000;
  return children.map((child, at) => (cpuSeconds(child.pid) - (before[at] ?? 0)) / seconds);
}
