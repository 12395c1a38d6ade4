/**
 * Bytes to and from one HTTP server, as the REST client needs them. The host's implementation is
 * `platform/node/http/http-client.ts`; tests inject their own.
 */

import type { ByteDuplex, TakeChunk } from "./http.ts";

/** A request got no answer, or its answer broke off: refused, reset, timed out. */
export class ByteTransportError extends Error {
  /** Error code of the host (ECONNREFUSED, ECONNRESET ...), or "ABORTED" when the caller's signal ended the request. */
  readonly code: string;
  /** Whether the server closed a kept connection as the request was sent, so that it has hardly read the request. */
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
  /** Each value of a list is sent as a header line of its own. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Borrowed until the response's head has arrived. */
  readonly body?: Uint8Array;
  /** Body to use instead of `body`: sent piece by piece as it arrives. */
  readonly bodyStream?: {
    /** Length of the body. Undefined: the length is not known, so the body is sent in chunks. */
    readonly bytes: number | undefined;
    stream(take: TakeChunk): Promise<void>;
  };
  /** Protocol to upgrade to; the server may ignore the offer and answer as usual. */
  readonly upgrade?: string;
  readonly signal: AbortSignal;
}

export interface ByteResponse {
  readonly status: number;
  /** Lower-case names; repeated headers joined with ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** The lines of Set-Cookie, which must not be joined; absent: none. */
  readonly cookies?: readonly string[];
  /** Reads the whole body; returns "too-large" as soon as more than `limitBytes` arrived (the rest is dropped). */
  read(limitBytes: number): Promise<Uint8Array | "too-large">;
  /**
   * Chunks as they come, given to `take`; resolves at the clean end, rejects with
   * ByteTransportError when the stream is cut. An error thrown by `take` ends the stream and rejects;
   * a promise returned by it holds the sender back until it settles.
   */
  stream(take: TakeChunk): Promise<void>;
  /** The connection itself, when the answer is 101; `read` and `stream` have nothing to return then. */
  readonly upgraded?: ByteDuplex;
}

export interface ByteTransport {
  /** Sends a request. The caller must call exactly one of the response's `read` and `stream`. */
  send(request: ByteRequest): Promise<ByteResponse>;
  /** Ends idle connections; requests under way finish. */
  close(): void;
}

/** Address of one of the servers that a `HostsTransport` reaches. */
export interface Host {
  readonly scheme: "http" | "https";
  /** Address or name without brackets; the server's certificate must be valid for it. */
  readonly name: string;
  readonly port: number;
  /** Address that `name` was resolved to. Absent: the name is resolved when the connection is made. */
  readonly address?: string;
}

/** Sends requests to servers that are known only when a request comes. Idle connections are kept per server. */
export interface HostsTransport {
  /** As `ByteTransport.send`. Connecting has a time limit; waiting for the answer's head has none. */
  send(host: Host, request: ByteRequest): Promise<ByteResponse>;
  /** Resolves a name to its addresses, and an address to itself. Rejects with ByteTransportError. */
  resolve(name: string): Promise<readonly string[]>;
  /** Ends idle connections; requests under way finish. */
  close(): void;
}
