/**
 * exec, attach and port-forward: selects how a client's upgrade is passed on to the kubelet.
 *
 *   SPDY/3.1                        as it is
 *   WebSocket v5.channel.k8s.io     translated to SPDY (exec-translation.ts), as by upstream
 *   WebSocket SPDY/3.1+...k8s.io    the SPDY inside of it (spdy-tunnel.ts), as by upstream
 *   other WebSocket protocols       as they are: kubelets speak them
 *   any WebSocket, when the node declares ExtendWebSocketsToKubelet    as it is
 *
 * Holds  a WebSocket is opened by GET, but the user still needs `create` on the subresource.
 */
import { badRequest, forbidden } from "#api/status.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { offeredProtocols } from "#wire/websocket/frames.ts";
import { admitStream } from "../connect.ts";
import type { ApiDeps } from "../deps.ts";
import type { ServedKind } from "../kind.ts";
import { joinHostPort } from "./dial-text.ts";
import { refuseDryRun } from "./dry-run.ts";
import { translateExec } from "./exec-upgrade.ts";
import {
  containerOf,
  findPod,
  kubeletOf,
  type PodTarget,
  podTarget,
  requireKubelets,
} from "./pod-target.ts";
import { escapedPath } from "./proxy-path.ts";
import { isTunnelProtocol, tunnelSpdy } from "./spdy-tunnel.ts";
import { kubeletQuery, type StreamKind, streamOptions } from "./stream-options.ts";
import { passUpgrade, type Upgrade } from "./upgrades.ts";

export async function podStream(
  deps: ApiDeps,
  context: RequestContext,
  pods: ServedKind,
  kind: StreamKind,
): Promise<PlainResponse> {
  refuseDryRun(context);
  kubeletQuery(kind, context.query); // before anybody is asked about ports that do not parse
  await checkCreate(deps, context);
  const admitted = await admitStream(deps, context, pods);
  const query = kubeletQuery(kind, admitted);
  const { namespace, name } = context.place;
  const pod = findPod(deps, namespace, name);
  const container = kind === "portforward" ? "" : containerOf(pod, admitted.get("container") ?? "");
  const target = podTarget(deps, context, pod);
  if (target.isHollow) throw hollowStream(target, kind);
  const kubelets = requireKubelets(deps, `pods/${kind}`);
  const { host, speaksWebSocket } = kubeletOf(deps, kubelets, target.nodeName);
  const { upgrade: protocol } = context.request;
  if (protocol === undefined) throw badRequest("Upgrade request required");
  const path = escapedPath(pathOf(kind, namespace, name, container));
  return switchTo(deps, context.request, { kind, query: admitted }, speaksWebSocket, {
    transport: kubelets.verified,
    host,
    target: query === "" ? path : `${path}?${query}`,
    protocol,
    release: kubelets.streams.enter(joinHostPort(host.name, host.port)),
  });
}

export function hollowStream({ namespace, name, nodeName }: PodTarget, verb: string): Error {
  const where = `${namespace}/${name}`;
  return badRequest(
    `pod ${where} runs on hollow node ${nodeName}: there is no container to ${verb}`,
  );
}

function pathOf(kind: StreamKind, namespace: string, name: string, container: string): string {
  if (kind === "portforward") return `/portForward/${namespace}/${name}`;
  return `/${kind}/${namespace}/${name}/${container}`;
}

function switchTo(
  deps: ApiDeps,
  request: RequestContext["request"],
  { kind, query }: { readonly kind: StreamKind; readonly query: URLSearchParams },
  speaksWebSocket: boolean,
  upgrade: Upgrade,
): Promise<PlainResponse> {
  const isWebSocket = upgrade.protocol.toLowerCase() === "websocket";
  if (!isWebSocket || speaksWebSocket) return passUpgrade(deps, request, upgrade);
  const offered = offeredProtocols(request.headers);
  if (kind === "portforward") {
    const isTunnel = offered.some(isTunnelProtocol);
    return isTunnel ? tunnelSpdy(deps, request, upgrade) : passUpgrade(deps, request, upgrade);
  }
  const isTranslated = offered.includes("v5.channel.k8s.io");
  return isTranslated
    ? translateExec(deps, request, upgrade, streamOptions(query))
    : passUpgrade(deps, request, upgrade);
}

/** Requires the verb create, as upstream's feature gate AuthorizePodWebsocketUpgradeCreatePermission, on since 1.35. */
async function checkCreate(
  { authorizer }: ApiDeps,
  { attributes, place }: RequestContext,
): Promise<void> {
  if (attributes.verb === "create") return;
  const decision = await authorizer.authorize({ ...attributes, verb: "create" });
  if (decision.allowed) return;
  const { group, resource } = attributes;
  throw forbidden({ group, resource }, place.name, decision.reason);
}
