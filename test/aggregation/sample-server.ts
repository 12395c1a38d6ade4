/**
 * A sample extension API server, a process of its own: kind Flunder of group wardle.example.com, as upstream's
 * sample-apiserver has it. It trusts what ConfigMap extension-apiserver-authentication says, and asks the
 * cluster who may do what.
 *
 * In     one message: how to reach the cluster, its serving certificate, what it can do.
 * Out    one message: its port. Then each request as it came, for tests of what a proxy sends.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import {
  authenticate,
  authorize,
  type ClusterAccess,
  type FrontProxyTrust,
  readTrust,
  type Wish,
} from "./delegated-auth.ts";
import { apiVersion, Flunders, Refusal } from "./flunders.ts";
import {
  aggregatedDocument,
  aggregatedType,
  group,
  groupDocument,
  openapiV2,
  openapiV3,
  openapiV3Index,
  resourceList,
} from "./sample-documents.ts";

export interface SampleOptions {
  readonly cluster: ClusterAccess;
  readonly certificate: string;
  readonly privateKey: string;
  /** False: discovery group by group only, as servers of old. */
  readonly speaksAggregated: boolean;
}

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** Common name of the client's certificate; "" when none verified. */
  readonly proxy: string;
}

const flunders = new Flunders();

process.once("message", (options: SampleOptions) => {
  void start(options);
});
process.on("disconnect", () => process.exit(0));

async function start(options: SampleOptions): Promise<void> {
  const trust = await readTrust(options.cluster);
  const server = https.createServer({
    cert: options.certificate,
    key: options.privateKey,
    ca: trust.clientCa,
    requestCert: true,
    rejectUnauthorized: false,
  });
  server.on("request", (request, response) => void serve(options, trust, request, response));
  server.on(
    "upgrade",
    (request: IncomingMessage, socket: Duplex) => void echo(options, trust, request, socket),
  );
  server.listen(0, "127.0.0.1", () => {
    process.send?.({ port: (server.address() as AddressInfo).port });
  });
}

async function serve(
  options: SampleOptions,
  trust: FrontProxyTrust,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  tell(request);
  try {
    const wish = await admit(options, trust, request);
    if (wish.resource === "") return document(options, request, response);
    await serveFlunders(wish, request, response);
  } catch (error) {
    refuse(response, error);
  }
}

async function admit(
  { cluster }: SampleOptions,
  trust: FrontProxyTrust,
  request: IncomingMessage,
): Promise<Wish> {
  const user = await authenticate(cluster, trust, request);
  const wish = wishOf(request);
  await authorize(cluster, user, wish);
  return wish;
}

function tell(request: IncomingMessage): void {
  const socket = request.socket as import("node:tls").TLSSocket;
  const headers = request.headersDistinct as Record<string, readonly string[]>;
  const proxy = socket.authorized ? String(socket.getPeerCertificate().subject.CN) : "";
  const seen: SeenRequest = {
    method: request.method ?? "",
    url: request.url ?? "",
    headers,
    proxy,
  };
  process.send?.({ seen });
}

const verbOf: Readonly<Record<string, string>> = {
  GET: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

function wishOf(request: IncomingMessage): Wish {
  const { pathname: path, searchParams } = new URL(request.url ?? "/", "https://sample");
  const verb = verbOf[request.method ?? ""] ?? "";
  const prefix = `/apis/${apiVersion}/`;
  const parts = path.startsWith(prefix) ? path.slice(prefix.length).split("/") : [""];
  const isInNamespace = parts[0] === "namespaces" && parts.length > 2;
  const namespace = isInNamespace ? (parts[1] ?? "") : "";
  const [resource = "", name = "", subresource = ""] = isInNamespace ? parts.slice(2) : parts;
  if (resource === "") return { verb, path, resource, subresource, namespace, name };
  const isWatch = searchParams.get("watch") === "true" || searchParams.get("watch") === "1";
  const many = verb === "get" ? (isWatch ? "watch" : "list") : `${verb}collection`;
  const spoken = name === "" && (verb === "get" || verb === "delete") ? many : verb;
  return { verb: spoken, path, resource, subresource, namespace, name };
}

function document(
  options: SampleOptions,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const path = (request.url ?? "").split("?")[0] ?? "";
  const wantsAggregated = (request.headers.accept ?? "").includes("as=APIGroupDiscoveryList");
  if (path === "/apis" && options.speaksAggregated && wantsAggregated)
    return tagged(request, response, aggregatedDocument, aggregatedType);
  const documents: Readonly<Record<string, object>> = {
    "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [groupDocument] },
    [`/apis/${group}`]: groupDocument,
    [`/apis/${apiVersion}`]: resourceList,
    "/openapi/v2": openapiV2,
    "/openapi/v3": openapiV3Index,
    [`/openapi/v3/apis/${apiVersion}`]: openapiV3,
  };
  const found = documents[path];
  if (found === undefined) throw new Refusal(404, "NotFound", "the server could not find it");
  tagged(request, response, found, "application/json");
}

function tagged(
  request: IncomingMessage,
  response: ServerResponse,
  found: object,
  type: string,
): void {
  const text = JSON.stringify(found);
  const etag = `"${createHash("sha256").update(text).digest("hex")}"`;
  if (request.headers["if-none-match"] === etag)
    return void response.writeHead(304, { etag }).end();
  response.writeHead(200, { "content-type": type, etag }).end(text);
}

async function serveFlunders(
  { verb, namespace, name, subresource }: Wish,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (subresource !== "") throw new Refusal(400, "BadRequest", "upgrade request required");
  switch (verb) {
    case "get":
      return answer(response, 200, flunders.get(namespace, name));
    case "list":
      return answer(response, 200, listOf(namespace));
    case "watch":
      return watch(namespace, request, response);
    case "create":
      return answer(response, 201, flunders.create(namespace, await bodyOf(request)));
    case "update":
      return answer(response, 200, flunders.replace(namespace, name, await bodyOf(request)));
    case "patch":
      return answer(response, 200, patched(namespace, name, await bodyOf(request)));
    case "delete":
      return answer(response, 200, deleted(namespace, name, await bodyOf(request)));
    case "deletecollection": {
      const list = listOf(namespace);
      for (const { metadata } of list.items) flunders.delete(metadata.namespace, metadata.name);
      return answer(response, 200, list);
    }
    default:
      throw new Refusal(405, "MethodNotAllowed", "the server does not allow this method");
  }
}

function listOf(namespace: string) {
  const metadata = { resourceVersion: String(flunders.version) };
  return { apiVersion, kind: "FlunderList", metadata, items: flunders.list(namespace) };
}

function watch(namespace: string, request: IncomingMessage, response: ServerResponse): void {
  const { searchParams } = new URL(request.url ?? "/", "https://sample");
  response.writeHead(200, { "content-type": "application/json" });
  response.flushHeaders();
  const since = Number(searchParams.get("resourceVersion") ?? "0");
  const end = flunders.watch(namespace, since, ({ type, object }) => {
    response.write(`${JSON.stringify({ type, object })}\n`);
  });
  response.on("close", end);
}

function deleted(namespace: string, name: string, options: Record<string, unknown>) {
  const policy = options["propagationPolicy"];
  return flunders.delete(namespace, name, typeof policy === "string" ? policy : undefined);
}

/** A merge patch of one level and of metadata and spec. */
function patched(namespace: string, name: string, patch: Record<string, unknown>) {
  const old = flunders.get(namespace, name);
  const part = (key: string): object => ({ ...(old[key] as object), ...(patch[key] as object) });
  const next = { ...old, ...patch, metadata: part("metadata"), spec: part("spec") };
  return flunders.replace(namespace, name, next);
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
}

function answer(response: ServerResponse, status: number, object: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(object));
}

function refuse(response: ServerResponse, error: unknown): void {
  const known = error instanceof Refusal ? error : new Refusal(500, "InternalError", String(error));
  const { code, reason, message } = known;
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" };
  answer(response, code, { ...status, message, reason, code });
}

/** flunders/NAME/echo: what comes in goes out again. */
async function echo(
  options: SampleOptions,
  trust: FrontProxyTrust,
  request: IncomingMessage,
  socket: Duplex,
): Promise<void> {
  tell(request);
  socket.on("error", () => {});
  try {
    await admit(options, trust, request);
  } catch (error) {
    const code = error instanceof Refusal ? error.code : 500;
    return void socket.end(`HTTP/1.1 ${code} refused\r\ncontent-length: 0\r\n\r\n`);
  }
  const protocol = request.headers.upgrade ?? "";
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${protocol}\r\n\r\n`,
  );
  socket.pipe(socket);
}
