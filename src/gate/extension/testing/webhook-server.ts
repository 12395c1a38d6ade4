/** A webhook server for tests: HTTPS on a loopback port, with its own authority. */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { AnyObject } from "#api/object.ts";
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";

/** Field `request` of an AdmissionReview. */
interface ReviewRequest {
  readonly uid: string;
  readonly operation: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly subResource?: string;
  readonly object: AnyObject | null;
  readonly oldObject: AnyObject | null;
  readonly [field: string]: unknown;
}

/** Returns the `response` to a request, without its uid. */
type Respond = (request: ReviewRequest) => object | Promise<object>;
type Handle = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

export interface WebhookServer {
  readonly port: number;
  /** PEM in base64. */
  readonly caBundle: string;
  /** Review requests received so far, on all paths. */
  readonly asked: ReviewRequest[];
  /** Number of connections so far. */
  readonly connections: () => number;
  /** Registers a handler of reviews at `path`. */
  on(path: string, respond: Respond): void;
  /** Registers a handler of any request at `path`. */
  raw(path: string, handle: Handle): void;
  url(path: string): string;
  close(): Promise<void>;
}

const names = ["localhost", "127.0.0.1", "webhook.hooks.svc"];

export async function openWebhookServer(
  nowMs: number,
  { http2 = false } = {},
): Promise<WebhookServer> {
  const validity = { notBeforeMs: nowMs - 3_600_000, notAfterMs: nowMs + 86_400_000 };
  const options = (serial: number) => ({ validity, serial: new Uint8Array(16).fill(serial) });
  const authority = makeAuthority("webhook-ca", options(1));
  const { certificate, privateKey } = makeServerCertificate(
    authority,
    "webhook",
    names,
    options(2),
  );
  const handlers = new Map<string, Handle>();
  const asked: ReviewRequest[] = [];
  let connections = 0;
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const [path = ""] = (request.url ?? "").split("?");
      const handle = handlers.get(path);
      if (handle === undefined) response.writeHead(404).end();
      else handle(request, response, Buffer.concat(chunks));
    });
  };
  const shown = { cert: certificate, key: privateKey };
  const server = http2
    ? createSecureServer(shown, listener as never) // node:http2's requests are as node:http's
    : createServer(shown, listener);
  server.on("secureConnection", () => connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // a TCP server
  return {
    port,
    caBundle: Buffer.from(authority.certificate).toString("base64"),
    asked,
    connections: () => connections,
    on: (path, respond) =>
      void handlers.set(path, (_request, response, body) => {
        const review = JSON.parse(body.toString()) as AnyObject & {
          readonly request: ReviewRequest;
        };
        asked.push(review.request);
        void answer(response, review, respond);
      }),
    raw: (path, handle) => void handlers.set(path, handle),
    url: (path) => `https://127.0.0.1:${port}${path}`,
    close: () => closeServer(server),
  };
}

async function answer(
  response: ServerResponse,
  review: AnyObject & { readonly request: ReviewRequest },
  respond: Respond,
): Promise<void> {
  const { apiVersion, kind } = review;
  const said = { uid: review.request.uid, ...(await respond(review.request)) };
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ apiVersion, kind, response: said }));
}

function closeServer(server: Server | Http2SecureServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    if ("closeAllConnections" in server) server.closeAllConnections();
  });
}

export const allow: Respond = () => ({ allowed: true });

export function deny(message: string): Respond {
  return () => ({ allowed: false, status: { message, reason: "the-reason" } });
}

export function patch(...operations: readonly object[]): Respond {
  const encoded = Buffer.from(JSON.stringify(operations)).toString("base64");
  return () => ({ allowed: true, patchType: "JSONPatch", patch: encoded });
}
