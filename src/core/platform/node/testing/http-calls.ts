/** For tests of the HTTP rim: a server that answers with the request it received, and a function for one call to it. */
import type { request as httpRequest } from "node:http";
import { uncharged } from "../../ledger.ts";
import type { PlainRequest, PlainResponse } from "../../http.ts";
import { httpLimits, type listen } from "../http/http.ts";

export const text = (status: number, body: string): PlainResponse => ({
  kind: "bytes",
  status,
  headers: { "content-type": "text/plain" },
  body: [Buffer.from(body)],
});

export async function echo(request: PlainRequest): Promise<PlainResponse> {
  const body =
    request.body.kind === "bytes" ? await request.body.read(1000, uncharged) : new Uint8Array(0);
  if (typeof body === "string") return text(413, "too large");
  const line = `${request.method} ${request.path} ${request.query} ${Buffer.from(body).toString()}`;
  return text(200, line);
}

export const clear: Parameters<typeof listen>[0] = {
  host: "127.0.0.1",
  port: 0,
  limits: httpLimits,
};

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Record<string, unknown>;
}

export function call(
  make: typeof httpRequest,
  port: number,
  options: object,
  body?: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = make({ host: "127.0.0.1", port, ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const answer = { status: response.statusCode ?? 0, headers: response.headers };
        resolve({ ...answer, body: Buffer.concat(chunks).toString() });
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}
