/**
 * The host's transport to servers that objects name: kubelets, pods, endpoints of Services.
 *
 * Holds  the identity a TLS server must prove is the host's own name or address, whatever Host header a
 *        request carries (node:https would take it from there).
 * Limits `connectMs` until TCP and TLS stand, then ByteTransportError ETIMEDOUT; a head of
 *        `headBytesMax`, then HPE_HEADER_OVERFLOW; `idleSocketsMax` idle connections per server, for 30 s.
 *        Neither an answer's head nor its body has a deadline: a log may be silent for days. TCP
 *        keep-alive finds a server that vanished. How many requests are open is the caller's to bound.
 */
import { lookup } from "node:dns/promises";
import {
  Agent as HttpAgent,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import type { ByteRequest, ByteResponse, Host, HostsTransport } from "../../byte-transport.ts";
import {
  abortedError,
  byteResponse,
  failedError,
  freeSocketMs,
  sendStream,
  sentHeaders,
  StaleConnection,
  timedOutError,
} from "./http-client.ts";
import { SocketDuplex } from "./socket-duplex.ts";

interface HostsOptions {
  /** PEM, or the authorities that the host trusts. Absent: any certificate of a server is accepted. */
  readonly ca?: string | typeof hostAuthorities;
  /** PEM, both or neither: shown to every server. */
  readonly certificate?: string;
  readonly key?: string;
  readonly limits: HostsLimits;
}

interface HostsLimits {
  readonly connectMs: number;
  readonly headBytesMax: number;
  readonly idleSocketsMax: number;
}

interface Agents {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

/** Instead of PEM. */
export const hostAuthorities = Symbol("the authorities of the host");

export function hostsTransport(options: HostsOptions): HostsTransport {
  const { limits } = options;
  const kept = agentsOf(options, {
    keepAlive: true,
    maxFreeSockets: limits.idleSocketsMax,
    timeout: freeSocketMs,
  });
  // A tunnel has its connection to itself, and may be closed one way only.
  const tunnels = agentsOf(options, { keepAlive: false, allowHalfOpen: true });
  const once = (host: Host, request: ByteRequest): Promise<ByteResponse> =>
    exchange(host, request, limits, request.upgrade === undefined ? kept : tunnels);
  return {
    async send(host, request) {
      try {
        return await once(host, request);
      } catch (error) {
        // The server closed a kept connection just as the request was sent: it has not read it.
        const isHarmless = request.method === "GET" && request.bodyStream === undefined;
        if (isHarmless && error instanceof StaleConnection) return once(host, request);
        throw error;
      }
    },
    resolve: addressesOf,
    close() {
      for (const agents of [kept, tunnels]) {
        agents.http.destroy();
        agents.https.destroy();
      }
    },
  };
}

async function addressesOf(name: string): Promise<readonly string[]> {
  try {
    return (await lookup(name, { all: true })).map(({ address }) => address);
  } catch (error) {
    throw failedError(error instanceof Error ? error : new Error(String(error)), false);
  }
}

function agentsOf({ ca, certificate, key }: HostsOptions, more: object): Agents {
  const https = new HttpsAgent({
    ...more,
    ...trusted(ca),
    ...(certificate === undefined || key === undefined ? {} : { cert: certificate, key }),
  });
  return { http: new HttpAgent(more), https };
}

function trusted(ca: HostsOptions["ca"]): object {
  if (ca === hostAuthorities) return {};
  return ca === undefined ? { rejectUnauthorized: false } : { ca };
}

function startRequest(
  { scheme, name, port, address = name }: Host,
  request: ByteRequest,
  limits: HostsLimits,
  agents: Agents,
): ClientRequest {
  const shared = {
    host: address,
    port,
    method: request.method,
    path: request.target,
    headers: sentHeaders(request),
    maxHeaderSize: limits.headBytesMax,
  };
  if (scheme === "http") return httpRequest({ ...shared, agent: agents.http });
  const options = { ...shared, ...identityOf(name, address), agent: agents.https };
  return httpsRequest(options);
}

/**
 * Node checks the certificate against `servername`, and without one against the address. A check of our own
 * would take the connection out of the agent's pool, so there is one only where the two would be wrong.
 */
function identityOf(name: string, address: string): object {
  if (isIP(name) === 0) return { servername: name };
  // "" for an address: it is not sent then.
  if (name === address) return { servername: "" };
  const identity = (_host: string, certificate: PeerCertificate): Error | undefined =>
    checkServerIdentity(name, certificate);
  return { servername: "", checkServerIdentity: identity };
}

function exchange(
  host: Host,
  request: ByteRequest,
  limits: HostsLimits,
  agents: Agents,
): Promise<ByteResponse> {
  const { body, signal } = request;
  if (signal.aborted) return Promise.reject(abortedError());
  return new Promise((resolve, reject) => {
    const sent = startRequest(host, request, limits, agents);
    limitConnecting(sent, host, limits.connectMs);
    const abort = (): void => void sent.destroy(abortedError());
    signal.addEventListener("abort", abort, { once: true });
    const release = (): void => signal.removeEventListener("abort", abort);
    sent.on("close", release);
    sent.on("error", (error) => {
      release();
      reject(failedError(error, sent.reusedSocket));
    });
    sent.on("response", (incoming: IncomingMessage) => resolve(byteResponse(incoming)));
    sent.on("upgrade", (incoming, socket, head) => {
      release();
      resolve({ ...byteResponse(incoming), upgraded: new SocketDuplex(socket, head) });
    });
    if (request.bodyStream !== undefined) sendStream(sent, request.bodyStream);
    else if (body === undefined) sent.end();
    else sent.setHeader("content-length", body.length).end(body);
  });
}

function limitConnecting(sent: ClientRequest, { scheme }: Host, connectMs: number): void {
  sent.on("socket", (socket) => {
    if (sent.reusedSocket) return;
    const late = setTimeout(
      () => sent.destroy(timedOutError("no connection", connectMs)),
      connectMs,
    );
    late.unref();
    const done = (): void => clearTimeout(late);
    socket.once(scheme === "https" ? "secureConnect" : "connect", done).once("close", done);
  });
}
