/** Subscribers of endpoints over HTTP/2, many to a connection, that acknowledge what they get. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { Deframer, framed, prefixBytes } from "#wire/grpc.ts";
import { deltaRequest, readDelta } from "#xds/testing/test-client.ts";

const path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
const messageBytesMax = 16 * 2 ** 20;
const perConnection = 200;

/** Called with each response, as latin1 text: addresses stand in it as they are. */
export type Heard = (text: string, subscriber: Subscriber) => void;

export class Subscriber {
  readonly names: readonly string[];
  readonly type: string;
  readonly versions = new Map<string, string>();
  bytes = 0;
  #stream: ClientHttp2Stream | undefined;
  readonly #heard: Heard;

  constructor(type: string, names: readonly string[], heard: Heard) {
    this.type = type;
    this.names = names;
    this.#heard = heard;
  }

  /** With the versions that it holds. */
  open(session: ClientHttp2Session): void {
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    this.#stream = stream;
    const deframer = new Deframer(messageBytesMax);
    stream.on("data", (chunk: Buffer) => deframer.push(chunk, (message) => this.#take(message)));
    stream.on("error", () => undefined);
    const { type, names: subscribe, versions } = this;
    this.#say(deltaRequest({ type, subscribe, versions }));
  }

  #take(message: Buffer): void {
    this.bytes += message.length;
    const { nonce, resources } = readDelta(message);
    for (const [name, { version }] of resources) this.versions.set(name, version);
    this.#say(deltaRequest({ type: this.type, nonce }));
    this.#heard(message.toString("latin1"), this);
  }

  #say(request: Uint8Array): void {
    if (this.#stream?.writable !== true) return;
    const bytes = Buffer.alloc(prefixBytes + request.length);
    bytes.set(request, prefixBytes);
    this.#stream.write(framed(bytes));
  }
}

/** Opens all of them at that port. @returns how to let go of the connections. */
export async function openAll(all: readonly Subscriber[], port: number): Promise<() => void> {
  const sessions: ClientHttp2Session[] = [];
  for (let at = 0; at < all.length; at += perConnection) {
    const session = connect(`http://127.0.0.1:${port}`);
    session.on("error", () => undefined);
    sessions.push(session);
    await new Promise<void>((resolve, reject) =>
      session.once("remoteSettings", () => resolve()).once("error", reject),
    );
    for (const one of all.slice(at, at + perConnection)) one.open(session);
  }
  return () => {
    for (const session of sessions) session.destroy();
  };
}
