/**
 * One port for the API: HTTP/2 and HTTP/1.1 over TLS (or HTTP/1.1 in the clear on loopback), client
 * certificates asked for, verified against `clientCa`, and handed on only when they verify.
 *
 * In     sockets.                 Out  PlainRequest -> handler -> PlainResponse.
 * Limits `HttpLimits`; past them a connection is refused (count), cut (slow head, idle) or answered
 *        431 (head size; http1-refusal.ts, http2.ts); an answer that is not taken is cut (answer-progress.ts). Body limits are the handler's argument to `body.read`.
 * Close  stop accepting; end streams; let short requests finish; destroy what is left at the deadline.
 * Upgrades (WebSocket, SPDY) become raw tunnels where the handler answers with one (`http1-upgrade.ts`).
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { given } from "#base/given.ts";
import {
  createSecureServer,
  type SecureServerOptions,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import {
  type AddressInfo,
  createServer as createNetServer,
  type Server as NetServer,
  type Socket,
} from "node:net";
import type { TLSSocket } from "node:tls";
import type { Peer, PlainHandler, TakeRefused } from "../../http.ts";
import { NodeClock } from "../clock.ts";
import { AnswerProgress, type StallLimits } from "./answer-progress.ts";
import type { Ledger } from "../../ledger.ts";
import type { Log } from "../../log.ts";
import { serveHttp1 } from "./http1.ts";
import { type Http1Front, serveConnection } from "./http1-connection.ts";
import { refuseBroken, refuseConnect } from "./http1-refusal.ts";
import { mayUpgrade, serveUpgrade } from "./http1-upgrade.ts";
import { headBytes, serveHttp2 } from "./http2.ts";
import { addressCaller, Rim } from "./http-rim.ts";
import { createServer } from "./node-http.ts";
import { OpenSockets } from "./open-sockets.ts";
import { noticeHeads, processReading } from "./process-turns.ts";
import { takeAnyAnchor } from "../trust.ts";
import { awaitHello } from "./tls-hello.ts";
import { TlsTrust, type TrustedAuthorities } from "./tls-trust.ts";
import { addNamedPairs, secureOptions, type TlsSettings } from "./tls-settings.ts";

interface HttpLimits extends StallLimits {
  readonly connectionsMax: number;
  /** Maximum number of open streams of one HTTP/2 connection; a client with more opens further connections. */
  readonly streamsPerConnectionMax: number;
  readonly headBytesMax: number;
  /** Time limits for the head, and for head and body together, to arrive. */
  readonly headMs: number;
  readonly requestMs: number;
  readonly idleMs: number;
}

/** Limits of a server without special needs. */
export const httpLimits: HttpLimits = {
  connectionsMax: 20_000,
  // The value of a stock API server without --http2-max-streams-per-connection.
  streamsPerConnectionMax: 100,
  headBytesMax: 64 * 1024,
  headMs: 10_000,
  requestMs: 60_000,
  idleMs: 180_000,
  // A client slower than 9 KB/s is cut. A stream (a pager that a user reads) may pause for as long as a watch lasts.
  stallMs: 30_000,
  streamStallMs: 1_800_000,
};

/** Connections that wait for accept, when many clients reconnect at once. With Node's 511, SYNs are repeated. */
const backlogMax = 4_096;

interface ListenOptions extends TrustedAuthorities {
  readonly host: string;
  /** Port to listen on; 0: any free port. */
  readonly port: number;
  /** Path of a socket in the file system, instead of host and port; its folder's mode controls access. */
  readonly socketPath?: string;
  /** PEM. Both absent: HTTP/1.1 without TLS and client certificates. */
  readonly key?: string;
  readonly cert?: string;
  /** Absent: TLS 1.2 and newer, OpenSSL's choice of suites and key exchange mechanisms, and one certificate. */
  readonly tls?: TlsSettings;
  /** Share of the HTTP/2 requests after which the client is asked to connect anew. Absent: 0. */
  readonly goawayChance?: number;
  /** Whether other processes of this program listen on the same port; the kernel spreads the connections. */
  readonly sharesPort?: boolean;
  readonly limits: HttpLimits;
  /**
   * Serves plain GETs, polls and watches over HTTP/1.1 without node:http (http1-connection.ts): for a
   * crowd of readers. Absent: node:http serves all of HTTP/1.1 (ADR 0019).
   */
  readonly ownHttp1?: boolean;
  /** Called for each TLS handshake that fails. Absent: failures are not counted. */
  readonly onHandshakeFailed?: () => void;
  /** Takes requests that never reach the handler, because their heads could not be read. */
  readonly refused?: TakeRefused;
  /** Account of memory: connections are charged to it, and while it is tight, answers without progress are cut sooner. */
  readonly ledger?: Pick<Ledger, "open" | "isTight">;
}

export interface Listening {
  readonly address: { readonly host: string; readonly port: number };
  /** Resolves when the last connection is closed, at the latest after `deadlineMs`. Idempotent. */
  close(deadlineMs: number): Promise<void>;
  /** Changes the certificate and the authorities of a TLS listener. Throws for PEM that cannot be used; nothing changes then. */
  renew(identity: ListenIdentity): void;
}

type AnyServer = Server | Http2SecureServer;

export async function listen(
  options: ListenOptions,
  handler: PlainHandler,
  log: Log,
): Promise<Listening> {
  const { limits, refused, ledger } = options;
  const progress = new AnswerProgress(new NodeClock(), limits, () => ledger?.isTight ?? false);
  const more = given({ refused });
  const rim = new Rim({ handler, log, progress, ...more }, limits);
  const hold = ledger === undefined ? undefined : (caller: string) => ledger.open(caller);
  const sockets = new OpenSockets(log, { isSecure: options.key !== undefined, hold });
  const server =
    options.key === undefined
      ? clearServer(options, rim, sockets)
      : secureServer(options, rim, sockets);
  server.prependListener("connection", (socket: Socket) => {
    socket.setNoDelay(true);
    sockets.add(socket);
  });
  server.maxConnections = options.limits.connectionsMax;
  await bind(server, options);
  server.on("error", (error) => log.error("listener failed", { error: String(error) }));
  const bound = server.address() as AddressInfo | string; // it listens: never null here
  let closing: Promise<void> | undefined;
  return {
    address: addressOf(bound),
    close: (deadlineMs) => (closing ??= shut(server, rim, sockets, deadlineMs)),
    renew: (identity) => renewIdentity(server, options, identity),
  };
}

function addressOf(bound: AddressInfo | string): Listening["address"] {
  if (typeof bound === "string") return { host: bound, port: 0 };
  return { host: bound.address, port: bound.port };
}

/** Whether several processes may listen on one port here (SO_REUSEPORT with spreading). */
export const canSharePort = ["linux", "freebsd", "dragonfly", "sunos", "aix"].includes(
  process.platform,
);

/** @returns the address with a free port; rejects when the requested port is taken. */
export async function freePort(at: BindOptions): Promise<Listening["address"]> {
  const server = createNetServer();
  await bind(server, at);
  const bound = addressOf(server.address() as AddressInfo); // it listens: never null here
  await new Promise((resolve) => server.close(resolve));
  return bound;
}

type BindOptions = Pick<ListenOptions, "host" | "port" | "socketPath" | "sharesPort">;

function bind(server: AnyServer | NetServer, options: BindOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      reject(new Error(bindText(error, options), { cause: error }));
    };
    server.once("error", onError);
    const { host, port, socketPath, sharesPort = false } = options;
    const at =
      socketPath === undefined ? { host, port, reusePort: sharesPort } : { path: socketPath };
    server.listen({ ...at, backlog: backlogMax }, () => {
      server.off("error", onError);
      resolve();
    });
  });
}

function bindText(error: NodeJS.ErrnoException, options: BindOptions): string {
  const where = `${options.host}:${options.port}`;
  switch (error.code ?? "") {
    case "EADDRINUSE":
      return `port ${options.port} on ${options.host} is already in use: stop the other process or choose another port`;
    case "EACCES":
      return `not allowed to listen on ${where}: ports below 1024 need privileges; choose a higher port`;
    case "EADDRNOTAVAIL":
      return `cannot listen on ${where}: the address does not belong to this machine`;
    default:
      return `cannot listen on ${where}: ${error.message}`;
  }
}

function http1Options(limits: HttpLimits): object {
  return {
    maxHeaderSize: limits.headBytesMax,
    headersTimeout: limits.headMs,
    // Interval of the search for late heads; with Node's 30 s a silent connection would stay four times as long.
    connectionsCheckingInterval: limits.headMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    noDelay: true,
    // The refusal is sent by http1-refusal.ts, with a text.
    requireHostHeader: false,
  };
}

/** Refuses requests that node:http would answer without a text, or cut; for either kind of server. */
function refuseUnread(server: AnyServer, rim: Rim): void {
  // By bytes alone: beyond a count Node drops headers, and credentials among them.
  // node:http reads it off either kind of server; the type of one does not say so.
  (server as Server).maxHeadersCount = 0;
  // A TLS server ignores this as an option (26.10): each upgrade would be offered, even with a body.
  Object.assign(server, { shouldUpgradeCallback: mayUpgrade });
  server.on("clientError", (error: Error, socket: Socket) => refuseBroken(rim, error, socket));
  server.on("connect", ((message: IncomingMessage, socket: Socket) =>
    refuseConnect(rim, message, socket)) as never);
}

function clearServer(options: ListenOptions, rim: Rim, sockets: OpenSockets): Server {
  const server = createServer(http1Options(options.limits));
  refuseUnread(server, rim);
  const peerOf = (socket: Socket): Peer => ({
    kind: "socket",
    address: socket.remoteAddress ?? "",
    ...connectionOf(sockets, socket),
  });
  server.on("request", (message, response) => {
    void serveHttp1(rim, peerOf(message.socket), message, response).catch(fault(rim));
  });
  server.on("upgrade", (message, socket, head) => {
    void serveUpgrade(rim, peerOf(message.socket), message, socket, head).catch(fault(rim));
  });
  if (options.ownHttp1 === true) {
    inFront(server, "connection", { rim, peerOf, ...options.limits }, () => true);
  }
  return server;
}

/** Serves connections itself until the first request that is not a plain read; node:http takes over from there. */
function inFront(
  server: AnyServer,
  event: "connection" | "secureConnection",
  front: Omit<Http1Front, "giveOn">,
  isHttp1: (socket: Socket) => boolean,
): void {
  const giveOn = listenersTaken(server, event);
  const shared = { ...front, giveOn };
  server.on(event, (socket: Socket) => {
    if (isHttp1(socket)) serveConnection(shared, socket);
    else giveOn(socket);
  });
}

/** Takes Node's own listeners for connections off the server. @returns a function that calls them. */
function listenersTaken(server: AnyServer, event: string): (socket: Socket) => void {
  const taken = server.listeners(event) as ((socket: Socket) => void)[];
  server.removeAllListeners(event);
  return (socket) => {
    for (const listener of taken) listener.call(server, socket);
  };
}

function connectionOf(sockets: OpenSockets, socket: Socket): Pick<SocketPeer, "connection"> {
  const connection = sockets.accountOf(socket);
  return given({ connection });
}

function serverOptions(options: ListenOptions): SecureServerOptions {
  return {
    ...http1Options(options.limits),
    allowHTTP1: true,
    ...secureContextOf(options),
    requestCert: TlsTrust.listOf(options).length > 0,
    rejectUnauthorized: false,
    handshakeTimeout: options.limits.headMs,
    // MB of session state (heads and unsent data) before Node refuses streams.
    maxSessionMemory: 128,
    // Requests that a client may cancel at once and per second; beyond it Node sends GOAWAY.
    streamResetBurst: options.limits.streamsPerConnectionMax,
    streamResetRate: options.limits.streamsPerConnectionMax,
    settings: {
      maxConcurrentStreams: options.limits.streamsPerConnectionMax,
      // A head up to this size is read to be answered 431 (http2.ts); for a larger one Node resets the stream.
      maxHeaderListSize: 2 * options.limits.headBytesMax,
      initialWindowSize: 256 * 1024,
    },
    // Heads are limited by bytes alone; by default Node would reset streams with 128 headers.
    maxHeaderListPairs: options.limits.headBytesMax / 16,
  };
}

function secureServer(options: ListenOptions, rim: Rim, sockets: OpenSockets): Http2SecureServer {
  noticeHeads();
  const trust = new TlsTrust(options);
  const server = createSecureServer(serverOptions(options));
  takeAnyAnchor(server);
  addNamedPairs(server, options.tls?.named ?? [], secureContextOf(options));
  refuseUnread(server, rim);
  const peers: Peers = { known: new WeakMap(), sockets, trust };
  trusts.set(server, trust);
  const { goawayChance = 0 } = options;
  // HTTP/2 streams are taken below, so requests here are always parsed by node:http.
  server.on("request", ((message: IncomingMessage, response: ServerResponse) => {
    const socket = message.socket as TLSSocket;
    void serveHttp1(rim, peerOf(peers, socket, socket), message, response).catch(fault(rim));
  }) as never);
  server.on("upgrade", ((message: IncomingMessage, socket: TLSSocket, head: Buffer) => {
    const peer = peerOf(peers, socket, socket);
    void serveUpgrade(rim, peer, message, socket, head).catch(fault(rim));
  }) as never);
  // The listener Node adds for "request" would wrap HTTP/2 streams in its compatibility layer.
  server.removeAllListeners("stream");
  server.on("stream", (stream: ServerHttp2Stream, headers, _flags, rawHeaders) => {
    const session = stream.session as ServerHttp2Session | undefined; // a server's
    if (session === undefined || session.destroyed) return void stream.destroy();
    processReading.head();
    const isTooLarge = headBytes(rawHeaders) > rim.headBytesMax;
    if (isTooLarge && !processReading.mayAnswerTooLarge(session)) return;
    countStream(session, stream);
    const peer = peerOf(peers, session, session.socket as TLSSocket);
    void serveHttp2(rim, peer, stream, headers, rawHeaders).catch(fault(rim));
    // Open streams go on; the client sends its next request over a new connection.
    if (goawayChance > 0 && Math.random() < goawayChance) session.close();
  });
  const front = { rim, peerOf: (socket: Socket) => peerOf(peers, socket, socket as TLSSocket) };
  const isHttp1 = (socket: Socket): boolean => (socket as TLSSocket).alpnProtocol !== "h2";
  if (options.ownHttp1 === true) {
    inFront(server, "secureConnection", { ...front, ...options.limits }, isHttp1);
  }
  // Must run before any listener that reads from the connection.
  server.prependListener("secureConnection", forgetVerification);
  server.prependListener("secureConnection", (socket) => sockets.noteCertificate(socket));
  const behind = listenersTaken(server, "connection");
  server.on("connection", (socket: Socket) =>
    awaitHello(socket, options.limits.headMs, (hello) => void handshakeInTurn(rim, hello, behind)),
  );
  server.on("session", (session: ServerHttp2Session) => guardSession(session, options.limits));
  server.on("tlsClientError", (error) => {
    options.onHandshakeFailed?.();
    rim.log.debug("tls handshake failed", { error: String(error) });
  });
  return server;
}

/** Handshakes take turns: each takes a millisecond, and a thousand at once must not delay other requests. */
async function handshakeInTurn(
  rim: Rim,
  socket: Socket,
  secure: (socket: Socket) => void,
): Promise<void> {
  const turn = rim.turns.enter(socket, addressCaller(socket.remoteAddress ?? ""));
  if (turn !== undefined) await turn;
  if (!socket.destroyed) secure(socket);
}

/**
 * OpenSSL leaves the error of a client certificate with a wrong signature in its queue, where Node finds it
 * when the read that ended the handshake returns, and takes it for one of the connection (26.10). That
 * certificate is answered 401 in the handler; reading it empties the queue.
 */
function forgetVerification(socket: TLSSocket): void {
  if (socket.authorizationError === undefined || socket.authorizationError === null) return;
  socket.getPeerCertificate();
}

function guardSession(session: ServerHttp2Session, limits: HttpLimits): void {
  processReading.add(session);
  session.on("error", () => session.destroy());
  // A connection is idle when it has no stream at all: a quiet watch keeps its connection.
  session.setTimeout(limits.idleMs, () => {
    if ((streamCounts.get(session) ?? 0) === 0) session.close();
  });
}

/** Number of open streams per session. */
const streamCounts = new WeakMap<object, number>();

function countStream(session: object, stream: ServerHttp2Stream): void {
  streamCounts.set(session, (streamCounts.get(session) ?? 0) + 1);
  stream.once("close", () => streamCounts.set(session, (streamCounts.get(session) ?? 1) - 1));
}

type SocketPeer = Extract<Peer, { kind: "socket" }>;
/** A socket, or the HTTP/2 session on it. */
interface Connection {
  destroy(): void;
}

interface Peers {
  /** Known peers by socket or session, with the generation of the authorities that verified them. */
  readonly known: WeakMap<object, { readonly peer: Peer; readonly generation: number }>;
  readonly sockets: OpenSockets;
  readonly trust: TlsTrust;
}

/** The certificate and authorities of a listener: the settings that can be renewed. */
export interface ListenIdentity extends TrustedAuthorities {
  readonly key: string;
  readonly cert: string;
}

const trusts = new WeakMap<object, TlsTrust>();

function secureContextOf(options: ListenOptions) {
  const trusted = TlsTrust.listOf(options);
  return {
    key: options.key ?? "",
    cert: options.cert ?? "",
    ...(trusted.length === 0 ? {} : { ca: [...trusted] }),
    ...secureOptions(options.tls),
  };
}

/** Shows the new certificate to new connections, and cuts open ones whose authority is not trusted any more. */
function renewIdentity(server: AnyServer, options: ListenOptions, identity: ListenIdentity): void {
  const trust = trusts.get(server);
  if (trust === undefined || !("setSecureContext" in server)) return;
  server.setSecureContext(secureContextOf({ ...options, ...identity }));
  takeAnyAnchor(server);
  trust.renew(identity);
}

/** Returns the peer, determined once per connection and again when the authorities have changed. */
function peerOf({ known, sockets, trust }: Peers, key: Connection, socket: TLSSocket): Peer {
  const seen = known.get(key);
  const { generation } = trust;
  if (seen?.generation === generation) return seen.peer;
  const address = socket.remoteAddress ?? "";
  const common = { kind: "socket", address, ...connectionOf(sockets, socket) } as const;
  const peer: Peer = { ...common, ...trust.judge(socket, key) };
  known.set(key, { peer, generation });
  return peer;
}

function fault(rim: Rim): (error: unknown) => void {
  return (error) => rim.log.error("answer failed", { error: String(error) });
}

async function shut(
  server: AnyServer,
  rim: Rim,
  sockets: OpenSockets,
  deadlineMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  rim.drain();
  if ("closeIdleConnections" in server) server.closeIdleConnections();
  const timer = setTimeout(() => sockets.destroyAll(), deadlineMs);
  await closed;
  clearTimeout(timer);
}
