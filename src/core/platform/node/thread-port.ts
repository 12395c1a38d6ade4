/** A MessagePort as one end of a channel between two threads of this process. */
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";

export class NodeThreadPort<Sent, Received> {
  readonly #port: MessagePort;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  post(message: Sent, transfer: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(message, [...transfer]);
  }

  take(): Received | undefined {
    return (receiveMessageOnPort(this.#port) as { readonly message: Received } | undefined)
      ?.message;
  }

  listen(receive: (message: Received) => void): void {
    this.#port.on("message", receive);
  }

  close(): void {
    this.#port.close();
  }
}
