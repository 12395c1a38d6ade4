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
import { lookup as lookupLater } from "node:dns";
import { lookup } from "node:dns/promises";
import type { Agent as NodeAgent, ClientRequest, IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
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
import { Agent as HttpAgent, request as httpRequest } from "./node-http.ts";
import { type Trust, trusting } from "../trust.ts";
import { SocketDuplex } from "./socket-duplex.ts";

export interface HostsCredentials {
  /** PEM, or the authorities that the host trusts. Absent: any server certificate is accepted. */
  readonly ca?: string | typeof hostAuthorities;
  /** PEM, both or neither of certificate and key: shown to every server. */
  readonly certificate?: string;
  readonly key?: string;
}

export interface HostsOptions {
  /** Called at each request: a connection opened with other credentials is not used any more. */
  readonly credentials?: () => HostsCredentials;
  /** Called with each address before connecting; true: ByteTransportError EADDRNOTALLOWED. Absent: no address is refused. */
  readonly refuses?: RefusesAddress;
  readonly limits: HostsLimits;
}

export type RefusesAddress = (address: string, port: number) => boolean;

interface HostsLimits {
  readonly connectMs: number;
  readonly headBytesMax: number;
  readonly idleSocketsMax: number;
}

interface Agents {
  readonly http: NodeAgent;
  readonly https: HttpsAgent;
}

/** Stands in for a PEM text: the authorities that the host trusts. */
export const hostAuthorities = Symbol("the authorities of the host");

export function hostsTransport(options: HostsOptions): HostsTransport {
  const { limits, credentials = () => none, refuses } = options;
  const kept = agentsOf({
    keepAlive: true,
    maxFreeSockets: limits.idleSocketsMax,
    timeout: freeSocketMs,
  });
  // A tunnel has a connection of its own, of which one direction may be closed alone.
  const tunnels = agentsOf({ keepAlive: false, allowHalfOpen: true });
  const once = (host: Host, request: ByteRequest): Promise<ByteResponse> => {
    const agents = request.upgrade === undefined ? kept : tunnels;
    const dial = dialOptions(host, refuses);
    return exchange(host, request, { limits, agents, dial, tls: tlsOf(credentials()) });
  };
  return {
    async send(host, request) {
      try {
        return await once(host, request);
      } catch (error) {
        // The server closed a kept connection just as the request was sent, so it has not read the request.
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

/**
 * Where to connect to. A name is judged by what it is resolved to at that moment, in whatever spelling.
 * @throws ByteTransportError for an address that is refused.
 */
export function dialOptions(
  { name, port, address = name }: Host,
  refuses: RefusesAddress | undefined,
): DialOptions {
  if (refuses === undefined) return { host: address, port };
  if (isIP(address) === 0) return { host: address, port, lookup: refusingLookup(refuses, port) };
  if (refuses(address, port)) throw failedError(notAllowedError(), false);
  return { host: address, port };
}

interface DialOptions {
  readonly host: string;
  readonly port: number;
  readonly lookup?: LookupFunction;
}

function refusingLookup(refuses: RefusesAddress, port: number): LookupFunction {
  return (name, options, found) => {
    lookupLater(name, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) found(error, "", 0);
      else if (addresses.some(({ address }) => refuses(address, port)))
        found(notAllowedError(), "", 0);
      else if (options.all === true) found(null, addresses);
      else found(null, first.address, first.family);
    });
  };
}

function notAllowedError(): Error {
  return Object.assign(new Error("address not allowed"), { code: "EADDRNOTALLOWED" });
}

const none: HostsCredentials = {};

function agentsOf(options: object): Agents {
  return { http: new HttpAgent(options), https: new HttpsAgent(options) };
}

/** Limits, agents and connection options of one request. */
interface Way {
  readonly limits: HostsLimits;
  readonly agents: Agents;
  readonly dial: DialOptions;
  readonly tls: TlsOptions;
}

/** TLS options that are parts of the name under which the agent keeps a connection. */
interface TlsOptions {
  readonly rejectUnauthorized?: false;
  readonly allowPartialTrustChain?: true;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export function tlsOf({ ca, certificate, key }: HostsCredentials): TlsOptions {
  return {
    ...trusted(ca),
    ...(certificate === undefined || key === undefined ? {} : { cert: certificate, key }),
  };
}

function trusted(ca: HostsCredentials["ca"]): Trust | { readonly rejectUnauthorized: false } {
  if (ca === hostAuthorities) return trusting();
  return ca === undefined ? { rejectUnauthorized: false } : trusting(ca);
}

function startRequest(
  { scheme, name, address = name }: Host,
  request: ByteRequest,
  { limits, agents, dial, tls }: Way,
): ClientRequest {
  const shared = {
    ...dial,
    method: request.method,
    path: request.target,
    headers: sentHeaders(request),
    maxHeaderSize: limits.headBytesMax,
  };
  if (scheme === "http") return httpRequest({ ...shared, agent: agents.http });
  const options = { ...shared, ...tls, ...identityOf(name, address), agent: agents.https };
  return httpsRequest(options);
}

/**
 * Node checks the certificate against `servername`, and without one against the address. A check of our own
 * would take the connection out of the agent's pool, so there is one only where the two would be wrong.
 */
export function identityOf(name: string, address: string): object {
  if (isIP(name) === 0) return { servername: name };
  // An address is not sent as a server name: "" suppresses it.
  if (name === address) return { servername: "" };
  const identity = (_host: string, certificate: PeerCertificate): Error | undefined =>
    checkServerIdentity(name, certificate);
  return { servername: "", checkServerIdentity: identity };
}

function exchange(host: Host, request: ByteRequest, way: Way): Promise<ByteResponse> {
  const { body, signal } = request;
  if (signal.aborted) return Promise.reject(abortedError());
  return new Promise((resolve, reject) => {
    const sent = startRequest(host, request, way);
    limitConnecting(sent, host, way.limits.connectMs);
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
