/**
 * SPDY within WebSocket (`SPDY/3.1+portforward.k8s.io`): the messages carry the bytes of a SPDY connection to the
 * kubelet, which are not interpreted.
 *
 * Holds  the WebSocket opens only after the kubelet has switched to SPDY; an end of either side ends both.
 */
import { failure } from "#api/status.ts";
import type { ByteResponse } from "#platform/byte-transport.ts";
import type { ByteDuplex, PlainRequest, PlainResponse } from "#platform/http.ts";
import type { WebSocketPiece } from "#wire/websocket/frame-reader.ts";
import {
  CloseCode,
  handshakeAnswer,
  handshakeKey,
  offeredProtocols,
} from "#wire/websocket/frames.ts";
import type { ApiDeps } from "../deps.ts";
import { forwardedHeaders } from "./forwarded-headers.ts";
import { untilDrained } from "./join.ts";
import type { Release } from "./open-streams.ts";
import { refusal, refuseHandshake, sendUpgrade, type Upgrade } from "./upgrades.ts";
import { WebSocketPeer } from "./websocket-peer.ts";

const prefix = "SPDY/3.1+";

export function isTunnelProtocol(protocol: string): boolean {
  return protocol.startsWith(prefix) && protocol.endsWith(".k8s.io");
}

export async function tunnelSpdy(
  deps: ApiDeps,
  request: PlainRequest,
  upgrade: Upgrade,
): Promise<PlainResponse> {
  const key = handshakeKey(request.headers);
  if (key === undefined) {
    upgrade.release();
    return refuseHandshake(400);
  }
  const protocols = offeredProtocols(request.headers).filter(isTunnelProtocol);
  const versions = protocols.map((one) => one.slice(prefix.length)).join(", ");
  const headers = withoutWebSocket(
    forwardedHeaders(request, { "x-stream-protocol-version": versions }),
  );
  const spdy = { ...upgrade, protocol: "SPDY/3.1" };
  const response = await sendUpgrade(request, spdy, "POST", headers);
  const kubelet = response.upgraded;
  if (kubelet === undefined) return await refusal(response, upgrade.release);
  if (!isSpdy(response)) {
    kubelet.abort();
    upgrade.release();
    throw failure(500, "", "unable to upgrade: missing upgrade headers in response");
  }
  const version = response.headers["x-stream-protocol-version"] ?? "";
  const agreed = protocols.find((one) => one === prefix + version) ?? "";
  const open = (client: ByteDuplex): void => {
    upgrade.release.client = client;
    void tunnel(new WebSocketPeer(deps.clock, client), kubelet, upgrade.release);
  };
  return { kind: "tunnel", status: 101, headers: handshakeAnswer(key, agreed), open };
}

function withoutWebSocket(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !name.startsWith("sec-websocket-")),
  );
}

function isSpdy({ headers }: ByteResponse): boolean {
  return (headers["upgrade"] ?? "").toLowerCase().includes("spdy/3.1");
}

async function tunnel(peer: WebSocketPeer, kubelet: ByteDuplex, release: Release): Promise<void> {
  const fromKubelet = kubelet
    .stream((chunk) => peer.send(true, chunk))
    .catch(() => kubelet.abort())
    .then(() => peer.close(CloseCode.normal));
  await peer.receive((piece) => takePiece(peer, kubelet, piece));
  kubelet.abort();
  await fromKubelet;
  release();
}

function takePiece(
  peer: WebSocketPeer,
  kubelet: ByteDuplex,
  { isBinary, bytes }: WebSocketPiece,
): Promise<void> | undefined {
  if (isBinary) return untilDrained(kubelet, kubelet.write([bytes]));
  peer.close(CloseCode.protocolError);
  return undefined;
}
