/**
 * Bytes to and from one HTTP server, as the REST client needs them. The host's implementation is
 * `platform/node/http/http-client.ts`; tests inject their own.
 */

import type { ByteDuplex, TakeChunk } from "./http.ts";

/** The request did not get an answer, or the answer broke off: refused, reset, timed out. */
export class ByteTransportError extends Error {
  /** The host's: ECONNREFUSED, ECONNRESET ...; "ABORTED" when the caller's signal ended it. */
  readonly code: string;
  /** The server closed a kept connection as the request was sent: it has hardly read it. */
  readonly isStale: boolean = false;

  constructor(message: string, code: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ByteTransportError";
    this.code = code;
  }
}

export interface ByteRequest {
  readonly method: string;
  /** Encoded path and query, starts with "/". */
  readonly target: string;
  /** A list of values becomes as many header lines. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Borrowed until the response's head is there. */
  readonly body?: Uint8Array;
  /** Instead of `body`: sent piece by piece as it arrives. */
  readonly bodyStream?: {
    /** Undefined: sent in chunks. */
    readonly bytes: number | undefined;
    stream(take: TakeChunk): Promise<void>;
  };
  /** The protocol to upgrade to; the server may answer as if it was not asked. */
  readonly upgrade?: string;
  readonly signal: AbortSignal;
}

export interface ByteResponse {
  readonly status: number;
  /** Lower-case names; repeated headers joined with ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** The lines of Set-Cookie, which must not be joined; absent: none. */
  readonly cookies?: readonly string[];
  /** The whole body; "too-large" as soon as more than `limitBytes` arrived (the rest is dropped). */
  read(limitBytes: number): Promise<Uint8Array | "too-large">;
  /**
   * Chunks as they come, given to `take`; resolves at the clean end, rejects with
   * ByteTransportError when the stream is cut. An error thrown by `take` ends the stream and rejects;
   * a promise returned by it holds the sender back until it settles.
   */
  stream(take: TakeChunk): Promise<void>;
  /** The connection itself, when the answer is 101; then there is nothing to read or stream. */
  readonly upgraded?: ByteDuplex;
}

export interface ByteTransport {
  /** Exactly one of `read` and `stream` of the response must be called. */
  send(request: ByteRequest): Promise<ByteResponse>;
  /** Ends idle connections; requests under way finish. */
  close(): void;
}

/** One server of many, as `HostsTransport` reaches it. */
export interface Host {
  readonly scheme: "http" | "https";
  /** Address or name without brackets; its certificate must be valid for it. */
  readonly name: string;
  readonly port: number;
  /** What `name` was resolved to; absent: it is resolved when the connection is made. */
  readonly address?: string;
}

/** Requests to servers that are known only when a request comes; idle connections are kept per server. */
export interface HostsTransport {
  /** As `ByteTransport.send`. The answer's head may take as long as it likes; connecting may not. */
  send(host: Host, request: ByteRequest): Promise<ByteResponse>;
  /** The addresses of a name; of an address, itself. Rejects with ByteTransportError. */
  resolve(name: string): Promise<readonly string[]>;
  /** Ends idle connections; requests under way finish. */
  close(): void;
}
