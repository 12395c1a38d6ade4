/**
 * pods/log: passes on the kubelet's bytes as they arrive, as text or, over WebSocket, as messages.
 *
 * Holds  when the kubelet's answer breaks off, the client's answer breaks off too, so that a partial log does not look
 *        complete. A redirect is refused, not followed.
 */
import { failure } from "#api/status.ts";
import type { ByteResponse, Host } from "#platform/byte-transport.ts";
import type { ByteDuplex, PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { textResponse } from "#server/respond.ts";
import {
  CloseCode,
  handshakeAnswer,
  handshakeKey,
  offeredProtocols,
} from "#wire/websocket/frames.ts";
import { plainForm } from "../answer.ts";
import type { ApiDeps } from "../deps.ts";
import type { Kubelets } from "./deps.ts";
import { dialText, joinHostPort } from "./dial-text.ts";
import { checkStatus } from "./kubelet-refusal.ts";
import { logOptions } from "./log-options.ts";
import type { Release } from "./open-streams.ts";
import { containerOf, findPod, kubeletOf, podTarget, requireKubelets } from "./pod-target.ts";
import { escapedPath } from "./proxy-path.ts";
import { streamed } from "./streamed.ts";
import { refuseHandshake } from "./upgrades.ts";
import { WebSocketPeer } from "./websocket-peer.ts";

const protocols = ["binary.k8s.io", "base64.binary.k8s.io"];

export async function podLog(deps: ApiDeps, context: RequestContext): Promise<PlainResponse> {
  const { namespace, name } = context.place;
  // Logs have no negotiated form, but upstream negotiates the form of an object first.
  plainForm(context, "metadata");
  const options = logOptions(context.query, name);
  const pod = findPod(deps, namespace, name);
  const container = containerOf(pod, options.container);
  const { nodeName, isHollow } = podTarget(deps, context, pod);
  if (isHollow) return hollowLog(nodeName, container, `${namespace}/${name}`);
  const kubelets = requireKubelets(deps, "pods/log");
  const { host } = kubeletOf(deps, kubelets, nodeName);
  const path = escapedPath(`/containerLogs/${namespace}/${name}/${container}`);
  const target = options.query === "" ? path : `${path}?${options.query}`;
  const release = kubelets.streams.enter(joinHostPort(host.name, host.port));
  const ending = endingWith(context);
  try {
    const transport = options.skipsVerification ? kubelets.unverified : kubelets.verified;
    const response = await fetchLog(transport, host, target, ending.signal);
    const url = `https://${joinHostPort(host.name, host.port)}${target}`;
    await checkStatus(response, url, name);
    return answer(deps, context, response, ending, release);
  } catch (error) {
    ending.abort();
    release();
    throw error;
  }
}

function hollowLog(node: string, container: string, where: string): PlainResponse {
  const text = `hollow node ${node}: container ${container} of pod ${where} is simulated, so it writes no logs\n`;
  return textResponse(200, text, { "content-type": "text/plain" });
}

/** A controller that aborts with the request, or when its owner aborts it. */
function endingWith({ request }: RequestContext): AbortController {
  const ending = new AbortController();
  request.signal.addEventListener("abort", () => ending.abort(), { once: true });
  if (request.signal.aborted) ending.abort();
  return ending;
}

async function fetchLog(
  transport: Kubelets["verified"],
  host: Host,
  target: string,
  signal: AbortSignal,
): Promise<ByteResponse> {
  const at = joinHostPort(host.name, host.port);
  try {
    return await transport.send(host, { method: "GET", target, headers: { host: at }, signal });
  } catch (error) {
    throw failure(500, "", `Get "https://${at}${target}": ${dialText(error, host)}`);
  }
}

function answer(
  deps: ApiDeps,
  context: RequestContext,
  response: ByteResponse,
  ending: AbortController,
  release: Release,
): PlainResponse {
  const { request } = context;
  if (request.upgrade?.toLowerCase() !== "websocket") {
    return streamed(
      response,
      { status: 200, headers: { "content-type": "text/plain" } },
      ending,
      release,
    );
  }
  const key = handshakeKey(request.headers);
  if (key === undefined) return refused(ending, release, 400);
  const offered = offeredProtocols(request.headers);
  const protocol = offered.length === 0 ? "" : offered.find((one) => protocols.includes(one));
  if (protocol === undefined) return refused(ending, release, 403);
  const open = (client: ByteDuplex): void => {
    release.client = client;
    const isBase64 = protocol.startsWith("base64.");
    const peer = new WebSocketPeer(deps.clock, client);
    void sendMessages(response, peer, isBase64, ending).then(release);
  };
  return { kind: "tunnel", status: 101, headers: handshakeAnswer(key, protocol), open };
}

function refused(ending: AbortController, release: Release, status: number): PlainResponse {
  ending.abort();
  release();
  return refuseHandshake(status);
}

/** Sends the log as messages. The first is empty, as upstream, to show that the log is open. */
async function sendMessages(
  response: ByteResponse,
  peer: WebSocketPeer,
  isBase64: boolean,
  ending: AbortController,
): Promise<void> {
  const send = (bytes: Uint8Array): Promise<void> | undefined =>
    isBase64
      ? peer.send(false, Buffer.from(Buffer.from(bytes).toString("base64")))
      : peer.send(true, bytes);
  const clientLeft = peer.receive(() => {}).then(() => ending.abort());
  let code: number = CloseCode.normal;
  try {
    await send(new Uint8Array(0));
    await response.stream(send);
  } catch {
    code = CloseCode.internal;
  }
  peer.close(code);
  await clientLeft;
}
