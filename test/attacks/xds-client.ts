/** A raw client of the discovery service, on gRPC's own library: bytes in, bytes out. */
import {
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { type DeltaTold, readDelta, readState, type StateTold } from "#xds/testing/test-client.ts";

const service = "/envoy.service.discovery.v3.AggregatedDiscoveryService";
const same = (bytes: Buffer): Buffer => bytes;

interface Dial {
  readonly address: string;
  /** PEM. */
  readonly ca: string;
  readonly as?: { readonly certificate: string; readonly privateKey: string };
  readonly token?: string;
}

export class XdsClient {
  readonly #client: Client;
  readonly #stream: ClientDuplexStream<Buffer, Buffer>;
  readonly #received: Buffer[] = [];
  readonly #waiting: (() => void)[] = [];
  #error: ServiceError | undefined;

  constructor(dial: Dial, protocol: "delta" | "state" = "delta") {
    const bytes = (pem: string | undefined): Buffer | null =>
      pem === undefined ? null : Buffer.from(pem);
    const { as } = dial;
    const secure = credentials.createSsl(
      Buffer.from(dial.ca),
      bytes(as?.privateKey),
      bytes(as?.certificate),
    );
    this.#client = new Client(dial.address, secure, {
      "grpc.max_send_message_length": -1,
      "grpc.enable_retries": 0,
      // Node takes no address as the name of a server.
      "grpc.ssl_target_name_override": "localhost",
      "grpc.use_local_subchannel_pool": 1,
    });
    const metadata = new Metadata();
    if (dial.token !== undefined) metadata.set("authorization", `Bearer ${dial.token}`);
    const name = protocol === "delta" ? "DeltaAggregatedResources" : "StreamAggregatedResources";
    this.#stream = this.#client.makeBidiStreamRequest(`${service}/${name}`, same, same, metadata);
    this.#stream.on("data", (message: Buffer) => {
      this.#received.push(message);
      this.#wake();
    });
    this.#stream.on("error", (error: ServiceError) => {
      this.#error = error;
      this.#wake();
    });
  }

  send(request: Uint8Array): void {
    this.#stream.write(Buffer.from(request));
  }

  async delta(): Promise<DeltaTold> {
    return readDelta(await this.next());
  }

  async state(): Promise<StateTold> {
    return readState(await this.next());
  }

  /** Rejects with the stream's error. */
  async next(): Promise<Buffer> {
    for (;;) {
      const first = this.#received.shift();
      if (first !== undefined) return first;
      if (this.#error !== undefined) throw this.#error;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Responses that came and were not looked at. */
  get unread(): number {
    return this.#received.length;
  }

  /** What the server ended the stream with. */
  async end(): Promise<ServiceError> {
    while (this.#error === undefined) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return this.#error;
  }

  close(): void {
    this.#stream.cancel();
    this.#client.close();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
