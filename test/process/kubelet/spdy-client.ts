/** A SPDY/3.1 client on a raw connection, as much of it as tests of exec and port-forward need. */
import type { Duplex } from "node:stream";
import { SpdyReader } from "#wire/spdy/frame-reader.ts";
import { dataFrames, finFrame, StreamOpener } from "#wire/spdy/frames.ts";

export interface SpdyClient {
  /** Of the 101. */
  readonly head: string;
  open(streamType: string, headers?: Readonly<Record<string, string>>): number;
  write(stream: number, text: string): void;
  end(stream: number): void;
  text(stream: number): string;
  until(stream: number, f: (text: string) => boolean): Promise<void>;
  ended(stream: number): Promise<void>;
  close(): void;
  readonly closed: Promise<void>;
}

/** Rejects with the answer when the server does not switch. */
export async function openSpdy(
  socket: Duplex,
  target: string,
  version: string,
  headers: readonly string[] = [],
): Promise<SpdyClient> {
  const lines = [
    `POST ${target} HTTP/1.1`,
    "host: x",
    "connection: Upgrade",
    "upgrade: SPDY/3.1",
    `x-stream-protocol-version: ${version}`,
    "content-length: 0",
    ...headers,
  ];
  socket.on("error", () => {});
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  let got = Buffer.alloc(0);
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  await new Promise<void>((resolve) => {
    const take = (chunk: Buffer): void => {
      got = Buffer.concat([got, chunk]);
      const isRefused = got.length > 12 && !got.toString("latin1").startsWith("HTTP/1.1 101");
      if (isRefused || !got.includes("\r\n\r\n")) return;
      socket.off("data", take).pause();
      resolve();
    };
    socket.on("data", take);
    socket.on("end", () => socket.end());
    void closed.then(resolve);
  });
  const end = got.indexOf("\r\n\r\n") + 4;
  const head = got.toString("latin1", 0, end);
  if (!head.startsWith("HTTP/1.1 101")) {
    socket.destroy();
    throw new Error(got.toString());
  }
  return clientOn(socket, head, got.subarray(end), closed);
}

function clientOn(socket: Duplex, head: string, first: Buffer, closed: Promise<void>): SpdyClient {
  const reader = new SpdyReader();
  const opener = new StreamOpener();
  const texts = new Map<number, string>();
  const finished = new Set<number>();
  const waiting = new Set<() => void>();
  const take = (chunk: Buffer): void => {
    for (const event of reader.read(chunk)) {
      if (event.kind !== "data") continue;
      const { stream, bytes, isFin } = event;
      texts.set(stream, (texts.get(stream) ?? "") + Buffer.from(bytes).toString());
      if (isFin) finished.add(stream);
    }
    for (const look of waiting) look();
  };
  take(first);
  socket.on("data", take);
  socket.resume();
  const when = (f: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!f()) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      void closed.then(() => reject(new Error("closed")));
      look();
    });
  return {
    head,
    open(streamType, headers = {}) {
      const { id, frame } = opener.open({ streamtype: streamType, ...headers });
      socket.write(frame);
      return id;
    },
    write: (stream, text) =>
      dataFrames(stream, Buffer.from(text)).forEach((part) => socket.write(part)),
    end: (stream) => void socket.write(finFrame(stream)),
    text: (stream) => texts.get(stream) ?? "",
    until: (stream, f) => when(() => f(texts.get(stream) ?? "")),
    ended: (stream) => when(() => finished.has(stream)),
    close: () => void socket.destroy(),
    closed,
  };
}
