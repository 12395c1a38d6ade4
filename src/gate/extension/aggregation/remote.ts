/**
 * A client for the server behind an APIService: over TLS, with this front proxy's certificate.
 *
 * Holds  the server must present a certificate for `<service>.<namespace>.svc`, independent of its address, from the
 *        APIService's authorities, or from the host's when the APIService names none. With insecureSkipTLSVerify
 *        nothing is checked. Connections are reused; they end when the APIService's TLS settings change.
 * Bounds OpenStreams limits open requests; the caller's `bytesMax` and `timeoutMs` limit whole answers.
 */
import { rootCertificates } from "node:tls";
import { dialText, joinHostPort } from "#apiserver/kubelet/dial-text.ts";
import type { OpenStreams, Release } from "#apiserver/kubelet/open-streams.ts";
import type { ByteRequest, ByteResponse, Host, HostsTransport } from "#platform/byte-transport.ts";
import type { Clock } from "#platform/clock.ts";
import type { UserInfo } from "#platform/http.ts";
import type { RemoteSpec } from "./api-service.ts";
import { identityHeaders } from "./identity-headers.ts";
import type { ResolveService } from "./service-resolver.ts";

/** `ca`: PEM of the trusted authorities. Undefined: the server's certificate is not checked. */
export type MakeTransport = (ca: string | undefined) => HostsTransport;

export interface RemoteDeps {
  readonly clock: Clock;
  readonly resolve: ResolveService;
  readonly makeTransport: MakeTransport;
  readonly streams: OpenStreams;
}

export interface Fetched {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface FetchOptions {
  readonly path: string;
  readonly user: UserInfo;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Maximum size of the body. */
  readonly bytesMax: number;
  /** Whether a longer body is dropped, because only the status is needed. Absent: a longer body is an error. */
  readonly dropsLongBody?: true;
  readonly signal: AbortSignal;
}

export class Remote {
  readonly spec: RemoteSpec;
  /** Whether the APIService's condition says that the server is available. */
  readonly isAvailable: boolean;
  readonly #deps: RemoteDeps;
  readonly #tls: TlsState;

  constructor(deps: RemoteDeps, spec: RemoteSpec, isAvailable: boolean, before?: Remote) {
    this.#deps = deps;
    this.spec = spec;
    this.isAvailable = isAvailable;
    const isKept = before !== undefined && isSameTls(before.spec, spec);
    if (!isKept) before?.close();
    this.#tls = isKept ? before.#tls : openTls(deps, spec);
  }

  /** Why no connection is possible: the caBundle contains no certificate. */
  get problem(): string | undefined {
    return this.#tls.problem;
  }

  /** Returns the host to connect to. @throws Error if the Service has no usable target. */
  host(): Host {
    const { service } = this.spec;
    const { host, port } = this.#deps.resolve(service);
    return {
      scheme: "https",
      name: `${service.name}.${service.namespace}.svc`,
      address: host,
      port,
    };
  }

  /** Takes a place for a request. @throws ApiError 429 if too many requests are open. */
  enter(host: Host): Release {
    return this.#deps.streams.enter(authorityOf(host));
  }

  send(host: Host, request: ByteRequest): Promise<ByteResponse> {
    const { transport } = this.#tls;
    if (transport === undefined) return Promise.reject(new Error(this.problem));
    return transport.send(host, request);
  }

  /** Fetches a whole document as the aggregator's own user. Rejects with an Error whose message is for people. */
  async fetch(options: FetchOptions): Promise<Fetched> {
    const { path, user, headers, timeoutMs, signal } = options;
    const host = this.host();
    if (this.problem !== undefined) throw new Error(this.problem);
    const ending = new AbortController();
    const abort = (): void => ending.abort();
    signal.addEventListener("abort", abort, { once: true });
    const late = this.#deps.clock.after("aggregation.fetch", timeoutMs, abort);
    try {
      const response = await this.send(host, {
        method: "GET",
        target: path,
        headers: { ...headers, host: authorityOf(host), ...identityHeaders(user) },
        signal: ending.signal,
      });
      const body = await wholeBody(response, options);
      return { status: response.status, headers: response.headers, body };
    } catch (error) {
      const isLate = ending.signal.aborted && !signal.aborted;
      // Only a failed request aborts its connection. After a good answer the connection is reused.
      ending.abort();
      throw new Error(isLate ? lateText : failureText(error, host), { cause: error });
    } finally {
      late.cancel();
      signal.removeEventListener("abort", abort);
    }
  }

  close(): void {
    this.#tls.transport?.close();
  }
}

async function wholeBody(
  response: ByteResponse,
  { bytesMax, dropsLongBody }: FetchOptions,
): Promise<Uint8Array> {
  const body = await response.read(bytesMax);
  if (body !== "too-large") return body;
  if (dropsLongBody === true) return new Uint8Array();
  throw new Error(`its answer has more than ${bytesMax} bytes`);
}

/** Go's message for a client's timeout. */
const lateText = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";

export function authorityOf({ name, address = name, port }: Host): string {
  return joinHostPort(address, port);
}

/** Returns the text of a network failure, or the error's own message for any other error. */
export function failureText(error: unknown, host: Host): string {
  try {
    return dialText(error, host);
  } catch {
    return error instanceof Error ? error.message : String(error);
  }
}

interface TlsState {
  readonly transport: HostsTransport | undefined;
  readonly problem: string | undefined;
}

function openTls({ makeTransport }: RemoteDeps, spec: RemoteSpec): TlsState {
  const { caBundle, skipsVerification } = spec;
  if (caBundle !== "" && !/-----BEGIN CERTIFICATE-----/.test(caBundle)) {
    const problem = "unable to load root certificates: unable to parse bytes as PEM block";
    return { transport: undefined, problem };
  }
  try {
    const ca = caBundle === "" ? rootCertificates.join("\n") : caBundle;
    return { transport: makeTransport(skipsVerification ? undefined : ca), problem: undefined };
  } catch (error) {
    return { transport: undefined, problem: `unable to load root certificates: ${String(error)}` };
  }
}

function isSameTls(a: RemoteSpec, b: RemoteSpec): boolean {
  return (
    a.caBundle === b.caBundle &&
    a.skipsVerification === b.skipsVerification &&
    a.service.name === b.service.name &&
    a.service.namespace === b.service.namespace
  );
}
