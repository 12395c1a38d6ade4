/** Requests of an attack over one HTTP/1.1 connection, by Node's own client. */
import { Agent, request } from "node:https";
import type { Credentials } from "../../process/kube-http.ts";
import type { Api, AttackAnswer, AttackRequest } from "./attack.ts";

const textBytesMax = 64 * 1024;

export function agentOf({ ca, cert, key }: Credentials, maxSockets: number): Agent {
  return new Agent({ ca, cert, key, keepAlive: true, maxSockets });
}

export function apiOf(url: string, agent: Agent): Api {
  return { send: (asked) => exchange(url, agent, asked) };
}

function exchange(url: string, agent: Agent, asked: AttackRequest): Promise<AttackAnswer> {
  const body = asked.body?.();
  const headers: Record<string, string> = { ...asked.headers };
  if (asked.contentType !== undefined) headers["content-type"] = asked.contentType;
  if (body !== undefined) headers["content-length"] = String(Buffer.byteLength(body));
  return new Promise((resolve, reject) => {
    // Not of `url` and a path put together: a path of an attack need not be a URL's.
    const { hostname, port } = new URL(url);
    const options = { agent, hostname, port, method: asked.method, path: asked.path, headers };
    const sent = request({ ...options, maxHeaderSize: 2 ** 20 }, (response) => {
      const kept: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        if (bytes < textBytesMax) kept.push(chunk);
        bytes += chunk.length;
      });
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(kept).toString().slice(0, textBytesMax);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, bytes });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
