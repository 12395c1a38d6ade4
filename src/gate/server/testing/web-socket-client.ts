/** For tests: the client of a WebSocket that a handler opened, without a socket; and its request headers. */
import type { ByteDuplex, PlainResponse, TakeChunk } from "#platform/http.ts";

/** Request headers as fabric8's clients send them. */
export const webSocketHeaders: Readonly<Record<string, string>> = {
  upgrade: "websocket",
  connection: "Upgrade",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-version": "13",
  origin: "https://127.0.0.1:6443",
};

interface Message {
  readonly opcode: number;
  readonly payload: Buffer;
}

export class WebSocketClient implements ByteDuplex {
  readonly chunks: Uint8Array[] = [];
  /** Result of a write: whether there is room. */
  room = true;
  isEnded = false;
  isAborted = false;
  #drained: (() => void)[] = [];
  #take: TakeChunk = () => {};
  #over: { resolve(): void; reject(error: Error): void } = { resolve: () => {}, reject: () => {} };

  get closed(): boolean {
    return this.isEnded || this.isAborted;
  }

  get messages(): readonly Message[] {
    return messagesOf(Buffer.concat(this.chunks));
  }

  /** The events of text messages. */
  get events(): readonly { readonly type: string; readonly object: { readonly kind?: string } }[] {
    const texts = this.messages.filter(({ opcode }) => opcode === 1);
    return texts.map(({ payload }) => JSON.parse(payload.toString()) as never);
  }

  write(chunks: readonly Uint8Array[]): boolean {
    if (!this.closed) this.chunks.push(...chunks);
    return this.room;
  }

  onDrain(f: () => void): void {
    this.#drained.push(f);
  }

  drain(): void {
    this.room = true;
    for (const f of this.#drained.splice(0)) f();
  }

  end(): void {
    this.isEnded = true;
  }

  abort(): void {
    this.isAborted = true;
    this.#over.reject(new Error("aborted"));
  }

  stream(take: TakeChunk): Promise<void> {
    this.#take = take;
    return new Promise((resolve, reject) => (this.#over = { resolve, reject }));
  }

  /** @returns a promise while the handler holds the client back. */
  send(bytes: Uint8Array): void | Promise<void> {
    return this.#take(bytes);
  }

  /** Ends the client's direction. */
  leave(): void {
    this.#over.resolve();
  }
}

export function opened(response: PlainResponse): WebSocketClient {
  if (response.kind !== "tunnel") throw new Error(`a ${response.kind} answer: ${response.status}`);
  const client = new WebSocketClient();
  response.open(client);
  return client;
}

/** Parses frames of a server: unmasked, one whole message each. */
export function messagesOf(bytes: Buffer): readonly Message[] {
  const messages: Message[] = [];
  for (let at = 0; at < bytes.length;) {
    const short = bytes.readUInt8(at + 1);
    const head = short < 126 ? 2 : short === 126 ? 4 : 10;
    const length =
      short < 126
        ? short
        : short === 126
          ? bytes.readUInt16BE(at + 2)
          : Number(bytes.readBigUInt64BE(at + 2));
    const start = at + head;
    messages.push({
      opcode: bytes.readUInt8(at) & 0x0f,
      payload: bytes.subarray(start, start + length),
    });
    at = start + length;
  }
  return messages;
}
