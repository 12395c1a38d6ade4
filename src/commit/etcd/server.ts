/**
 * The gRPC server: it takes connections over TCP or TLS, detects the protocol of each, and serves them.
 *
 * G1  A connection is admitted before a byte of it is read (`ConnectionGate`), and has `headMs` to show
 *     which protocol it speaks.
 * G2  With a client authority, only its clients are served; with allowed names, only clients with such a name.
 */
import type { EtcdCounters } from "./counters.ts";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, TLSSocket } from "node:tls";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { OpenSockets } from "#platform/node/http/open-sockets.ts";
import { takeAnyAnchor } from "#platform/node/trust.ts";
import type { Method } from "./call.ts";
import { ConnectionGate, type GateLimits } from "./connection-gate.ts";
import { H2Connection } from "./h2-connection.ts";
import { recommendedH2Limits, type H2Limits } from "./h2-limits.ts";
import type { HttpEndpoint } from "./http-frontend.ts";
import { http1Server, tellProtocol } from "./port.ts";
import { serveCall } from "./serve-call.ts";
import { ServerLoad } from "./server-load.ts";

export interface ServerLimits extends H2Limits, GateLimits {
  /** A larger message ends its call: etcd's request limit plus overhead. */
  readonly messageBytesMax: number;
}

export const recommendedServerLimits = {
  ...recommendedH2Limits,
  messageBytesMax: 2 * 2 ** 20,
  connectionsMax: 10_000,
  connectionsPerAddressMax: 5_000,
} as const satisfies ServerLimits;

export interface ListenTls {
  readonly cert: string;
  readonly key: string;
  /** Absent: TLS 1.2. */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
  /** OpenSSL's names; absent: Node's default. */
  readonly ciphers?: string;
  readonly clientCa?: string;
  /** Whether a client without a certificate of `clientCa` is served. Absent: no. */
  readonly isClientCertificateOptional?: boolean;
  /** Gets a client certificate (DER) of a trusted authority. @returns why it is refused; undefined: it is accepted. */
  readonly refuse?: (certificate: Uint8Array) => string | undefined;
}

interface ListenOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly tls?: ListenTls;
  readonly limits: ServerLimits;
}

export interface EtcdListening {
  readonly port: number;
  /** Ends every connection and cuts off running calls, whose writes may still be committed. */
  close(): Promise<void>;
}

type Methods = ReadonlyMap<string, Method>;

interface ServerDeps {
  /** The methods for all connections, or a function of the connection. */
  readonly methods: Methods | ((socket: Socket) => Methods);
  /** Answers plain HTTP requests. */
  readonly http: HttpEndpoint;
  readonly clock: Clock;
  readonly log: Log;
  /** Absent: nothing is counted. */
  readonly counters?: EtcdCounters;
}

export async function listenEtcd(deps: ServerDeps, options: ListenOptions): Promise<EtcdListening> {
  const { limits, tls } = options;
  const load = new ServerLoad(deps.clock, limits);
  const common = { ...deps, load, limits, plainHttp2: tls !== undefined };
  const connections = new Map<Socket, H2Connection>();
  const http1 = http1Server(deps.http, limits.headMs);
  const gate = new ConnectionGate(deps, limits);
  const sockets = new OpenSockets(deps.log, { isSecure: options.tls !== undefined });
  const tell = tellRefused(deps);
  const mayStay = clientCheck(options, tell);
  const server = makeServer(options, tell, (socket) => {
    if (!mayStay(socket)) return;
    if (socket instanceof TLSSocket) sockets.noteCertificate(socket);
    socket.setNoDelay(true);
    deps.counters?.traffic.add(socket);
    const serveHttp2 = (): void => {
      gate.served(socket);
      const { methods: all } = deps;
      const served = { ...common, methods: typeof all === "function" ? all(socket) : all };
      const connection = new H2Connection(socket, { ...deps, load }, limits, (stream, head) =>
        serveCall(served, stream, head),
      );
      connections.set(socket, connection);
      socket.on("close", () => connections.delete(socket));
    };
    tellProtocol(socket, { ...deps, http1, http2: serveHttp2 }, limits.headMs);
  });
  server.prependListener("connection", (socket: Socket) => {
    sockets.add(socket);
    gate.admit(socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        http1.close();
        for (const connection of connections.values()) connection.close();
        gate.close();
      }),
  };
}

function makeServer(
  { tls, limits }: ListenOptions,
  tell: ReturnType<typeof tellRefused>,
  connected: (socket: Socket) => void,
): Server {
  if (tls === undefined) return createServer(connected);
  const { cert, key, clientCa, isClientCertificateOptional = false } = tls;
  const { minVersion = "TLSv1.2", ciphers } = tls;
  const server = createTlsServer(
    {
      cert,
      key,
      minVersion,
      ...(ciphers !== undefined && { ciphers }),
      handshakeTimeout: limits.headMs,
      ALPNProtocols: ["h2", "http/1.1"],
      ...(clientCa === undefined
        ? {}
        : { ca: clientCa, requestCert: true, rejectUnauthorized: !isClientCertificateOptional }),
    },
    connected,
  );
  takeAnyAnchor(server);
  server.on("tlsClientError", (error, socket) => {
    tell(error, socket);
    // Node leaves a socket with a timed-out handshake open.
    socket.destroy();
  });
  return server;
}

const tellEveryMs = 1000;

/**
 * Reports failed handshakes. A client without a certificate got a TLS alert. One with a certificate of another
 * authority gets none, because the host checks that after the handshake; so it is logged, at most one line
 * per second.
 */
function tellRefused({ clock, log }: ServerDeps): (error: Error, socket: TLSSocket) => void {
  let quietUntilMs = 0;
  return (error, { authorizationError, remoteAddress }) => {
    const nowMs = clock.monotonicMs();
    if (nowMs < quietUntilMs) return;
    quietUntilMs = nowMs + tellEveryMs;
    // OpenSSL's error text without its file names.
    const { reason = error.message } = error as { readonly reason?: string };
    const why = String(authorizationError ?? reason);
    log.warn("a connection was refused in its TLS handshake", { peer: remoteAddress, why });
  };
}

/** Checks the client's certificate before any of its bytes are read. */
function clientCheck({ tls }: ListenOptions, tell: ReturnType<typeof tellRefused>) {
  return (socket: Socket): boolean => {
    if (tls?.refuse === undefined || !(socket instanceof TLSSocket)) return true;
    const { raw } = socket.getPeerCertificate();
    const why = raw === undefined ? "no client certificate" : tls.refuse(raw);
    if (why === undefined) return true;
    tell(new Error(why), socket);
    socket.destroy();
    return false;
  };
}
