/** A whole plane and a relay before it, in this process, on free ports of loopback; and raw requests to both. */
import { mkdtempSync, rmSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AnyObject } from "#api/object.ts";
import { ensurePki, type Pki } from "#auth/pki-files.ts";
import { type IssuedCertificate, makeClientCertificate } from "#auth/pki.ts";
import * as limits from "#cmd/shared/limits.ts";
import type { Host } from "#cmd/shared/host.ts";
import { type Plane, startPlane } from "#cmd/plane/plane.ts";
import type { PlaneOptions } from "#cmd/plane/options.ts";
import { Parts } from "#cmd/shared/parts.ts";
import { openListener, openRelay } from "#cmd/relay/make.ts";
import { upstreamOf } from "#cmd/relay/upstream.ts";
import { listenXds } from "#cmd/relay/xds-listen.ts";
import type { EtcdListening } from "#etcd/server.ts";
import { silentLog } from "#platform/log.ts";
import type { Clock } from "#platform/clock.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { httpLimits, listen, type Listening } from "#platform/node/http/http.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { keptAudit, type KeptEvent } from "#server/audit/testing/kept-audit.ts";
import { metadataPolicy } from "#server/audit/policy.ts";
import type { Audit } from "#server/audit/trail.ts";
import { MetricSet } from "#metrics/metric-set.ts";

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly json: AnyObject;
}

export interface Sent {
  /** Values as Node takes them: a character a byte. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: object;
  readonly as?: IssuedCertificate;
}

type Door = "plane" | "relay";

export class RelayedPlane {
  readonly planeLines: Lines;
  readonly relayLines: Lines;
  readonly pki: Pki;
  /** The relay's. */
  readonly metrics: MetricSet;
  readonly #directory: string;
  readonly #plane: Plane;
  readonly #parts: Parts;
  readonly #listening: Listening;
  readonly #xdsListening: EtcdListening | undefined;

  static async start(
    options: Partial<PlaneOptions> = {},
    mirrored = "nodes,configmaps",
    xds: "served" | "not served" = "not served",
    /** Of the relay's fairness; 0: there is none. */
    maxRequestsInflight = 0,
  ): Promise<RelayedPlane> {
    const directory = mkdtempSync(join(tmpdir(), "pilothouse-attacks-"));
    const host: Host = {
      clock: new NodeClock(),
      random: new NodeRandom(),
      disk: new NodeDisk(),
      log: silentLog,
    };
    const { serviceAddress } = limits;
    const pki = ensurePki(directory, { ...host, extraHosts: ["127.0.0.1"], serviceAddress });
    const planeLines = new Lines();
    const base = { host: "127.0.0.1", port: 0, nodes: 0, loops: "none" } as const;
    // The hard case for a relay: an upstream that refuses anonymous requests whatever rights they have.
    const anonymousPaths = ["/healthz", "/livez", "/readyz", "/version"];
    const more = { anonymousPaths, audit: planeLines.audit, ...options };
    const parts = new Parts();
    const plane = await startPlane(host, { ...base, pki, ...more }, parts.nest("plane"));
    const relayLines = new Lines();
    const metrics = new MetricSet();
    const access = {
      server: plane.url,
      ca: pki.authority.certificate,
      certificate: pki.admin.certificate,
      key: pki.admin.privateKey,
    };
    const connect = (clock: Clock) => upstreamOf(access, clock);
    const withXds = xds === "served" ? { xdsListen: "127.0.0.1:0" } : {};
    const common = { resources: mirrored, reads: "cache", logLevel: "silent" } as const;
    const flags = { ...common, ...withXds, maxRequestsInflight };
    const ends = new AbortController();
    const audited = { clock: host.clock, metrics, audit: relayLines.audit };
    const made = await openRelay(flags, connect, audited, parts, ends.signal);
    if (made === undefined) throw new Error("nobody stopped the relay");
    const keys = {
      cert: pki.server.certificate,
      key: pki.server.privateKey,
      clientCa: pki.authority.certificate,
    };
    const at = { host: "127.0.0.1", port: 0, limits: httpLimits, ownHttp1: true };
    const start = () => listen({ ...at, ...keys }, made.running.handler, silentLog);
    const listening = await openListener(made, 0, start, parts);
    await made.running.untilReady(ends.signal);
    const { xds: face } = made.running;
    const { clock } = host;
    const xdsListening =
      face &&
      (await parts.open(
        "xds-listener",
        () => listenXds({ clock, log: silentLog, face }, { host: "127.0.0.1", port: 0 }, keys),
        { close: (listener) => listener.close() },
      ));
    return new RelayedPlane({
      parts,
      xdsListening,
      directory,
      pki,
      plane,
      metrics,
      listening,
      planeLines,
      relayLines,
    });
  }

  private constructor(parts: {
    directory: string;
    pki: Pki;
    plane: Plane;
    parts: Parts;
    metrics: MetricSet;
    listening: Listening;
    xdsListening: EtcdListening | undefined;
    planeLines: Lines;
    relayLines: Lines;
  }) {
    this.#xdsListening = parts.xdsListening;
    this.#directory = parts.directory;
    this.#plane = parts.plane;
    this.#parts = parts.parts;
    this.#listening = parts.listening;
    this.pki = parts.pki;
    this.metrics = parts.metrics;
    this.planeLines = parts.planeLines;
    this.relayLines = parts.relayLines;
  }

  certificate(commonName: string, organizations: readonly string[] = []): IssuedCertificate {
    const nowMs = new NodeClock().nowMs();
    const validity = { notBeforeMs: nowMs - 60_000, notAfterMs: nowMs + 3_600_000 };
    const serial = new Uint8Array(16).fill(commonName.length + 1);
    return makeClientCertificate(
      this.pki.authority,
      { commonName, organizations },
      { validity, serial },
    );
  }

  get admin(): IssuedCertificate {
    return this.pki.admin;
  }

  url(door: Door): string {
    return door === "plane" ? this.#plane.url : `https://127.0.0.1:${this.#listening.address.port}`;
  }

  ask(door: Door, method: string, path: string, sent: Sent = {}): Promise<Answered> {
    // Bytes: with a text as body Node encodes the head as UTF-8, too.
    const body = sent.body === undefined ? undefined : Buffer.from(JSON.stringify(sent.body));
    const { hostname: host, port } = new URL(this.url(door));
    // Not as a URL, which would encode the path.
    const options = {
      host,
      port,
      path,
      method,
      agent: false as const,
      ca: this.pki.authority.certificate,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...sent.headers,
      },
      ...(sent.as === undefined ? {} : { cert: sent.as.certificate, key: sent.as.privateKey }),
    };
    return new Promise((resolve, reject) => {
      const call = request(options, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const { statusCode: status = 0, headers } = response;
          resolve(answered(status, headers, Buffer.concat(chunks).toString()));
        });
      });
      call.on("error", reject);
      call.end(body);
    });
  }

  /** The same over HTTP/2. */
  ask2(door: Door, method: string, path: string, sent: Sent = {}): Promise<Answered> {
    const session: ClientHttp2Session = connect(this.url(door), {
      ca: this.pki.authority.certificate,
      ...(sent.as === undefined ? {} : { cert: sent.as.certificate, key: sent.as.privateKey }),
    });
    return new Promise<Answered>((resolve, reject) => {
      session.on("error", reject);
      const json = sent.body === undefined ? {} : { "content-type": "application/json" };
      const head = { ":method": method, ":path": path, ...json, ...sent.headers };
      const stream = session.request(head);
      let status = 0;
      let headers: Record<string, unknown> = {};
      const chunks: Buffer[] = [];
      stream.on("response", (got) => {
        status = Number(got[":status"]);
        headers = { ...got };
      });
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("error", reject);
      stream.on("end", () => resolve(answered(status, headers, Buffer.concat(chunks).toString())));
      stream.end(sent.body === undefined ? undefined : JSON.stringify(sent.body));
    }).finally(() => session.close());
  }

  /** The same GET of the relay several times on one connection, each after the answer to the last. */
  async repeated(
    path: string,
    headers: Readonly<Record<string, string>>,
    as: IssuedCertificate,
    times: number,
  ): Promise<void> {
    const { certificate: cert, privateKey: key } = as;
    const agent = new Agent({
      keepAlive: true,
      maxSockets: 1,
      ca: this.pki.authority.certificate,
      cert,
      key,
    });
    for (let turn = 0; turn < times; turn++) {
      await new Promise<void>((resolve, reject) => {
        const call = request(`${this.url("relay")}${path}`, { agent, headers }, (response) => {
          response.on("end", resolve).on("error", reject).resume();
        });
        call.on("error", reject).end();
      });
    }
    agent.destroy();
  }

  /** Where the relay serves discovery. */
  get xdsAddress(): string {
    return `127.0.0.1:${this.#xdsListening?.port}`;
  }

  async stop(): Promise<void> {
    await this.#parts[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** Events kept, and who waits for the next. */
class Lines extends Array<KeptEvent> {
  /** What is made of it is a plain list. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  #waiting: ((event: KeptEvent) => void)[] = [];

  get audit(): Audit {
    return keptAudit(metadataPolicy, (event) => {
      this.push(event);
      for (const resolve of this.#waiting.splice(0)) resolve(event);
    }).audit;
  }

  next(): Promise<KeptEvent> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

function answered(
  status: number,
  headers: Readonly<Record<string, unknown>>,
  text: string,
): Answered {
  const json = (text.startsWith("{") && !text.includes("\n{") ? JSON.parse(text) : {}) as AnyObject;
  return { status, headers, text, json };
}
