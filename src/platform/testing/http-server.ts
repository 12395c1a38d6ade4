/**
 * An HTTP server in memory, for clients that take a ByteTransport: whole answers, and streams that a test
 * writes to, ends or cuts.
 */
import type { ByteRequest, ByteResponse, ByteTransport } from "../byte-transport.ts";
import { ByteTransportError } from "../byte-transport.ts";

type Answer = (request: ByteRequest) => ByteResponse | Promise<ByteResponse>;

export class FakeHttpServer implements ByteTransport {
  /** Everything it was asked, also while it was down. */
  readonly requests: ByteRequest[] = [];
  /** Further requests fail as if the port were closed. */
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

/** An answer that is there at once; text becomes UTF-8. Streamed, it is one chunk. */
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

/** An answer of a JSON object, or of JSON as text. */
export function jsonAnswer(status: number, body: object | string): ByteResponse {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return wholeAnswer(status, text, { "content-type": "application/json" });
}

/**
 * An answer 200 whose body the test sends, chunk by chunk. It is over once the test ends or cuts it, or the
 * reader throws; nothing that is sent before it is read, or after it is over, arrives.
 */
export class FakeBodyStream {
  readonly response: ByteResponse;
  #take: ((chunk: Uint8Array) => unknown) | undefined;
  #settle: { resolve(): void; reject(error: Error): void } | undefined;
  #over = false;

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
    try {
      void this.#take?.(chunk);
    } catch (error) {
      this.#finish(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** The clean end. */
  end(): void {
    this.#finish(undefined);
  }

  /** The connection is reset. */
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
