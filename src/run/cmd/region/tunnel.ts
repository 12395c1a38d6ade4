/**
 * The agent's end of a tunnel: it dials out to the coordinator, and passes on to its own API server what comes back over that one
 * connection, with its own credential. Nothing needs to reach the region.
 *
 * Holds  a header about identity that comes through the tunnel is not passed on: what the coordinator may do here is what
 *        this agent's account may do. A connection that does not answer a ping is given up.
 * Bounds `streamsMax` requests at a time; dials again after 1 to 30 s, doubled with jitter, without end.
 */
import {
  constants,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import type { ServerHttp2Session } from "node:http2";
import type { Duplex } from "node:stream";
import { Backoff } from "#client/backoff.ts";
import { ApiConnection } from "../shared/api-access.ts";
import { tunnelProtocol } from "../shared/tunnel-protocol.ts";
import type { ByteResponse, ByteTransport } from "#platform/byte-transport.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { duplexStream } from "#platform/node/http/duplex-stream.ts";
import { streamReadable } from "#platform/node/http/http-body.ts";
import type { KubeAccess } from "#platform/node/kubeconfig.ts";
import type { Random } from "#platform/random.ts";

interface TunnelDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Connection to the region's API server. */
  readonly region: ApiConnection;
  /** Access to the coordinator. Its server URL ends in `/tunnels/NAME`. */
  readonly coordinator: KubeAccess;
  readonly userAgent: string;
}

const streamsMax = 1_000;
const pingEveryMs = 10_000;
const redial = { firstMs: 1_000, mostMs: 30_000 };
/** Headers that identify the user, and headers of a single connection. */
const dropped =
  /^(:|authorization$|impersonate-|x-remote-|connection$|host$|keep-alive$|te$|transfer-encoding$|upgrade$)/;

/** Keeps the tunnel open until `signal` aborts. */
export async function runTunnel(deps: TunnelDeps, signal: AbortSignal): Promise<void> {
  const { clock, log, coordinator, userAgent } = deps;
  const dialing = new ApiConnection(atRoot(coordinator), userAgent);
  const [dial, region] = [dialing.transport(), deps.region.transport()];
  const backoff = new Backoff(deps, redial);
  while (!signal.aborted) {
    try {
      const stream = await dialed(deps, dial, signal);
      log.info("connected to the coordinator", { server: coordinator.server });
      backoff.reset();
      await served(deps, region, stream, signal);
    } catch (error) {
      log.warn("the coordinator is not reached", { error: String(error) });
    }
    await sleep(clock, "regions.agent", backoff.nextMs(), signal);
  }
  dialing.close();
}

function atRoot(access: KubeAccess): KubeAccess {
  return { ...access, server: new URL(access.server).origin };
}

async function dialed(
  { coordinator, userAgent }: TunnelDeps,
  dial: ByteTransport,
  signal: AbortSignal,
): Promise<Duplex> {
  const token = coordinator.bearerToken?.();
  const response = await dial.send({
    method: "GET",
    target: new URL(coordinator.server).pathname,
    headers: {
      "user-agent": userAgent,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    upgrade: tunnelProtocol,
    signal,
  });
  if (response.upgraded !== undefined) return duplexStream(response.upgraded);
  const body = await response.read(4_096);
  const text = body === "too-large" ? "" : new TextDecoder().decode(body);
  throw new Error(`status ${response.status}: ${text.slice(0, 300)}`);
}

/** Serves the coordinator's requests. Resolves when the connection has ended. */
function served(
  deps: TunnelDeps,
  region: ByteTransport,
  stream: Duplex,
  signal: AbortSignal,
): Promise<void> {
  const server = createServer({ settings: { maxConcurrentStreams: streamsMax } });
  server.on("request", (request, response) => void passed(deps, region, request, response));
  server.on("session", (session) => watchOver(deps.clock, session, stream, signal));
  const end = (): void => void stream.destroy();
  signal.addEventListener("abort", end, { once: true });
  return new Promise((resolve) => {
    stream.on("error", () => {});
    stream.on("close", () => {
      signal.removeEventListener("abort", end);
      resolve();
    });
    server.emit("connection", stream);
  });
}

/** Ends the connection when a ping is still unanswered at the time of the next one. */
function watchOver(
  clock: Clock,
  session: ServerHttp2Session,
  stream: Duplex,
  signal: AbortSignal,
): void {
  let isAnswered = true;
  session.on("error", () => {});
  session.on("close", () => stream.destroy());
  const look = (): void => {
    if (stream.destroyed || signal.aborted) return;
    if (!isAnswered) return void stream.destroy();
    isAnswered = false;
    session.ping((error) => (isAnswered = error === null));
    clock.after("regions.agent", pingEveryMs, look);
  };
  look();
}

/** Passes one request of the coordinator to the region. Never rejects. */
async function passed(
  deps: TunnelDeps,
  region: ByteTransport,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
): Promise<void> {
  const ending = new AbortController();
  response.on("close", () => ending.abort());
  response.on("error", () => ending.abort());
  try {
    const answer = await asked(deps, region, request, ending.signal);
    await answered(answer, response);
  } catch (error) {
    if (response.headersSent) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else {
      response.writeHead(502, { "content-type": "text/plain" });
      response.end(`the region's API server does not answer: ${String(error).slice(0, 300)}`);
    }
  }
}

function asked(
  { region: { access } }: TunnelDeps,
  region: ByteTransport,
  request: Http2ServerRequest,
  signal: AbortSignal,
): Promise<ByteResponse> {
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    value === undefined || dropped.test(name) ? [] : [[name, String(value)] as const],
  );
  const token = access.bearerToken?.();
  const length = request.headers["content-length"];
  const bytes = length === undefined ? undefined : Number(length);
  return region.send({
    method: request.method,
    target: request.url,
    headers: {
      ...Object.fromEntries(headers.filter(([name]) => name !== "content-length")),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(bytes === undefined
      ? {}
      : { bodyStream: { bytes, stream: (take) => streamReadable(request, take) } }),
    signal,
  });
}

async function answered(answer: ByteResponse, response: Http2ServerResponse): Promise<void> {
  const headers = Object.entries(answer.headers).filter(([name]) => !dropped.test(name));
  response.writeHead(answer.status, Object.fromEntries(headers));
  await answer.stream((chunk) => {
    if (response.write(chunk) || response.stream.destroyed) return undefined;
    return new Promise((resolve) => {
      const go = (): void => {
        response.stream.off("drain", go).off("close", go);
        resolve();
      };
      response.stream.on("drain", go).on("close", go);
    });
  });
  response.end();
}
