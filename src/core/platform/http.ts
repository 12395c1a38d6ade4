/**
 * A request and a response as plain data. Node's servers and the in-process *direct* transport are
 * adapters at the rim of the same handler chain: `(PlainRequest) => Promise<PlainResponse>`.
 */

import type { Holding } from "./ledger.ts";

/** The peer of a request, as far as the transport can tell. */
export type Peer =
  /** A socket. `certificate`: the verified client certificate, DER; absent when the client gave none. */
  | {
      readonly kind: "socket";
      readonly address: string;
      readonly certificate?: Uint8Array;
      /** Why the client's certificate does not verify. With such a certificate the peer is not merely anonymous. */
      readonly certificateProblem?: string;
      /** The verified certificate, DER, if the front proxies' authority signed it: the peer's headers may name users. */
      readonly proxyCertificate?: Uint8Array;
      /** Absent when the connection is closed already. */
      readonly connection?: PeerConnection;
    }
  /** A caller in the same process: `cmd` vouches for the identity; bodies may be frozen objects instead of bytes. */
  | { readonly kind: "direct"; readonly user: UserInfo };

/** The connection of a request. */
interface PeerConnection {
  /** Notes the user that the credentials name. When there are too many connections, those without a user close first. */
  belongsTo(user: string): void;
  /** User of the connection's last request: the next request is queued under it. Absent before the first request. */
  caller?: string | undefined;
}

export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export type TakeChunk = (chunk: Uint8Array) => void | Promise<void>;

export type PlainBody =
  | { readonly kind: "none" }
  /**
   * `read` may be called once; what arrives is charged to `holding`, whose owner closes it. Resolves to
   * "too-large" as soon as more than `limitBytes` arrived, to "refused" when `holding` may not hold more.
   */
  | {
      readonly kind: "bytes";
      /** Content-Length; undefined when the client did not send it. */
      readonly declaredBytes?: number | undefined;
      read(limitBytes: number, holding: Holding): Promise<Uint8Array | "too-large" | "refused">;
      /** Use instead of `read`: passes on chunks as they arrive; a promise that `take` returns holds the client back. */
      readonly stream?: (take: TakeChunk) => Promise<void>;
    }
  /** A body of a direct caller. The object is frozen: the server copies it before it changes anything. */
  | { readonly kind: "object"; readonly object: object };

export interface PlainRequest {
  readonly method: string;
  /** Path without the query, decoded once by the rim; starts with "/". */
  readonly path: string;
  /** Raw query without "?"; "" when there is none. */
  readonly query: string;
  /**
   * Lower-case names; repeated headers joined with ", ". Values are text: of a socket, the UTF-8 its bytes
   * are; bytes that are none make a text that is not well-formed, which names nobody.
   */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: PlainBody;
  readonly peer: Peer;
  /**
   * The protocol of a well-formed Upgrade (`websocket`, `SPDY/3.1`) on a connection that can become a
   * tunnel; a handler that does not support it answers as if there was no Upgrade header.
   */
  readonly upgrade?: string;
  /** The `impersonate-` headers line by line, because values may contain commas; absent when there are none. */
  readonly impersonateLines?: Readonly<Record<string, readonly string[]>>;
  /** Every header line by line; present only for a peer with a `proxyCertificate`. */
  readonly headerLines?: Readonly<Record<string, readonly string[]>>;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
}

export type Headers = Readonly<Record<string, string | readonly string[]>>;

export type WatchEventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";

export interface ObjectEvent {
  readonly type: WatchEventType;
  /** The frozen object. For ERROR it is a Status. */
  readonly object: object;
}

/** Takes the bytes of a stream. Many streams share the chunks: they are never changed, and kept as long as needed. */
export interface ByteSink {
  /** @returns false when the sink's buffer is full: write no more until `onDrain`. The chunks given are kept and sent. */
  write(chunks: readonly Uint8Array[]): boolean;
  onDrain(f: () => void): void;
  end(): void;
  /** Ends the stream as `end`, and closes the connection, so that the load balancer places the next request anew. */
  leave?(): void;
  /** Cuts the connection instead of ending the stream, so that the client sees it is incomplete. */
  abort?(): void;
  readonly closed: boolean;
}

/** A connection after 101: raw bytes both ways; each direction ends on its own. */
export interface ByteDuplex extends ByteSink {
  /** Passes on bytes from the other end until that end finishes its direction. Rejects when the connection breaks. */
  stream(take: TakeChunk): Promise<void>;
  abort(): void;
}

export interface ObjectEventSink {
  /** Takes batches of events in order. Never throws. */
  deliver(events: readonly ObjectEvent[]): void;
  end(): void;
}

export type PlainResponse =
  | {
      readonly kind: "bytes";
      readonly status: number;
      readonly headers: Headers;
      readonly body: readonly Uint8Array[];
      /** Whether the pieces are kept for other answers as well, as long as they are current. */
      readonly isShared?: boolean;
      /** Called when the answer has been sent or the client has left, perhaps twice. Meant for counting. */
      readonly left?: () => void;
      /** Called when the client took a part of a long answer and more parts wait. */
      readonly moved?: () => void;
    }
  /** An answer to direct callers only: a frozen object instead of bytes. */
  | {
      readonly kind: "object";
      readonly status: number;
      readonly headers: Headers;
      readonly object: object;
    }
  /** A stream: the rim sends the head, then calls `open` once. `open` returns the function to call when the client leaves. */
  | {
      readonly kind: "stream";
      readonly status: number;
      readonly headers: Headers;
      /** Account that unsent frames of the stream are charged to. The stream's closer closes it. */
      readonly held?: Holding;
      /** Sets, before `open`, the listener for the progress of the initial events. Absent: the stream has none. */
      begins?(listener: BeginningListener): void;
      open(sink: ByteSink): () => void;
    }
  /** 101, as an answer only to a request that offered `upgrade`. The rim sends the head, then calls `open` once. */
  | {
      readonly kind: "tunnel";
      readonly status: 101;
      readonly headers: Headers;
      /** The rim closes it together with the connection. */
      readonly held?: Holding;
      open(client: ByteDuplex): void;
    }
  /** A watch for a direct caller. */
  | {
      readonly kind: "events";
      readonly status: number;
      readonly headers: Headers;
      open(sink: ObjectEventSink): () => void;
    };

/** Is notified of how the client takes the initial events of a stream. */
export interface BeginningListener {
  /** The client took a part of the initial events. */
  moved(): void;
  /** The client took all initial events, or the stream is over. Idempotent. */
  left(): void;
}

/** A request that the rim refused because it could not read it, so that no handler saw it. For audit and metrics. */
export interface RefusedRequest {
  readonly status: number;
  /** Text of the refusal. */
  readonly reason: string;
  /** Address of the client. */
  readonly address: string;
  /** `HTTP/1.1`, `HTTP/2.0` */
  readonly protocol: string;
  /** The request line as received, undecoded; "" for parts that could not be read. */
  readonly method: string;
  readonly target: string;
}

/** Called once per refusal, synchronously; must not throw. */
export type TakeRefused = (request: RefusedRequest) => void;

/**
 * Bytes of an answer that are given to a socket at once: what a transport has copied of it. Smaller ones would cost
 * a turn of the loop more often.
 */
export const answerRunBytes = 256 * 1024;

export type PlainHandler = (request: PlainRequest) => Promise<PlainResponse>;
