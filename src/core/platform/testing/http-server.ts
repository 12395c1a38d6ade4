/**
 * An HTTP server in memory, for clients that take a ByteTransport: whole answers, and streams that a test
 * writes to, ends or cuts.
 */
import type { ByteRequest, ByteResponse, ByteTransport } from "../byte-transport.ts";
import { ByteTransportError } from "../byte-transport.ts";

type Answer = (request: ByteRequest) => ByteResponse | Promise<ByteResponse>;

export class FakeHttpServer implements ByteTransport {
  /** All requests received, including those received while it was down. */
  readonly requests: ByteRequest[] = [];
  /** While true, further requests fail as if the port were closed. */
  down = false;
  readonly #answer: Answer;

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  send(request: ByteRequest): Promise<ByteResponse> {
    this.requests.push(request);
    if (this.down) return Promise.reject(new ByteTransportError("refused", "ECONNREFUSED"));
    return Promise.resolve(this.#answer(request));
  }

  close(): void {}
}

/** Returns an answer that is complete at once; text becomes UTF-8. Streamed, it is one chunk. */
export function wholeAnswer(
  status: number,
  body: Uint8Array | string = "",
  headers: Readonly<Record<string, string>> = {},
): ByteResponse {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return {
    status,
    headers,
    read: (limitBytes) => Promise.resolve(bytes.length > limitBytes ? "too-large" : bytes),
    stream: async (take) => {
      await take(bytes);
    },
  };
}

/** Returns an answer with a JSON object, or with JSON given as text. */
export function jsonAnswer(status: number, body: object | string): ByteResponse {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return wholeAnswer(status, text, { "content-type": "application/json" });
}

/**
 * An answer 200 whose body the test sends, chunk by chunk. It is over once the test ends or cuts it, or the
 * reader throws; nothing that is sent before it is read, or after it is over, arrives. While a promise of the reader
 * holds it back, chunks wait; a cut drops them.
 */
export class FakeBodyStream {
  readonly response: ByteResponse;
  #take: ((chunk: Uint8Array) => unknown) | undefined;
  #settle: { resolve(): void; reject(error: Error): void } | undefined;
  #over = false;
  /** Chunks that wait while the reader holds the sender back, and how the stream ends after them. */
  #held: { readonly chunks: Uint8Array[]; ends: boolean } | undefined;

  constructor() {
    this.response = {
      status: 200,
      headers: {},
      read: () => Promise.reject(new TypeError("this answer is streamed")),
      stream: (take) => this.#read(take),
    };
  }

  get over(): boolean {
    return this.#over;
  }

  send(chunk: Uint8Array): void {
    if (this.#over) return;
    if (this.#held !== undefined) return void this.#held.chunks.push(chunk);
    try {
      const taken = this.#take?.(chunk);
      if (taken instanceof Promise) this.#hold(taken);
    } catch (error) {
      this.#finish(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #hold(taken: Promise<unknown>): void {
    const held = { chunks: [] as Uint8Array[], ends: false };
    this.#held = held;
    taken.then(
      () => this.#goOn(held),
      (error: unknown) => this.#finish(error instanceof Error ? error : new Error(String(error))),
    );
  }

  #goOn({ chunks, ends }: { readonly chunks: Uint8Array[]; readonly ends: boolean }): void {
    this.#held = undefined;
    for (const chunk of chunks) this.send(chunk);
    if (ends) this.end();
  }

  /** Ends the stream cleanly. */
  end(): void {
    if (this.#held === undefined) this.#finish(undefined);
    else this.#held.ends = true;
  }

  /** Resets the connection. */
  cut(): void {
    this.#finish(new ByteTransportError("cut", "ECONNRESET"));
  }

  #read(take: (chunk: Uint8Array) => unknown): Promise<void> {
    if (this.#over) return Promise.resolve();
    this.#take = take;
    return new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
  }

  #finish(error: Error | undefined): void {
    if (this.#over) return;
    this.#over = true;
    if (error === undefined) this.#settle?.resolve();
    else this.#settle?.reject(error);
  }
}
