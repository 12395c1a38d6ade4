/** A TCP way between two processes that a test can cut. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A way that can be cut: what is under way is lost in silence, and nothing new gets through. */
export class CutWay {
  readonly #server = createServer((socket) => this.#join(socket));
  readonly #to: number;
  readonly #open = new Set<Socket>();
  isCut = false;
  /** Connections so far. */
  count = 0;

  constructor(to: number) {
    this.#to = to;
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    for (const socket of this.#open) socket.destroy();
    this.#server.close();
  }

  #join(from: Socket): void {
    this.count++;
    const to = connect(this.#to, "127.0.0.1");
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.#open.add(one);
      one.on("data", (chunk) => {
        if (!this.isCut) other.write(chunk);
      });
      one.on("error", () => other.destroy());
      one.on("close", () => {
        this.#open.delete(one);
        other.destroy();
      });
    }
  }
}
