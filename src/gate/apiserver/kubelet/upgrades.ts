/**
 * Passes on requests to switch protocols: the backend's 101 opens a tunnel; its refusal is the answer.
 *
 * Holds  any other answer becomes 500, so that no backend can answer such a request in the server's name. Bytes flow
 *        only after both sides have switched.
 */
import { failure } from "#api/status.ts";
import type { ByteResponse, HostsTransport, Host } from "#platform/byte-transport.ts";
import type { PlainRequest, PlainResponse, ByteDuplex } from "#platform/http.ts";
import { bytesResponse } from "#server/respond.ts";
import type { ApiDeps } from "../deps.ts";
import { dialText } from "./dial-text.ts";
import { forwardedHeaders, returnedHeaders, switchedHeaders } from "./forwarded-headers.ts";
import { join } from "./join.ts";
import type { Release } from "./open-streams.ts";

/** Maximum bytes of a backend's refusal; a longer body is left out. */
const refusalBytesMax = 65_536;

export interface Upgrade {
  readonly transport: HostsTransport;
  readonly host: Host;
  /** Encoded path and query. */
  readonly target: string;
  readonly protocol: string;
  readonly release: Release;
}

/** Passes the client's upgrade on unchanged. */
export async function passUpgrade(
  deps: ApiDeps,
  request: PlainRequest,
  upgrade: Upgrade,
): Promise<PlainResponse> {
  const { release } = upgrade;
  const response = await sendUpgrade(request, upgrade, request.method, forwardedHeaders(request));
  const server = response.upgraded;
  if (server === undefined) return await refusal(response, release);
  const open = (client: ByteDuplex): void => {
    release.client = client;
    join(deps.clock, client, server, release);
  };
  return { kind: "tunnel", status: 101, headers: switchedHeaders(response), open };
}

/** @throws ApiError 500 when the backend cannot be reached; the place is released before. */
export async function sendUpgrade(
  request: Pick<PlainRequest, "signal">,
  { transport, host, target, protocol, release }: Upgrade,
  method: string,
  headers: Readonly<Record<string, string>>,
): Promise<ByteResponse> {
  const { signal } = request;
  try {
    return await transport.send(host, { method, target, headers, upgrade: protocol, signal });
  } catch (error) {
    release();
    throw failure(500, "", `error dialing backend: ${dialText(error, host)}`);
  }
}

/** Answers with the backend's own refusal. */
export async function refusal(response: ByteResponse, release: Release): Promise<PlainResponse> {
  const { status } = response;
  try {
    const body = await response.read(refusalBytesMax);
    if (status < 400) throw failure(500, "", `invalid upgrade response: status code ${status}`);
    const bytes = body === "too-large" ? [] : [body];
    return { kind: "bytes", status, headers: returnedHeaders(response), body: bytes };
  } finally {
    release();
  }
}

/** Refuses a handshake as upstream's WebSocket library does. */
export function refuseHandshake(status: number): PlainResponse {
  const headers = status === 400 ? { "sec-websocket-version": "13" } : {};
  return bytesResponse(status, [], "text/plain", headers);
}
