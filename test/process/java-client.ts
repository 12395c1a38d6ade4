/** Requests as fabric8's kubernetes-client 7 sends them: watches over WebSocket, head and all, and plain calls. */
import { once } from "node:events";
import { request as httpsRequest } from "node:https";
import { connect, type TLSSocket } from "node:tls";
import type { AnyObject } from "#api/object.ts";
import { messagesOf } from "#server/testing/web-socket-client.ts";
import { clientFrame } from "#wire/websocket/testing/client-frame.ts";

interface Door {
  readonly port: number;
  readonly ca: string;
  readonly token: string;
}

interface Answer {
  readonly status: number;
  readonly body: AnyObject;
}

interface WatchedEvent {
  readonly type: string;
  readonly object: AnyObject;
}

export class JavaClient {
  readonly #door: Door;

  constructor(door: Door) {
    this.#door = door;
  }

  call(method: string, path: string, body?: object, type = "application/json"): Promise<Answer> {
    const { port, ca, token } = this.#door;
    const headers = { authorization: `Bearer ${token}`, "content-type": type };
    const options = { host: "127.0.0.1", port, ca, method, path, headers, agent: false as const };
    return new Promise((resolve, reject) => {
      const sent = httpsRequest(options, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const read = JSON.parse(Buffer.concat(chunks).toString()) as AnyObject;
          resolve({ status: response.statusCode ?? 0, body: read });
        });
        response.on("error", reject);
      });
      sent.on("error", reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  async socket(path: string, protocol = ""): Promise<JavaSocket> {
    const { port, ca, token } = this.#door;
    const socket = connect({ host: "127.0.0.1", port, ca });
    socket.on("error", () => {});
    socket.write(
      [
        `GET ${path} HTTP/1.1`,
        `Authorization: Bearer ${token}`,
        `Origin: https://127.0.0.1:${port}`,
        "User-Agent: fabric8-kubernetes-client/7.4.0",
        `host: 127.0.0.1:${port}`,
        "upgrade: websocket",
        "connection: upgrade",
        "sec-websocket-key: jHEez1b1HdfJcpYmg9Zssw==",
        "sec-websocket-version: 13",
        ...(protocol === "" ? [] : [`sec-websocket-protocol: ${protocol}`]),
        "\r\n",
      ].join("\r\n"),
    );
    const opened = new JavaSocket(socket);
    await opened.head();
    return opened;
  }
}

export class JavaSocket {
  readonly #socket: TLSSocket;
  #bytes = Buffer.alloc(0);
  #ended = false;

  constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => (this.#bytes = Buffer.concat([this.#bytes, chunk])));
    socket.on("end", () => (this.#ended = true));
  }

  /** The head of the answer. */
  async head(): Promise<string> {
    while (this.#headEnd < 0) await once(this.#socket, "data");
    return this.#bytes.subarray(0, this.#headEnd).toString("latin1");
  }

  /** What follows the head, once the server has ended its half. */
  async rest(): Promise<string> {
    if (!this.#ended) await once(this.#socket, "end");
    return this.#bytes.subarray(this.#headEnd + 4).toString();
  }

  get events(): readonly WatchedEvent[] {
    const messages = messagesOf(this.#bytes.subarray(this.#headEnd + 4));
    const texts = messages.filter(({ opcode }) => opcode === 1);
    return texts.map(({ payload }) => JSON.parse(payload.toString()) as WatchedEvent);
  }

  /** The events so far, once `isThere` says yes of them. */
  async until(
    isThere: (events: readonly WatchedEvent[]) => boolean,
  ): Promise<readonly WatchedEvent[]> {
    while (!isThere(this.events)) await once(this.#socket, "data");
    return this.events;
  }

  /** As the client closes: a close frame, and then the connection's end. @returns the server's last frame. */
  async close(): Promise<Buffer> {
    this.#socket.write(clientFrame(8, Uint8Array.of(3, 0xe8)));
    if (!this.#ended) await once(this.#socket, "end");
    this.#socket.destroy();
    const last = messagesOf(this.#bytes.subarray(this.#headEnd + 4)).at(-1);
    return last?.opcode === 8 ? last.payload : Buffer.alloc(0);
  }

  get #headEnd(): number {
    return this.#bytes.indexOf("\r\n\r\n");
  }
}
