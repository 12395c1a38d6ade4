/**
 * One exec or attach between a WebSocket client (v5.channel.k8s.io) and a kubelet (SPDY, v4.channel.k8s.io).
 *
 *   client                         kubelet
 *   channel 0, stdin      ─▶       stream "stdin"        [255, 0] ─▶ end of the stream
 *   channel 1, stdout     ◀─       stream "stdout"
 *   channel 2, stderr     ◀─       stream "stderr"       not with a terminal
 *   channel 3, Status     ◀─       stream "error"        last, when stdout and stderr have ended
 *   channel 4, resize     ─▶       stream "resize"       with a terminal
 *
 * Holds  the Status is sent once, after all output; then the WebSocket closes. When the client disconnects, the
 *        kubelet's connection ends, and vice versa.
 * Bounds only the Status is buffered, at most 64 KiB. While one side is slow, nothing is written to it and the other
 *        side is not read. SPDY's own windows are not used, as in upstream.
 */
import { internalError, type Status } from "#api/status.ts";
import type { ByteDuplex } from "#platform/http.ts";
import { type SpdyEvent, SpdyReader } from "#wire/spdy/frame-reader.ts";
import { dataFrames, finFrame, pingFrame, StreamOpener } from "#wire/spdy/frames.ts";
import type { WebSocketPiece } from "#wire/websocket/frame-reader.ts";
import { CloseCode } from "#wire/websocket/frames.ts";
import { exitStatus } from "./exit-status.ts";
import { untilDrained } from "./join.ts";
import type { StreamOptions } from "./stream-options.ts";
import type { WebSocketPeer } from "./websocket-peer.ts";

const Channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
const statusBytesMax = 65_536;

/** Ends the stream with a Status when the kubelet could not be reached or refused. */
export async function refuseExec(peer: WebSocketPeer, status: Status): Promise<void> {
  const left = peer.receive(() => {});
  sendStatus(peer, status);
  await left;
}

function sendStatus(peer: WebSocketPeer, status: object): void {
  void peer.send(true, channelMessage(Channel.error, Buffer.from(JSON.stringify(status))));
  peer.close(CloseCode.normal);
}

function channelMessage(channel: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of(channel), bytes]);
}

export class ExecTranslation {
  readonly #peer: WebSocketPeer;
  readonly #kubelet: ByteDuplex;
  readonly #options: StreamOptions;
  readonly #frames = new SpdyReader();
  /** SPDY streams by channel, without the channels that the client has ended. */
  readonly #streams = new Map<number, number>();
  /** Channels that the kubelet has not ended yet, by stream. */
  readonly #open = new Map<number, number>();
  readonly #status: Uint8Array[] = [];
  #statusBytes = 0;
  /** Channel of the client's current message. Undefined: its first byte has not arrived. */
  #channel: number | undefined;
  #isFinished = false;

  constructor(peer: WebSocketPeer, kubelet: ByteDuplex, options: StreamOptions) {
    this.#peer = peer;
    this.#kubelet = kubelet;
    this.#options = options;
  }

  /** Resolves when both connections have ended. */
  async run(): Promise<void> {
    this.#openStreams();
    this.#greet();
    const kubeletEnded = this.#kubelet
      .stream((chunk) => this.#takeFrames(this.#frames.read(chunk)))
      .then(() => this.#fail("unexpected EOF"))
      .catch(() => this.#fail("connection reset by peer"));
    await this.#peer.receive((piece) => this.#takePiece(piece));
    this.#isFinished = true;
    this.#kubelet.abort();
    // Closes the connection of a client that has ended only its own direction.
    this.#peer.close(CloseCode.normal);
    await kubeletEnded;
  }

  #openStreams(): void {
    const { stdin, stdout, stderr, tty } = this.#options;
    const opener = new StreamOpener();
    const open = (channel: number, streamType: string): void => {
      const { id, frame } = opener.open({ streamType });
      this.#streams.set(channel, id);
      this.#open.set(id, channel);
      this.#kubelet.write([frame]);
    };
    open(Channel.error, "error");
    if (stdin) open(Channel.stdin, "stdin");
    if (stdout) open(Channel.stdout, "stdout");
    if (stderr && !tty) open(Channel.stderr, "stderr");
    if (tty) open(Channel.resize, "resize");
  }

  /** Sends an empty message on the lowest channel the client reads, to show that the connection is open. */
  #greet(): void {
    const { stdout, stderr } = this.#options;
    const channel = stdout ? Channel.stdout : stderr ? Channel.stderr : Channel.error;
    void this.#peer.send(true, Uint8Array.of(channel));
  }

  #takePiece({ isFirst, bytes }: WebSocketPiece): Promise<void> | undefined {
    if (isFirst) this.#channel = undefined;
    let rest = bytes;
    if (this.#channel === undefined) {
      this.#channel = bytes[0];
      rest = bytes.subarray(1);
    }
    if (rest.length === 0 || this.#channel === undefined) return undefined;
    if (this.#channel === Channel.close) return this.#endChannel(rest);
    return this.#write(this.#channel, rest);
  }

  #write(channel: number, bytes: Uint8Array): Promise<void> | undefined {
    const isInput = channel === Channel.stdin || channel === Channel.resize;
    const stream = isInput ? this.#streams.get(channel) : undefined;
    if (stream === undefined) return undefined;
    return untilDrained(this.#kubelet, this.#kubelet.write(dataFrames(stream, bytes)));
  }

  /** `channel`: the single byte after the close signal. */
  #endChannel([channel = 0, ...more]: Uint8Array): undefined {
    if (more.length > 0 || channel > Channel.resize) {
      this.#peer.close(CloseCode.protocolError);
      return;
    }
    const stream = this.#streams.get(channel);
    if (stream === undefined || channel === Channel.error) return;
    this.#streams.delete(channel);
    this.#kubelet.write([finFrame(stream)]);
  }

  #takeFrames(events: readonly SpdyEvent[]): Promise<void> | undefined {
    let held: Promise<void> | undefined;
    for (const event of events) {
      // The Status has been sent, so further events are ignored.
      if (this.#isFinished) return undefined;
      held = this.#takeFrame(event) ?? held;
    }
    return held;
  }

  #takeFrame(event: SpdyEvent): Promise<void> | undefined {
    switch (event.kind) {
      case "data":
        return this.#takeData(event.stream, event.bytes, event.isFin);
      case "reset":
        this.#endStream(event.stream);
        return undefined;
      case "ping":
        // Even ids are pings of the kubelet; odd ids would be answers to this server's pings.
        if (event.id % 2 !== 0) return undefined;
        return untilDrained(this.#kubelet, this.#kubelet.write([pingFrame(event.id)]));
      case "opened":
        this.#fail("the kubelet opened a stream");
        return undefined;
      case "broken":
        this.#fail(event.reason);
        return undefined;
      case "goAway":
        return undefined;
      default:
        return event satisfies never;
    }
  }

  #takeData(stream: number, bytes: Uint8Array, isFin: boolean): Promise<void> | undefined {
    const channel = this.#open.get(stream);
    let held: Promise<void> | undefined;
    if (channel === Channel.error) this.#keepStatus(bytes);
    else if (bytes.length > 0 && (channel === Channel.stdout || channel === Channel.stderr))
      held = this.#peer.send(true, channelMessage(channel, bytes));
    if (isFin) this.#endStream(stream);
    return held;
  }

  #keepStatus(bytes: Uint8Array): void {
    this.#statusBytes += bytes.length;
    if (this.#statusBytes > statusBytesMax) return this.#fail("the status is too long");
    // Copied, because the slice would keep the whole chunk in memory.
    this.#status.push(bytes.slice());
  }

  #endStream(stream: number): void {
    this.#open.delete(stream);
    const awaited = [...this.#open.values()].some(
      (channel) => channel !== Channel.stdin && channel !== Channel.resize,
    );
    if (!awaited) this.#finish(exitStatus(Buffer.concat(this.#status).toString()));
  }

  #fail(why: string): void {
    this.#finish(internalError(`error reading from error stream: ${why}`).status);
  }

  #finish(status: object): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    sendStatus(this.#peer, status);
  }
}
