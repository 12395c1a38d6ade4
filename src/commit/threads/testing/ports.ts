/** Two ends of a channel in one thread: messages are copied as between threads, and arrive when `deliver` is called. */
import type { ThreadPort } from "../thread-port.ts";

class FakePort<Sent, Received> implements ThreadPort<Sent, Received> {
  readonly inbox: Received[] = [];
  peer: { readonly inbox: Sent[] } | undefined;
  #receive: ((message: Received) => void) | undefined;

  post(message: Sent, transfer: readonly ArrayBuffer[] = []): void {
    this.peer?.inbox.push(structuredClone(message, { transfer: [...transfer] }));
  }

  take(): Received | undefined {
    return this.inbox.shift();
  }

  listen(receive: (message: Received) => void): void {
    this.#receive = receive;
  }

  close(): void {
    this.#receive = undefined;
  }

  /** Delivers at most `most` messages. @returns whether any message was waiting. */
  deliver(most: number): boolean {
    const had = this.inbox.length > 0;
    for (let count = 0; count < most && this.#receive !== undefined; count++) {
      const message = this.inbox.shift();
      if (message === undefined) break;
      this.#receive(message);
    }
    return had;
  }
}

export function fakePorts<A, B>(): {
  readonly writer: FakePort<A, B>;
  readonly reader: FakePort<B, A>;
} {
  const writer = new FakePort<A, B>();
  const reader = new FakePort<B, A>();
  writer.peer = reader;
  reader.peer = writer;
  return { writer, reader };
}
