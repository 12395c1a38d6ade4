/**
 * The host's transport to TLS servers that objects name, over HTTP/2 where the server speaks it (ALPN), as
 * client-go: one connection carries many requests. Who speaks HTTP/1.1 only, and what is no plain request
 * over TLS (upgrades, bodies in pieces, the clear), goes the way of http-hosts.ts.
 *
 * Holds  the server proves the same identity as in http-hosts.ts; a connection is opened with the credentials
 *        of that moment, so they may not change.
 * Limits `connectMs` until TCP and TLS stand; `originsMax` servers are known, the one that was known longest
 *        is forgotten; `connectionsMax` connections to one server, then its bound on streams makes requests
 *        wait; idle ones end after 30 s. What a server speaks is asked again after `http1Ms`.
 */
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { type ByteRequest, type ByteResponse, ByteTransportError } from "../../byte-transport.ts";
import type { Host, HostsTransport } from "../../byte-transport.ts";
import { abortedError, failedError, freeSocketMs, timedOutError } from "./http-client.ts";
import { dialOptions, type HostsOptions, hostsTransport, identityOf, tlsOf } from "./http-hosts.ts";
import { Http2Client, windowBytes } from "./http2-client.ts";

const originsMax = 256;
const connectionsMax = 8;
const http1Ms = 600_000;

/** As `hostsTransport`, with HTTP/2. */
export function http2HostsTransport(options: HostsOptions): HostsTransport {
  const http1 = hostsTransport(options);
  const origins = new Map<string, Origin>();
  const originOf = (host: Host): Origin => {
    const key = JSON.stringify([host.name, host.address, host.port]);
    const known = origins.get(key);
    if (known !== undefined) return known;
    if (origins.size >= originsMax) forgetOldest(origins);
    const made = new Origin(host, options);
    origins.set(key, made);
    return made;
  };
  return {
    async send(host, request) {
      const isPlain = request.upgrade === undefined && request.bodyStream === undefined;
      if (!isPlain || host.scheme === "http") return http1.send(host, request);
      return (await originOf(host).send(request)) ?? http1.send(host, request);
    },
    resolve: (name) => http1.resolve(name),
    close() {
      http1.close();
      for (const origin of origins.values()) origin.close();
      origins.clear();
    },
  };
}

function forgetOldest(origins: Map<string, Origin>): void {
  const [oldest] = origins;
  if (oldest === undefined) return;
  origins.delete(oldest[0]);
  oldest[1].close();
}

/** The connections to one server. */
class Origin {
  readonly #host: Host;
  readonly #options: HostsOptions;
  #clients: Http2Client[] = [];
  #opening: Promise<void> | undefined;
  /** Time until which the server is taken to speak HTTP/1.1 only. */
  #http1UntilMs = 0;

  constructor(host: Host, options: HostsOptions) {
    this.#host = host;
    this.#options = options;
  }

  /** @returns undefined when the server speaks HTTP/1.1 only. */
  async send(request: ByteRequest): Promise<ByteResponse | undefined> {
    for (let opens = 0; performance.now() >= this.#http1UntilMs; opens++) {
      const client = this.#spare();
      if (client !== undefined) return client.send(this.#host, request);
      // Stops the attempts at a server that ends each connection at once.
      if (opens > connectionsMax) throw brokenError();
      await unlessAborted(this.#open(), request.signal);
    }
    return undefined;
  }

  close(): void {
    for (const client of this.#clients) client.retire();
  }

  #spare(): Http2Client | undefined {
    this.#clients = this.#clients.filter(({ isRetired }) => !isRetired);
    const [first] = this.#clients;
    const spare = this.#clients.find((client) => client.spare > 0);
    return spare ?? (this.#clients.length < connectionsMax ? undefined : first);
  }

  /** Opens one connection at a time; all waiting requests share it. */
  #open(): Promise<void> {
    this.#opening ??= this.#connect().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  async #connect(): Promise<void> {
    const socket = await connected(this.#host, this.#options);
    if (socket.alpnProtocol !== "h2") {
      socket.destroy();
      this.#http1UntilMs = performance.now() + http1Ms;
      return;
    }
    const session = connectHttp2(`https://${this.#host.name}`, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: windowBytes },
    });
    session.once("connect", () => session.setLocalWindowSize(4 * windowBytes));
    const client = new Http2Client(session, freeSocketMs);
    await settled(session, this.#options.limits.connectMs);
    this.#clients.push(client);
  }
}

function brokenError(): ByteTransportError {
  return new ByteTransportError("no connection stayed open", "ECONNRESET");
}

/**
 * Its first frame says how many streams it takes; more would be refused.
 * @throws ByteTransportError
 */
function settled(session: ClientHttp2Session, connectMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      session.destroy(timedOutError("no settings", connectMs));
    }, connectMs);
    let failure: Error = brokenError();
    session.once("remoteSettings", () => resolve());
    session.once("remoteSettings", () => clearTimeout(late));
    session.once("error", (error) => (failure = error));
    session.once("close", () => {
      clearTimeout(late);
      reject(failedError(failure, false));
    });
  });
}

/** Stops waiting when `signal` aborts, without ending the connection, for which other requests wait too. */
async function unlessAborted<T>(waited: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw abortedError();
  let abort = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(abortedError());
    signal.addEventListener("abort", abort, { once: true });
  });
  try {
    return await Promise.race([waited, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** @throws ByteTransportError */
function connected(host: Host, options: HostsOptions): Promise<TLSSocket> {
  const { credentials, limits, refuses } = options;
  const { name, address = name } = host;
  return new Promise((resolve, reject) => {
    const ALPNProtocols = ["h2", "http/1.1"];
    const tls = { ...tlsOf(credentials?.() ?? {}), ...identityOf(name, address), ALPNProtocols };
    const socket = connectTls({ ...dialOptions(host, refuses), ...tls });
    const { connectMs } = limits;
    const late = setTimeout(() => {
      socket.destroy(timedOutError("no connection", connectMs));
    }, connectMs);
    const fail = (error: Error): void => {
      clearTimeout(late);
      reject(failedError(error, false));
    };
    socket.once("error", fail);
    socket.once("secureConnect", () => {
      clearTimeout(late);
      socket.off("error", fail).setNoDelay(true).setKeepAlive(true, freeSocketMs);
      resolve(socket);
    });
  });
}
