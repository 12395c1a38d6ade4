/**
 * exec and attach over WebSocket v5.channel.k8s.io: opens the client's WebSocket and a SPDY connection to the kubelet.
 * exec-translation.ts translates between them.
 *
 * As in upstream, the WebSocket opens even when the kubelet refuses. The refusal is a Status on the WebSocket's error
 * channel, where clients expect it.
 */
import { ApiError, internalError, type Status } from "#api/status.ts";
import type { ByteResponse } from "#platform/byte-transport.ts";
import type { ByteDuplex, PlainRequest, PlainResponse } from "#platform/http.ts";
import { handshakeAnswer, handshakeKey } from "#wire/websocket/frames.ts";
import type { ApiDeps } from "../deps.ts";
import { joinHostPort } from "./dial-text.ts";
import { ExecTranslation, refuseExec } from "./exec-translation.ts";
import type { StreamOptions } from "./stream-options.ts";
import { refuseHandshake, sendUpgrade, type Upgrade } from "./upgrades.ts";
import { WebSocketPeer } from "./websocket-peer.ts";

const refusalBytesMax = 65_536;
const kubeletProtocol = "v4.channel.k8s.io";

export async function translateExec(
  deps: ApiDeps,
  request: PlainRequest,
  upgrade: Upgrade,
  options: StreamOptions,
): Promise<PlainResponse> {
  const { release } = upgrade;
  const key = handshakeKey(request.headers);
  if (key === undefined) {
    release();
    return refuseHandshake(400);
  }
  const kubelet = await openSpdy(request, upgrade);
  const open = (client: ByteDuplex): void => {
    release.client = client;
    const peer = new WebSocketPeer(deps.clock, client);
    const over = isStatus(kubelet)
      ? refuseExec(peer, kubelet)
      : new ExecTranslation(peer, kubelet, options).run();
    void over.then(release);
  };
  return { kind: "tunnel", status: 101, headers: handshakeAnswer(key, "v5.channel.k8s.io"), open };
}

function isStatus(opened: ByteDuplex | Status): opened is Status {
  return "metadata" in opened;
}

/** Sends this server's own request, without any header of the client. */
async function openSpdy(request: PlainRequest, upgrade: Upgrade): Promise<ByteDuplex | Status> {
  const { host } = upgrade;
  const headers = {
    host: joinHostPort(host.name, host.port),
    "x-stream-protocol-version": kubeletProtocol,
  };
  try {
    const spdy = { ...upgrade, protocol: "SPDY/3.1" };
    const response = await sendUpgrade(request, spdy, "POST", headers);
    return await switched(response);
  } catch (error) {
    if (error instanceof ApiError) return internalError(error.message).status;
    throw error;
  }
}

async function switched(response: ByteResponse): Promise<ByteDuplex | Status> {
  const { upgraded } = response;
  if (upgraded === undefined) return refusalStatus(response);
  const version = response.headers["x-stream-protocol-version"] ?? "";
  if (version === kubeletProtocol) return upgraded;
  upgraded.abort();
  return internalError(`unable to upgrade connection: kubelet chose protocol "${version}"`).status;
}

async function refusalStatus(response: ByteResponse): Promise<Status> {
  const body = await response.read(refusalBytesMax).catch(() => "too-large" as const);
  const text = body === "too-large" ? "" : new TextDecoder().decode(body);
  return readStatus(text) ?? internalError(`unable to upgrade connection: ${text}`).status;
}

function readStatus(text: string): Status | undefined {
  try {
    const value = JSON.parse(text) as Partial<Status> | null; // looked at below
    const isFailure = value?.kind === "Status" && value.status === "Failure";
    return isFailure && typeof value.message === "string" ? (value as Status) : undefined;
  } catch {
    return undefined;
  }
}
