/** A whole plane in this process, on a free port of loopback, and raw requests to it as a cluster admin. */
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensurePki } from "#auth/pki-files.ts";
import * as limits from "#cmd/shared/limits.ts";
import type { Host } from "#cmd/shared/host.ts";
import { type Plane, startPlane } from "#cmd/plane/plane.ts";
import type { PlaneOptions } from "#cmd/plane/options.ts";
import type { AnyObject } from "#api/object.ts";
import { type Log, silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";

export interface Answered {
  readonly status: number;
  readonly warnings: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
  readonly json: AnyObject;
}

export interface Sent {
  readonly body?: object | string;
  readonly type?: string;
  /** Instead of the admin's certificate. */
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PromisedPlane {
  readonly plane: Plane;
  readonly ask: (method: string, path: string, sent?: Sent) => Promise<Answered>;
  /** The head of a stream, which stays open until `end`. */
  open(path: string, sent: Sent): Promise<OpenStream>;
  /** Ends a watch after its first bytes. */
  watchOnce(path: string): Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface OpenStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly end: () => void;
}

type Wished = Partial<Host> & Partial<PlaneOptions> & { readonly withLoops?: true };

export async function startPromised(wished: Wished = {}): Promise<PromisedPlane> {
  const { clock, random, disk, log, withLoops, ...options } = wished;
  const host: Host = {
    clock: clock ?? new NodeClock(),
    random: random ?? new NodeRandom(),
    disk: disk ?? new NodeDisk(),
    log: log ?? silentLog,
  };
  const directory = mkdtempSync(join(tmpdir(), "pilothouse-attacks-"));
  const { serviceAddress } = limits;
  const pki =
    options.pki ?? ensurePki(directory, { ...host, extraHosts: ["127.0.0.1"], serviceAddress });
  const base = { host: "127.0.0.1", port: 0, nodes: 0 };
  const loops = withLoops === true ? {} : ({ loops: "none" } as const);
  const plane = await startPlane(host, { ...base, ...loops, ...options, pki });
  const ca = pki.authority.certificate;
  const admin = { cert: pki.admin.certificate, key: pki.admin.privateKey };
  const agents = {
    admin: new Agent({ keepAlive: true, ca, ...admin }),
    token: new Agent({ keepAlive: true, ca }),
  };
  return {
    plane,
    ask: (method, path, sent = {}) =>
      send(plane.url, sent.token === undefined ? agents.admin : agents.token, method, path, sent),
    open: (path, sent) => openStream(plane.url, agents.token, path, sent),
    watchOnce: (path) => watchOnce(plane.url, agents.admin, path),
    async stop() {
      agents.admin.destroy();
      agents.token.destroy();
      await plane.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function send(
  url: string,
  agent: Agent,
  method: string,
  path: string,
  { body, type = "application/json", token, headers: further }: Sent,
): Promise<Answered> {
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  // A DELETE has no length of its own: its body would be read as the next request.
  const length = text === undefined ? {} : { "content-length": Buffer.byteLength(text) };
  const headers = {
    ...further,
    ...(text === undefined ? {} : { "content-type": type }),
    ...length,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  return new Promise((resolve, reject) => {
    const sending = request(`${url}${path}`, { method, agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const answer = Buffer.concat(chunks).toString();
        const warnings = String(response.headers["warning"] ?? "");
        const status = response.statusCode ?? 0;
        const { headers: got } = response;
        resolve({ status, warnings, headers: got, text: answer, json: parsed(answer) });
      });
    });
    sending.on("error", reject);
    sending.end(text);
  });
}

/** Nothing of it is read. */
function openStream(
  url: string,
  agent: Agent,
  path: string,
  { token = "", headers: further }: Sent,
): Promise<OpenStream> {
  const headers = { ...further, authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const sending = request(`${url}${path}`, { agent, headers }, (response) => {
      response.on("error", () => {});
      const { statusCode: status = 0, headers: got } = response;
      resolve({ status, headers: got, end: () => void response.destroy() });
    });
    sending.on("error", reject);
    sending.end();
  });
}

function watchOnce(url: string, agent: Agent, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sending = request(`${url}${path}`, { agent }, (response) => {
      response.once("data", () => response.destroy());
      response.once("error", () => {});
      response.once("close", () => resolve());
    });
    sending.on("error", reject);
    sending.end();
  });
}

function parsed(text: string): AnyObject {
  try {
    return JSON.parse(text) as AnyObject;
  } catch {
    return {};
  }
}

export interface LoggedLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log that keeps its lines. */
export function keptLog(): { readonly log: Log; readonly lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const at =
    (level: LoggedLine["level"]) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}): void =>
      void lines.push({ level, message, fields });
  const log: Log = {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: () => log,
  };
  return { log, lines };
}
