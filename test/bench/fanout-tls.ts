/**
 * The TLS part of `npm run bench -- fanout`: a relay with a certificate made for the run on one core, the
 * counting client (fanout-tls-client.ts) on the other. The CPU of both shows which was the limit.
 */
import { type ChildProcess } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { given } from "#base/given.ts";
import { linesOf, pause, pinned } from "./pinned.ts";
import { cpuSeconds, residentBytes } from "./process-cost.ts";
import { makeTlsFiles, type TlsFiles } from "./tls-files.ts";

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
  const server = await tlsRelay(makeTlsFiles(directory), { clients: streams, batch, bytes });
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

export interface IdleCost {
  /** Bytes of resident memory per watch, as it is and after a collection. */
  readonly fresh: number;
  readonly collected: number;
}

export interface IdleCrowd {
  readonly streams: number;
  /** Watches a connection, over HTTP/2; absent: one, over HTTP/1.1. */
  readonly each?: number;
  /** Of key exchange; absent: OpenSSL's choice. */
  readonly curves?: string;
  /** Length of the bearer tokens, of which each connection has one of its own; absent: none. */
  readonly tokenBytes?: number;
  /** The relay asks for client certificates, and all have the same one. */
  readonly byCertificate?: boolean;
}

/** Idle watches over TLS at a relay. */
export async function tlsIdle(
  directory: string,
  path: string,
  { streams, each, curves, tokenBytes, byCertificate = false }: IdleCrowd,
): Promise<IdleCost> {
  const files = makeTlsFiles(directory);
  // One more than will come: no event is ever made.
  const relayOptions = {
    clients: streams + 1,
    ...given({ curves }),
    ...(byCertificate ? { clientCa: files.ca } : {}),
  };
  const protocol = each === undefined ? "http/1.1" : "h2";
  const server = await tlsRelay(files, relayOptions);
  return idleCost(server, {
    path,
    protocol,
    streams,
    connections: streams / (each ?? 1),
    ...given({ tokenBytes }),
    ...(byCertificate ? files.client : {}),
  });
}

/** What a socket of node:tls takes that does nothing else. */
export async function tlsFloor(directory: string, path: string, crowd: number): Promise<IdleCost> {
  const { key, cert } = makeTlsFiles(directory).server;
  const script = join(here, "tls-floor.ts");
  const child = pinned(0, process.execPath, ["--expose-gc", script, key, cert]);
  const server = { child, port: Number(await linesOf(child)()) };
  return idleCost(server, { path, protocol: "http/1.1", streams: crowd, connections: crowd });
}

async function idleCost(
  server: { readonly child: ChildProcess; readonly port: number },
  load: Readonly<Record<string, string | number>> & { readonly streams: number },
): Promise<IdleCost> {
  const before = residentBytes(server.child.pid);
  const each = (): number => (residentBytes(server.child.pid) - before) / load.streams;
  const client = pinned(
    1,
    process.execPath,
    clientArgs({ port: server.port, seconds: 60, ...load }),
  );
  try {
    await linesOf(client)();
    await pause(2_000);
    const fresh = each();
    server.child.kill("SIGUSR1");
    await pause(2_000);
    return { fresh, collected: each() };
  } finally {
    client.kill("SIGKILL");
    server.child.kill("SIGKILL");
  }
}

async function tlsRelay(
  { server }: TlsFiles,
  options: Record<string, string | number>,
): Promise<{ child: ChildProcess; port: number }> {
  const script = join(here, "fanout-relay.ts");
  const args = ["--expose-gc", script, ...flags({ ...options, ...server })];
  const child = pinned(0, process.execPath, args);
  return { child, port: Number(await linesOf(child)()) };
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
