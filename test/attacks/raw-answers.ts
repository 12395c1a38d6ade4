/** Bytes to a port, over TLS or not, and everything that comes back until the other end closes. */
import { connect, type NetConnectOpts, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";

/** Nothing that is answered takes longer, on a machine with other work to do. */
const waitMsMax = 20_000;

export interface Raw {
  /** Without dates. */
  readonly text: string;
  /** How it ended: the other end's FIN, or an error's code. */
  readonly end: string;
}

/** `tls` "none": in the clear. */
export function rawAnswer(
  port: number,
  bytes: string | Uint8Array,
  tls: ConnectionOptions | "none" = {},
): Promise<Raw> {
  return new Promise((resolve) => {
    const socket = open(port, tls);
    let text = "";
    let end = "closed";
    const late = setTimeout(() => {
      end = "still open";
      socket.destroy();
    }, waitMsMax);
    socket.once(tls === "none" ? "connect" : "secureConnect", () => socket.write(bytes));
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    socket.on("end", () => (end = "FIN"));
    socket.on("error", (error: NodeJS.ErrnoException) => (end = error.code ?? String(error)));
    socket.on("close", () => {
      clearTimeout(late);
      resolve({ text: text.replace(/^date: .*\r\n/gim, ""), end });
    });
  });
}

function open(port: number, tls: ConnectionOptions | "none"): Socket {
  const at: NetConnectOpts = { host: "127.0.0.1", port };
  if (tls === "none") return connect(at);
  const spoken = { rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] };
  return connectTls({ ...at, ...spoken, ...tls });
}
