/**
 * Callers that hold a server's memory: answers they do not read, bodies they send drop by drop, watches with long
 * selectors. Each comes as a user of its own, impersonated by the administrator, and takes what comes.
 */
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect, type TLSSocket } from "node:tls";
import type { Credentials } from "../../process/kube-http.ts";

export interface Prey {
  readonly url: string;
  readonly credentials: Credentials;
}

export const callersGroup = "callers";
/** Where `prepare` puts objects. */
export const namespace = "unread";
export const objects = `/api/v1/namespaces/${namespace}/configmaps`;
/** Made for one answer: some 3 MB. */
export const unsharedList = `${objects}?pretty=1`;

/** @returns its end. */
export type Caller = (prey: Prey, user: string) => () => void;

/** An HTTP/1.1 connection that reads nothing of its answer. */
export function unread(path: string): Caller {
  return (prey, user) => {
    const socket = openSocket(prey);
    socket.write(`GET ${path} HTTP/1.1\r\n${headLines(user)}\r\n`);
    socket.pause();
    return () => socket.destroy();
  };
}

/** An HTTP/2 connection with a window of nothing, and as many answers. */
export function zeroWindow(path: string, streams: number): Caller {
  return (prey, user) => {
    const session = openSession(prey, 0);
    for (let count = 0; count < streams; count++) openStream(session, path, user);
    return () => session.destroy();
  };
}

/** Reads what it asked for, again and again. */
export function greedy(path: string): Caller {
  return (prey, user) => {
    const session = openSession(prey, 2 ** 20);
    const again = (): void => {
      const stream = openStream(session, path, user);
      stream.resume().on("close", () => setImmediate(() => (session.destroyed ? 0 : again())));
    };
    again();
    return () => session.destroy();
  };
}

/** Watches with a selector of many requirements, or none; `form`: what they accept. */
export function watches(count: number, requirements: number, form?: string): Caller {
  return (prey, user) => {
    const session = openSession(prey, 2 ** 16);
    const selector = Array.from({ length: requirements }, () => "!a").join(",");
    const labels = requirements === 0 ? "" : `&labelSelector=${encodeURIComponent(selector)}`;
    for (let at = 0; at < count; at++)
      openStream(session, `${objects}?watch=1&resourceVersion=0${labels}`, user, form).resume();
    return () => session.destroy();
  };
}

/** A body of nearly the largest size, in drops. */
export function dribble(dropBytes: number, everyMs: number): Caller {
  return (prey, user) => {
    const socket = openSocket(prey);
    const length = 3_000_000;
    const head = `POST ${objects} HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: ${length}`;
    socket.write(`${head}\r\n${headLines(user)}\r\n{"data":{"text":"`);
    let left = length - 100;
    const timer = setInterval(() => {
      if (socket.destroyed || left < dropBytes) return clearInterval(timer);
      left -= dropBytes;
      socket.write("x".repeat(dropBytes));
    }, everyMs);
    socket.resume();
    return () => {
      clearInterval(timer);
      socket.destroy();
    };
  };
}

function headLines(user: string): string {
  return `host: x\r\nimpersonate-user: ${user}\r\nimpersonate-group: ${callersGroup}\r\n`;
}

function openSocket({ url, credentials }: Prey): TLSSocket {
  const { hostname, port } = new URL(url);
  const { ca, cert, key } = credentials;
  const to = { host: hostname, port: Number(port), ca, cert, key, ALPNProtocols: ["http/1.1"] };
  return connect(to).on("error", () => {});
}

function openSession({ url, credentials }: Prey, initialWindowSize: number): ClientHttp2Session {
  const { ca, cert, key } = credentials;
  const session = connectHttp2(url, { ca, cert, key, settings: { initialWindowSize } });
  return session.on("error", () => {});
}

function openStream(
  session: ClientHttp2Session,
  path: string,
  user: string,
  accept = "application/json",
): ReturnType<ClientHttp2Session["request"]> {
  const as = { "impersonate-user": user, "impersonate-group": callersGroup };
  return session.request({ ":path": path, accept, ...as }).on("error", () => {});
}
