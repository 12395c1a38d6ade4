/**
 * A kubelet for tests: TLS with an authority of its own, logs, exec and attach and port-forward over SPDY
 * and WebSocket. It keeps what it was asked, and can be made slow, lying or dead.
 *
 * exec      "cat" echoes stdin, "both" writes to stdout and stderr, "exit N" ends so, "hold" waits; anything
 *           else prints its words.
 * Port-forward echoes each data stream in upper case.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { makeAuthority, makeServerCertificate, type IssuedCertificate } from "#auth/pki.ts";
import { handshakeAnswer, messageFrame } from "#wire/websocket/frames.ts";
import { serveSpdy, type SpdyStream } from "./spdy-server.ts";

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  /** Common name of the client's certificate; "": it showed none. */
  readonly client: string;
  readonly body: () => string;
}

export interface FakeKubelet {
  readonly port: number;
  /** PEM of the authority of its certificate. */
  readonly authority: string;
  readonly asked: Asked[];
  /** Sockets that are open now. */
  readonly sockets: ReadonlySet<Duplex>;
  /** Streams of exec that "hold". */
  readonly held: Set<SpdyStream>;
  /** Instead of its usual answers. */
  answer: ((message: IncomingMessage, response: ServerResponse) => void) | undefined;
  /** Instead of its usual upgrades. */
  upgrade: ((message: IncomingMessage, socket: Duplex) => void) | undefined;
  close(): Promise<void>;
}

export const issue = {
  validity: { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2090, 0) },
  serial: new Uint8Array(16).fill(7),
};

export interface FakeOptions {
  /** What its certificate is for; its address when absent. */
  readonly hosts?: readonly string[];
  /** Signs its certificate; one of its own when absent. */
  readonly signer?: IssuedCertificate;
  /** In the clear: a pod, not a kubelet. */
  readonly plain?: boolean;
}

export async function startKubelet(options: FakeOptions = {}): Promise<FakeKubelet> {
  const authority = options.signer ?? makeAuthority("kubelets", issue);
  const hosts = options.hosts ?? ["127.0.0.1"];
  const server = makeServerCertificate(authority, "kubelet", hosts, issue);
  const listener = options.plain
    ? createServer()
    : https.createServer({
        cert: server.certificate,
        key: server.privateKey,
        requestCert: true,
        rejectUnauthorized: false,
      });
  const sockets = new Set<Duplex>();
  const asked: Asked[] = [];
  const held = new Set<SpdyStream>();
  listener.on(options.plain ? "connection" : "secureConnection", (socket: Duplex) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
  });
  const kubelet: Omit<FakeKubelet, "port"> = {
    authority: authority.certificate,
    asked,
    sockets,
    held,
    answer: undefined,
    upgrade: undefined,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        listener.close(() => resolve());
      }),
  };
  listener.on("request", (message: IncomingMessage, response: ServerResponse) => {
    asked.push(askedOf(message));
    (kubelet.answer ?? serveUsual)(message, response);
  });
  listener.on("upgrade", (message: IncomingMessage, socket: Duplex) => {
    asked.push(askedOf(message));
    if (kubelet.upgrade !== undefined) kubelet.upgrade(message, socket);
    else switchUsual(message, socket, held);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return Object.assign(kubelet, { port: (listener.address() as AddressInfo).port });
}

function askedOf(message: IncomingMessage): Asked {
  const { method = "", url = "", headers } = message;
  const chunks: Buffer[] = [];
  message.on("data", (chunk: Buffer) => chunks.push(chunk));
  const { socket } = message;
  const peer = "getPeerCertificate" in socket ? certificateName(socket) : "";
  return { method, url, headers, client: peer, body: () => Buffer.concat(chunks).toString() };
}

function certificateName(socket: object): string {
  const { getPeerCertificate } = socket as {
    getPeerCertificate: () => { subject?: { CN?: string } } | undefined;
  };
  return getPeerCertificate.call(socket)?.subject?.CN ?? "";
}

function serveUsual(message: IncomingMessage, response: ServerResponse): void {
  const url = new URL(message.url ?? "", "https://kubelet");
  if (url.pathname.startsWith("/containerLogs/")) {
    response.writeHead(200, { "content-type": "text/plain" });
    return void response.end(`log of ${url.pathname} ${url.search}\n`);
  }
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ path: message.url, method: message.method }));
}

function switchUsual(message: IncomingMessage, socket: Duplex, held: Set<SpdyStream>): void {
  const { url = "" } = message;
  if ((message.headers.upgrade ?? "").toLowerCase() === "websocket")
    return echoWebSocket(message, socket);
  const version = (
    String(message.headers["x-stream-protocol-version"] ?? "").split(",")[0] ?? ""
  ).trim();
  const lines = [
    "connection: Upgrade",
    "upgrade: SPDY/3.1",
    `x-stream-protocol-version: ${version}`,
  ];
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`);
  if (url.startsWith("/portForward/")) return serveForward(socket);
  serveExec(socket, new URL(url, "https://kubelet"), held);
}

/** Says which path it was asked for, then echoes bytes. */
function echoWebSocket(message: IncomingMessage, socket: Duplex): void {
  const answer = handshakeAnswer(String(message.headers["sec-websocket-key"]), "");
  const lines = Object.entries(answer).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("")}\r\n`);
  for (const part of messageFrame(true, Buffer.from(message.url ?? ""))) socket.write(part);
  socket.pipe(socket);
}

function serveForward(socket: Duplex): void {
  serveSpdy(socket, (stream) => {
    stream.reply();
    if (stream.headers["streamtype"] !== "data") return;
    stream.onData((bytes, isFin) => {
      stream.write(Buffer.from(Buffer.from(bytes).toString().toUpperCase()));
      if (isFin) stream.end();
    });
  });
}

function serveExec(socket: Duplex, url: URL, held: Set<SpdyStream>): void {
  const streams = new Map<string, SpdyStream>();
  const names = { input: "stdin", output: "stdout", error: "stderr", tty: "resize" };
  const isTty = url.searchParams.has("tty");
  const wanted = Object.entries(names)
    .filter(([parameter, name]) => url.searchParams.has(parameter) && !(isTty && name === "stderr"))
    .map(([, name]) => name);
  serveSpdy(socket, (stream) => {
    stream.reply();
    streams.set(stream.headers["streamtype"] ?? "", stream);
    if (streams.size === wanted.length + 1)
      runCommand(url.searchParams.getAll("command"), streams, socket, held);
  });
}

function runCommand(
  command: readonly string[],
  streams: ReadonlyMap<string, SpdyStream>,
  socket: Duplex,
  held: Set<SpdyStream>,
): void {
  const stdout = streams.get("stdout");
  const stdin = streams.get("stdin");
  const [name = "", argument = ""] = command;
  const finish = (code: number): void => {
    stdout?.end();
    streams.get("stderr")?.end();
    streams.get("error")?.write(Buffer.from(JSON.stringify(exitOf(code))));
    streams.get("error")?.end();
    // As kubelets do, when the streams are done.
    setImmediate(() => socket.end());
  };
  if (name === "hold" && stdout !== undefined) {
    held.add(stdout);
    return stdout.write(Buffer.from("ready\n"));
  }
  if (name === "cat" && stdin !== undefined) {
    stdin.onData((bytes, isFin) => {
      stdout?.write(bytes);
      if (isFin) finish(0);
    });
    streams.get("resize")?.onData((bytes) => stdout?.write(bytes));
    return;
  }
  stdout?.write(Buffer.from(name === "both" ? "out\n" : `${command.join(" ")}\n`));
  if (name === "both") streams.get("stderr")?.write(Buffer.from("err\n"));
  finish(name === "exit" ? Number(argument) : 0);
}

function exitOf(code: number): object {
  if (code === 0) return { metadata: {}, status: "Success" };
  const message = `command terminated with non-zero exit code: exit status ${code}`;
  const details = { causes: [{ reason: "ExitCode", message: String(code) }] };
  return { metadata: {}, status: "Failure", message, reason: "NonZeroExitCode", details };
}
