/**
 * A request and a response as plain data. Node's servers and the in-process *direct* transport are
 * adapters at the rim of the same handler chain: `(PlainRequest) => Promise<PlainResponse>`.
 */

import type { Holding } from "./ledger.ts";

/** The peer of a request, as far as the transport can tell. */
export type Peer =
  /** A socket: `certificate` is the verified client certificate, DER; absent when none was given. */
  | {
      readonly kind: "socket";
      readonly address: string;
      readonly certificate?: Uint8Array;
      /** A certificate was given and does not verify: why. Then the peer is not just anonymous. */
      readonly certificateProblem?: string;
      /** The verified certificate, DER, if the front proxies' authority signed it: its headers name users. */
      readonly proxyCertificate?: Uint8Array;
      /** Absent when it is closed already. */
      readonly connection?: PeerConnection;
    }
  /** Same process: `cmd` vouches for the identity; bodies may be frozen objects, no bytes are made. */
  | { readonly kind: "direct"; readonly user: UserInfo };

/** The connection of a request. */
interface PeerConnection {
  /** The user that its credentials name: among too many connections those of nobody are closed first. */
  belongsTo(user: string): void;
  /** The user of the connection's last request: the next request takes this user's turn. Absent before the first one. */
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
      /** Content-Length; undefined when the client did not say. */
      readonly declaredBytes?: number | undefined;
      read(limitBytes: number, holding: Holding): Promise<Uint8Array | "too-large" | "refused">;
      /** Instead of `read`: chunks as they come; a promise that `take` returns holds the client back. */
      readonly stream?: (take: TakeChunk) => Promise<void>;
    }
  /** Direct callers only. Frozen: the server copies before it changes anything. */
  | { readonly kind: "object"; readonly object: object };

export interface PlainRequest {
  readonly method: string;
  /** Decoded once by the rim: no query, starts with "/". */
  readonly path: string;
  /** Raw query without "?"; "" when none. */
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
  /** Every header line by line, of a peer with a `proxyCertificate` only. */
  readonly headerLines?: Readonly<Record<string, readonly string[]>>;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
}

export type Headers = Readonly<Record<string, string | readonly string[]>>;

export type WatchEventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";

export interface ObjectEvent {
  readonly type: WatchEventType;
  /** Frozen. For ERROR a Status. */
  readonly object: object;
}

/** Takes bytes of a stream. Chunks are shared by many streams: never changed, kept as long as needed. */
export interface ByteSink {
  /** False when the sink's buffer is full: stop until `onDrain`. What was given is kept and sent. */
  write(chunks: readonly Uint8Array[]): boolean;
  onDrain(f: () => void): void;
  end(): void;
  /** As `end`, and closes the connection, so that the load balancer places the client's next request anew. */
  leave?(): void;
  /** Cuts the connection instead of ending the stream, so that the client sees it is incomplete. */
  abort?(): void;
  readonly closed: boolean;
}

/** A connection after 101: raw bytes both ways, each direction ending on its own. */
export interface ByteDuplex extends ByteSink {
  /** Bytes from the other end until it ends its direction; rejects when the connection breaks. */
  stream(take: TakeChunk): Promise<void>;
  abort(): void;
}

export interface ObjectEventSink {
  /** Batches in order. Never throws. */
  deliver(events: readonly ObjectEvent[]): void;
  end(): void;
}

export type PlainResponse =
  | {
      readonly kind: "bytes";
      readonly status: number;
      readonly headers: Headers;
      readonly body: readonly Uint8Array[];
      /** Its pieces are kept for other answers as well, as long as they are new. */
      readonly isShared?: boolean;
      /** Called when the answer has left or its client has; perhaps twice. For what is worth counting. */
      readonly left?: () => void;
      /** Called when a part of a long answer was taken, and more of it waits. */
      readonly moved?: () => void;
    }
  /** To direct callers only: a frozen object instead of bytes. */
  | {
      readonly kind: "object";
      readonly status: number;
      readonly headers: Headers;
      readonly object: object;
    }
  /** A stream: the rim sends the head, then calls `open` once. `open` returns its closer (client gone). */
  | {
      readonly kind: "stream";
      readonly status: number;
      readonly headers: Headers;
      /** What its client has not taken is charged to it. Closed by the stream's closer. */
      readonly held?: Holding;
      /** Before it is opened: who hears how what it begins with is taken. Absent: it begins with nothing. */
      begins?(listener: BeginningListener): void;
      open(sink: ByteSink): () => void;
    }
  /** 101: only to a request that offered `upgrade`. The rim sends the head, then calls `open` once. */
  | {
      readonly kind: "tunnel";
      readonly status: 101;
      readonly headers: Headers;
      /** Closed by the rim, with the connection. */
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

/** Of what a stream begins with: initial events. */
export interface BeginningListener {
  /** A part was taken. */
  moved(): void;
  /** All of it was, or the stream is over. Idempotent. */
  left(): void;
}

/** A request that no handler saw: the rim could not read it. For audit and metrics. */
export interface RefusedRequest {
  readonly status: number;
  /** The words of the refusal. */
  readonly reason: string;
  /** Of the client. */
  readonly address: string;
  /** `HTTP/1.1`, `HTTP/2.0` */
  readonly protocol: string;
  /** As they came, undecoded; "" where nothing of them could be read. */
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
