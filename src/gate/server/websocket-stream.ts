/**
 * Turns a stream whose client asked for a WebSocket into a tunnel for the transport.
 *
 *   stream 101 (watch-stream.ts) --> sample, audit, review --> switched() --> tunnel --> rim
 *
 * Holds  up to here it is a stream like any other: the code that counts, audits or ends streams does not know
 *        WebSocket. One close frame is sent, and nothing after it. Data from the client is skipped; pings are answered
 *        while the client reads; the client's end ends the stream.
 * Bounds after each frame from a client, the client is not read for a millisecond per frame, up to `restMsMax`: a flood
 *        of frames costs little, from any number of clients. A frame of more than `frameBytesMax` ends the stream, as
 *        in upstream's library. A client that does not close after the close frame is disconnected after `lingerMs`.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { ByteDuplex, ByteSink, PlainResponse } from "#platform/http.ts";
import { type WebSocketEvent, WebSocketReader } from "#wire/websocket/frame-reader.ts";
import { CloseCode, closeFrame, pongFrame } from "#wire/websocket/frames.ts";

const frameBytesMax = 32 * 1024 * 1024;
const restMsMax = 1_000;
const lingerMs = 10_000;

/** Turns a stream with status 101 into a WebSocket; other answers pass unchanged. */
export function switched(clock: Clock, response: PlainResponse): PlainResponse {
  if (response.kind !== "stream" || response.status !== 101) return response;
  const { headers } = response;
  const open = (client: ByteDuplex): void => {
    const sink = new MessageSink(clock, client);
    const close = response.open(sink);
    void sink.untilLeft().then(close);
  };
  return { kind: "tunnel", status: 101, headers, open };
}

class MessageSink implements ByteSink {
  readonly #clock: Clock;
  readonly #client: ByteDuplex;
  readonly #reader = new WebSocketReader({ skipsMessages: true, frameBytesMax });
  #hasRoom = true;
  #isClosing = false;
  #hasLeft = false;
  #linger: Timer | undefined;

  constructor(clock: Clock, client: ByteDuplex) {
    this.#clock = clock;
    this.#client = client;
  }

  get closed(): boolean {
    return this.#isClosing || this.#client.closed;
  }

  write(chunks: readonly Uint8Array[]): boolean {
    if (this.closed) return true;
    this.#hasRoom = this.#client.write(chunks);
    if (!this.#hasRoom) this.#client.onDrain(() => (this.#hasRoom = true));
    return this.#hasRoom;
  }

  onDrain(f: () => void): void {
    this.#client.onDrain(f);
  }

  end(): void {
    this.#close(CloseCode.normal);
  }

  abort(): void {
    this.#client.abort();
  }

  /** Resolves when the client has closed, violated the protocol, or disconnected. */
  async untilLeft(): Promise<void> {
    try {
      await this.#client.stream((chunk) => this.#take(this.#reader.read(chunk)));
    } catch {
      this.#client.abort();
    }
    this.#hasLeft = true;
    this.#linger?.cancel();
    this.#close(CloseCode.normal);
  }

  #take(events: readonly WebSocketEvent[]): Promise<void> | undefined {
    for (const event of events) this.#takeOne(event);
    if (events.length === 0) return undefined;
    const restMs = Math.min(events.length, restMsMax);
    return new Promise((resolve) => void this.#clock.after("server.websocket", restMs, resolve));
  }

  #takeOne(event: WebSocketEvent): void {
    switch (event.kind) {
      case "ping":
        // A client that does not read gets no pong.
        if (this.#hasRoom) this.write(pongFrame(event.bytes));
        return;
      case "close":
        return this.#close(CloseCode.normal);
      case "broken":
        return this.#close(CloseCode.protocolError);
      case "piece":
      case "skipped":
        return;
      default:
        event satisfies never;
    }
  }

  #close(code: number): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    if (!this.#client.closed) this.#client.write(closeFrame(code));
    this.#client.end();
    if (this.#hasLeft) return;
    this.#linger = this.#clock.after("server.websocket", lingerMs, () => this.#client.abort());
  }
}
