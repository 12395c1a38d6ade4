/**
 * Turns a stream of HTTP/2 into a call of `call.ts`: the head is checked, messages are split, answers are framed.
 *
 * C1  A stream is answered at most once, and never touched after it is closed.
 * C2  A request's length is bounded before it is kept, and kept bytes are counted (`Inbox`).
 * C3  A call whose client no longer waits is ended. Its write may still be made, and holds the stream's
 *     slot until it is done.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { grpcOkTrailers, grpcRefusal, httpHead } from "#wire/grpc-frames.ts";
import { Code, encodeGrpcMessage, framed, GrpcError } from "#wire/grpc.ts";
import { ProtobufError } from "#wire/protobuf.ts";
import type { Method, ServerStream } from "./call.ts";
import { deadlineExceeded, isGrpc, refuseHead, timeoutMs, type CallHead } from "./call-head.ts";
import type { EtcdCounters } from "./counters.ts";
import type { CountedCall } from "./grpc-metrics.ts";
import type { H2Stream } from "./h2-stream.ts";
import type { HttpEndpoint } from "./http-frontend.ts";
import { Inbox, type InboxLimits } from "./inbox.ts";
import type { ServerLoad } from "./server-load.ts";

interface Served {
  readonly methods: ReadonlyMap<string, Method>;
  readonly http: HttpEndpoint;
  readonly clock: Clock;
  readonly log: Log;
  readonly load: ServerLoad;
  readonly limits: InboxLimits;
  /** Whether plain HTTP is served over HTTP/2 too; as in etcd, only where TLS negotiated the protocol. */
  readonly plainHttp2: boolean;
  /** Absent: calls are not counted. */
  readonly counters?: EtcdCounters;
}

/** A client with a shorter timeout has already given up. */
const timeoutMsLeast = 0.01;

/** Serves a stream with this head; sets its `take`. */
export function serveCall(served: Served, stream: H2Stream, head: CallHead): void {
  if (served.plainHttp2 && !isGrpc(head)) return serveHttp(served, stream, head);
  const refused = refuseHead(head);
  if (refused !== undefined) {
    const { status, code, message } = refused;
    return stream.end(grpcRefusal(status, code, encodeGrpcMessage(message)));
  }
  const method = served.methods.get(head.path);
  const counted =
    method === undefined ? undefined : served.counters?.grpc.begin(head.path, method.kind);
  const call = new Call(stream, { log: served.log, path: head.path, counted });
  if (timeoutMs(head) < timeoutMsLeast) call.fail(deadlineExceeded());
  else if (method === undefined) call.fail(unknownMethod(served.methods, head.path));
  else if (method.kind === "unary") serveUnary(served, call, head, method.answer);
  else serveStream(served, call, head, method.open);
}

/** Answers when the request has ended; its body is ignored. */
function serveHttp(served: Served, stream: H2Stream, { method, path }: CallHead): void {
  const fail = (): void => stream.reset();
  const inbox = new Inbox({ stream, load: served.load, fail }, served.limits, "");
  stream.take = {
    data: () => undefined,
    waits: () => inbox.await(),
    ended: () => {
      const { status, headers, body } = served.http(method, path);
      stream.reply(httpHead(status, headers), method === "HEAD" ? Buffer.alloc(0) : body);
    },
    closed: () => inbox.forget(),
  };
}

/** Error with grpc-go's text. */
function unknownMethod(methods: ReadonlyMap<string, Method>, path: string): GrpcError {
  const slash = path.lastIndexOf("/");
  if (slash < (path.startsWith("/") ? 1 : 0)) {
    const text = `malformed method name: ${JSON.stringify(path)}`;
    return new GrpcError(Code.unimplemented, text);
  }
  const service = path.slice(path.startsWith("/") ? 1 : 0, slash);
  const known = methods.keys().some((one) => one.startsWith(`/${service}/`));
  const text = known
    ? `unknown method ${path.slice(slash + 1)} for service ${service}`
    : `unknown service ${service}`;
  return new GrpcError(Code.unimplemented, text);
}

/** One HTTP/2 stream in the form that the services use. */
class Call implements ServerStream {
  readonly stream: H2Stream;
  readonly counted: CountedCall | undefined;
  readonly #log: Log;
  readonly #path: string;

  constructor(
    stream: H2Stream,
    of: { readonly log: Log; readonly path: string; readonly counted: CountedCall | undefined },
  ) {
    this.stream = stream;
    this.counted = of.counted;
    this.#log = of.log;
    this.#path = of.path;
  }

  get isClosed(): boolean {
    return this.stream.isClosed;
  }

  get backlogBytes(): number {
    return this.stream.backlogBytes;
  }

  send(withHeadroom: Buffer): void {
    this.counted?.sent();
    this.stream.send(framed(withHeadroom));
  }

  /** Records that a unary call was answered. */
  answered(): void {
    this.counted?.sent();
    this.counted?.end(Code.ok);
  }

  sendPieces(pieces: readonly Buffer[]): void {
    this.counted?.sent();
    for (const piece of pieces) this.stream.send(piece);
  }

  onDrain(f: () => void): void {
    this.stream.onDrain(f);
  }

  end(): void {
    this.counted?.end(Code.ok);
    this.stream.sendHead();
    this.stream.end(grpcOkTrailers);
  }

  fail(error: unknown): void {
    const { code, message } = this.#errorOf(error);
    this.counted?.end(code);
    this.stream.fail(code, message);
  }

  #errorOf(error: unknown): { readonly code: Code; readonly message: string } {
    if (error instanceof GrpcError) return error;
    if (error instanceof ProtobufError) {
      const message = `grpc: error unmarshalling request: ${error.message}`;
      return { code: Code.internal, message };
    }
    this.#log.error("a call failed", { path: this.#path, error: String(error) });
    return { code: Code.internal, message: "internal error" };
  }
}

function serveUnary(
  served: Served,
  call: Call,
  head: CallHead,
  answer: Extract<Method, { kind: "unary" }>["answer"],
): void {
  const { stream } = call;
  const fail = (error: unknown): void => call.fail(error);
  const inbox = new Inbox({ stream, load: served.load, fail }, served.limits, head.encoding);
  let answered = false;
  let deadline: Timer | undefined;
  const arm = (): void => {
    if (!stream.isClosed && head.timeout !== "") deadline ??= armDeadline(served, call, head);
  };
  const send = (frame: Buffer | readonly Buffer[]): void => {
    call.answered();
    if (Buffer.isBuffer(frame)) stream.answer(frame);
    else stream.answerPieces(frame);
  };
  const run = (message: Buffer): void => {
    if (stream.isServerBusy) throw tooManyRequests();
    const frame = answer(message);
    if (!(frame instanceof Promise)) return send(frame);
    arm();
    stream.run(message.length);
    frame.then(
      (bytes) => {
        stream.rest();
        send(bytes);
      },
      (error: unknown) => {
        stream.rest();
        fail(error);
      },
    );
  };
  const take = (message: Buffer): void => {
    // A call has one message; further ones are dropped.
    if (answered) return;
    answered = true;
    call.counted?.received();
    stream.messageTaken();
    if (!stream.mustWait) return run(message);
    arm();
    runLater(stream, Buffer.from(message), run, fail);
  };
  stream.take = {
    data: (bytes) => {
      if (answered || stream.isClosed) return;
      try {
        inbox.push(bytes, take);
      } catch (error) {
        fail(error);
      }
    },
    // Most messages arrive in the same packet and are answered at once, so the timer is set only for others.
    waits: () => {
      arm();
      if (!answered) inbox.await();
    },
    ended: () => {
      if (!answered) fail(endedEarly(inbox));
    },
    closed: () => {
      deadline?.cancel();
      inbox.forget();
      call.counted?.end(Code.cancelled);
    },
  };
}

function orElse(fail: (error: unknown) => void, step: () => void): void {
  try {
    step();
  } catch (error) {
    fail(error);
  }
}

/** Runs the call later, because its peer has not read earlier answers. */
function runLater(
  stream: H2Stream,
  message: Buffer,
  run: (message: Buffer) => void,
  fail: (error: unknown) => void,
): void {
  stream.run(message.length);
  stream.whenTaken(() => {
    stream.rest();
    if (!stream.isClosed) orElse(fail, () => run(message));
  });
}

/** etcd's error for too many waiting writes. */
function tooManyRequests(): GrpcError {
  return new GrpcError(Code.resourceExhausted, "etcdserver: too many requests");
}

/** Error with grpc-go's text, which includes that of its reader. */
function endedEarly({ hasPartialMessage }: Inbox): GrpcError {
  return new GrpcError(Code.unknown, hasPartialMessage ? "unexpected EOF" : "EOF");
}

/** Long timeouts are rounded up, so that the host keeps few timer lists. */
function armDeadline({ clock }: Served, call: Call, head: CallHead): Timer | undefined {
  const waitMs = timeoutMs(head);
  if (waitMs > timerMsMax) return undefined;
  const delayMs = waitMs < 1000 ? Math.ceil(waitMs) : Math.ceil(waitMs / 100) * 100;
  return clock.after("etcd.deadline", delayMs, () => call.fail(deadlineExceeded()));
}

/** Longer than any useful timeout, and within the 31 bits of the host's timers. */
const timerMsMax = 24 * 3600 * 1000;

function serveStream(
  served: Served,
  call: Call,
  head: CallHead,
  open: Extract<Method, { kind: "stream" }>["open"],
): void {
  const { stream } = call;
  const fail = (error: unknown): void => call.fail(streamError(error));
  const inbox = new Inbox({ stream, load: served.load, fail }, served.limits, head.encoding);
  stream.isPaced = true;
  // Clients wait for the head before they consider the stream open.
  stream.sendHead();
  const end = open(call, head.authorization);
  const deadline = armDeadline(served, call, head);
  const take = (message: Buffer): void => {
    stream.messageTaken();
    if (call.isClosed) return;
    call.counted?.received();
    checkRead(stream);
    end.message(message);
  };
  const orFail = (step: () => void): void => {
    if (!call.isClosed) orElse(fail, step);
  };
  stream.take = {
    data: (bytes) => orFail(() => inbox.push(bytes, take)),
    ended: () =>
      orFail(() => {
        if (inbox.hasPartialMessage) throw new GrpcError(Code.internal, "unexpected EOF");
        end.halfClosed();
      }),
    closed: () => {
      deadline?.cancel();
      inbox.forget();
      call.counted?.end(Code.cancelled);
      end.closed();
    },
  };
}

/** More than a watch's backlog plus one batch of the store. */
const unreadBytesMax = 8 * 2 ** 20;
const unreadFramesMax = 10_000;

/** Every message may be answered, so a client that sends without reading is stopped. */
function checkRead({ pendingBytes, pendingFrames }: H2Stream): void {
  if (pendingBytes <= unreadBytesMax && pendingFrames <= unreadFramesMax) return;
  throw new GrpcError(Code.resourceExhausted, "etcdserver: the stream's answers are not read");
}

/** grpc-go has other texts for streams. */
function streamError(error: unknown): unknown {
  if (!(error instanceof ProtobufError)) return error;
  const message = `grpc: failed to unmarshal the received message: ${error.message}`;
  return new GrpcError(Code.internal, message);
}
