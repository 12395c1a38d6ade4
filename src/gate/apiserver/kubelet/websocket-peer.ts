/**
 * The server's end of a WebSocket, over a connection after its protocol switch.
 *
 * Holds  one close frame is sent, and nothing after it. A protocol error of the client closes the WebSocket with 1002.
 *        Pings are answered at the client's own pace: while the client does not read, the server does not read from it.
 * Bounds a client that does not close after the close frame is disconnected after `lingerMs`.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { ByteDuplex } from "#platform/http.ts";
import {
  type WebSocketEvent,
  type WebSocketPiece,
  WebSocketReader,
} from "#wire/websocket/frame-reader.ts";
import { CloseCode, closeFrame, messageFrame, pongFrame } from "#wire/websocket/frames.ts";
import { lingerMs, untilDrained } from "./join.ts";

/** A returned promise pauses reading from the client until it settles. */
type TakePiece = (piece: WebSocketPiece) => void | Promise<void>;

export class WebSocketPeer {
  readonly #clock: Clock;
  readonly #duplex: ByteDuplex;
  readonly #reader = new WebSocketReader();
  #isClosing = false;
  /** Whether the client sends nothing more. */
  #hasEnded = false;
  #linger: Timer | undefined;
  #stop: () => void = () => {};

  constructor(clock: Clock, duplex: ByteDuplex) {
    this.#clock = clock;
    this.#duplex = duplex;
  }

  /** @returns a promise when the socket's buffer is full: await it before the next message. */
  send(isBinary: boolean, payload: Uint8Array): Promise<void> | undefined {
    if (this.#isClosing) return undefined;
    return untilDrained(this.#duplex, this.#duplex.write(messageFrame(isBinary, payload)));
  }

  /** Resolves when either side closed, or when the client's connection ended or broke. */
  receive(take: TakePiece): Promise<void> {
    const stopped = new Promise<void>((resolve) => (this.#stop = resolve));
    const read = this.#duplex
      .stream((chunk) => this.#takeAll(this.#reader.read(chunk), take))
      .catch(() => this.#duplex.abort())
      .then(() => {
        this.#hasEnded = true;
        this.#linger?.cancel();
      });
    return Promise.race([stopped, read]);
  }

  close(code: number): void {
    this.#stop();
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#duplex.write(closeFrame(code));
    this.#duplex.end();
    if (this.#hasEnded) return;
    this.#linger = this.#clock.after("kubelet.end", lingerMs, () => this.#duplex.abort());
  }

  /** Takes all events of a chunk in order. Resolves when the sinks of their output have room again. */
  #takeAll(events: readonly WebSocketEvent[], take: TakePiece): Promise<void> | undefined {
    const held = events
      .map((event) => this.#takeOne(event, take))
      .filter((one) => one !== undefined);
    return held.length === 0 ? undefined : Promise.all(held).then(() => undefined);
  }

  #takeOne(event: WebSocketEvent, take: TakePiece): void | Promise<void> {
    if (this.#isClosing) return undefined;
    switch (event.kind) {
      case "piece":
        return take(event);
      case "ping":
        return untilDrained(this.#duplex, this.#duplex.write(pongFrame(event.bytes)));
      case "close":
        return this.close(event.code === 1005 ? CloseCode.normal : event.code);
      case "broken":
        return this.close(CloseCode.protocolError);
      case "skipped":
        return undefined;
      default:
        return event satisfies never;
    }
  }
}
