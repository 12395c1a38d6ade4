/**
 * A call as the services see it, independent of the transport: unary methods are functions from message
 * to message; streams are pairs of ends.
 */
import type { Input, Message } from "#wire/etcd-codec.ts";
import { Code, framed, GrpcError, prefixBytes } from "#wire/grpc.ts";

export interface ServerStream {
  /** Sends a message with `prefixBytes` of free space before it; takes ownership. No effect after the call is closed. */
  send(withHeadroom: Buffer): void;
  /** Sends one framed message in pieces. The pieces may be shared with other streams and must not change. */
  sendPieces(pieces: readonly Buffer[]): void;
  /** Bytes that were sent but not yet taken by the socket. */
  readonly backlogBytes: number;
  /** Calls `f` once, when the socket has taken the backlog. */
  onDrain(f: () => void): void;
  /** Ends the call with status OK. */
  end(): void;
  /** Ends the call with an error. */
  fail(error: unknown): void;
  readonly isClosed: boolean;
}

/** Receives the client's messages. A GrpcError that it throws ends the call. */
export interface StreamEnd {
  /** Borrowed until return. */
  message(bytes: Buffer): void;
  /** The client will send no more, but may still receive. Errors thrown here end the call too. */
  halfClosed(): void;
  /** Called when either side has ended the stream. */
  closed(): void;
}

export type Method =
  | {
      readonly kind: "unary";
      /** @returns a frame, in pieces when it is large. Throws GrpcError or rejects with it. */
      readonly answer: (
        request: Buffer,
      ) => Buffer | readonly Buffer[] | Promise<Buffer | readonly Buffer[]>;
    }
  | {
      readonly kind: "stream";
      /** `authorization`: the authorization field of the call's head; "" or absent when there is none. */
      readonly open: (call: ServerStream, authorization?: string) => StreamEnd;
    };

export function unary<Q, A>(
  request: Message<Q>,
  response: Message<A>,
  answer: (request: Q, bytes: number) => Input<A> | Promise<Input<A>>,
): Method {
  const encode = (value: Input<A>): Buffer => framed(response.encode(value, prefixBytes));
  return {
    kind: "unary",
    answer: (bytes) => {
      const value = answer(request.decode(bytes), bytes.length);
      return value instanceof Promise ? value.then(encode) : encode(value);
    },
  };
}

export function stream(open: (call: ServerStream) => StreamEnd): Method {
  return { kind: "stream", open };
}

/**
 * A method with one request and many answers: `answer` is called with the first message, and returns the function to
 * call when the stream is over. As in etcd 3.6's grpc-go, further messages are dropped, and a stream that ends without
 * any message gets an error.
 */
export function serverStream(answer: (request: Buffer, call: ServerStream) => () => void): Method {
  return stream((call) => {
    let over: (() => void) | undefined;
    return {
      message: (bytes) => {
        over ??= answer(bytes, call);
      },
      halfClosed: () => {
        if (over === undefined) throw new GrpcError(Code.unknown, "EOF");
      },
      closed: () => over?.(),
    };
  });
}

/**
 * The same, as the grpc-go of etcd 3.7 does it: the call is answered once the client has ended its side of the stream,
 * and refused unless the client sent exactly one request.
 */
export function strictServerStream<Q>(
  request: Message<Q>,
  answer: (request: Q, call: ServerStream) => void,
): Method {
  return stream((call) => {
    let first: Q | undefined;
    return {
      message: (bytes) => {
        if (first !== undefined) throw cardinality("received multiple request messages for");
        first = request.decode(Buffer.from(bytes));
      },
      halfClosed: () => {
        if (first === undefined) throw cardinality("received no request message from");
        answer(first, call);
      },
      closed: nothing,
    };
  });
}

function cardinality(what: string): GrpcError {
  return new GrpcError(Code.internal, `cardinality violation: ${what} non-client-streaming RPC`);
}

export const nothing = (): void => undefined;
