/**
 * A call as the services see it, independent of the transport: unary methods are functions from message
 * to message, streams are a pair of ends.
 */
import type { Input, Message } from "#wire/etcd-codec.ts";
import { Code, framed, GrpcError, prefixBytes } from "#wire/grpc.ts";

export interface ServerStream {
  /** A message with `prefixBytes` left free before it. Given. Nothing happens once closed. */
  send(withHeadroom: Buffer): void;
  /** One framed message in pieces. Others may be sent them too: they are not changed any more. */
  sendPieces(pieces: readonly Buffer[]): void;
  /** Sent but not yet taken by the socket. */
  readonly backlogBytes: number;
  /** Calls once, when the backlog has been taken. */
  onDrain(f: () => void): void;
  /** Ends the call well. */
  end(): void;
  /** Ends it with an error. */
  fail(error: unknown): void;
  readonly isClosed: boolean;
}

/** Receives the client's messages. A thrown GrpcError ends the call with it. */
export interface StreamEnd {
  /** Borrowed until return. */
  message(bytes: Buffer): void;
  /** The client sends no more, and may still listen. Thrown errors end the call too. */
  halfClosed(): void;
  /** The stream is over, ended by either side. */
  closed(): void;
}

export type Method =
  | {
      readonly kind: "unary";
      /** @returns a frame, in pieces when it is large. Throws, or rejects with, GrpcError. */
      readonly answer: (
        request: Buffer,
      ) => Buffer | readonly Buffer[] | Promise<Buffer | readonly Buffer[]>;
    }
  | {
      readonly kind: "stream";
      /** `authorization`: the field of the call's head, "" or absent when there is none. */
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
 * One request, many answers: `answer` is called with the first message, and returns what to call when
 * the stream is over. As etcd 3.6's grpc-go: further messages are dropped; a stream that ends without any
 * message gets an error.
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
 * The same as grpc-go of etcd 3.7 does it: answered once the client has said that it sends no more, and
 * refused when that was not one request.
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
