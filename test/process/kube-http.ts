/**
 * A bare HTTP/2 client for tests and benchmarks: knows the kubeconfig and JSON, nothing of the
 * product's own client, so that a fault in one cannot hide a fault in the other.
 */
import { readFileSync } from "node:fs";
import http2 from "node:http2";
import { parse } from "yaml";

/** Where a server is, and as whom it is asked: a certificate, or a header with a token. */
export interface Access {
  readonly server: string;
  readonly ca: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Credentials extends Access {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface Answer {
  readonly status: number;
  // Tests read fields of many kinds; a wrong one shows as a failed assertion.
  readonly body: Json;
}

export interface Json {
  readonly [field: string]: Json & string & number & readonly Json[];
}

export function credentialsOf(kubeconfigPath: string): Credentials {
  const config = parse(readFileSync(kubeconfigPath, "utf8"));
  const cluster = config.clusters[0].cluster;
  const user = config.users[0].user;
  const decode = (text: string): Buffer => Buffer.from(text, "base64");
  return {
    server: cluster.server,
    ca: decode(cluster["certificate-authority-data"]),
    cert: decode(user["client-certificate-data"]),
    key: decode(user["client-key-data"]),
  };
}

export class KubeHttp {
  readonly #session: http2.ClientHttp2Session;
  readonly #headers: Readonly<Record<string, string>>;

  constructor({ server, headers = {}, ...secure }: Access) {
    this.#headers = headers;
    this.#session = http2.connect(server, secure);
    // A dead session fails its requests; those are what callers look at.
    this.#session.on("error", () => {});
  }

  /** Rejects when the connection breaks before the whole answer is there. */
  request(
    method: string,
    path: string,
    body?: unknown,
    contentType = "application/json",
    more: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#session.destroyed || this.#session.closed)
        return reject(new Error("session closed"));
      const stream = this.#session.request(
        {
          ...this.#headers,
          ":method": method,
          ":path": path,
          accept: "application/json",
          "content-type": contentType,
          ...more,
        },
        { endStream: body === undefined },
      );
      const chunks: Buffer[] = [];
      let status = 0;
      let ended = false;
      stream.on("response", (headers) => (status = Number(headers[":status"])));
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => (ended = true));
      stream.on("error", reject);
      stream.on("close", () => {
        if (!ended || status === 0) return reject(new Error("connection cut"));
        const text = Buffer.concat(chunks).toString();
        resolve({ status, body: text.startsWith("{") ? JSON.parse(text) : { text } });
      });
      if (body !== undefined) stream.end(JSON.stringify(body));
    });
  }

  /** Calls `onEvent` per watch event; resolves when the stream ends or is cut. */
  watch(
    path: string,
    onEvent: (event: { readonly type: string; readonly object: Json }) => void,
  ): Promise<void> {
    return this.lines(path, (line) => onEvent(JSON.parse(line)));
  }

  /** The same, each frame as the text it came as. */
  lines(path: string, onLine: (line: string) => void): Promise<void> {
    return new Promise((resolve) => {
      if (this.#session.destroyed || this.#session.closed) return resolve();
      const stream = this.#session.request({
        ...this.#headers,
        ":path": path,
        accept: "application/json",
      });
      let rest = "";
      stream.setEncoding("utf8");
      stream.on("data", (text: string) => {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line !== "") onLine(line);
      });
      stream.on("error", () => resolve());
      stream.on("close", () => resolve());
    });
  }

  close(): void {
    this.#session.destroy();
  }
}
