/**
 * The port of the kubelets of all hollow nodes of a process: their metrics, their pods and what logs there are.
 *
 * Access a client certificate of the cluster's authority or a token (TokenReview), then SubjectAccessReview on
 *        `nodes/{metrics,stats,pods,healthz,proxy}` of the node. Requests without credentials are refused.
 * Cost   a page is one list of the node's pods, from the API server's cache.
 */
import { given } from "#base/given.ts";
import { CertificateAuthenticator } from "#auth/x509.ts";
import type { Node, Pod } from "#api/gen/types.ts";
import { ApiError, failure } from "#api/status.ts";
import { parseTime } from "#api/values/time.ts";
import { tryParseQuantity } from "#api/values/quantity.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { Client } from "#client/client.ts";
import { CpuCounters } from "#hollow/cpu-counters.ts";
import { resourceMetrics, statsSummary } from "#hollow/kubelet-pages.ts";
import type { NodePage } from "#hollow/kubelet-pages.ts";
import { kubeletAsk, type KubeletAsk, kubeletRights } from "#hollow/kubelet-request.ts";
import { isHollow } from "#hollow/metrics-objects.ts";
import { type ByteTransport, ByteTransportError } from "#platform/byte-transport.ts";
import { tokenOfHeader } from "#platform/bearer-token.ts";
import type { PlainHandler, PlainRequest, PlainResponse } from "#platform/http.ts";
import { httpLimits, listen, type Listening } from "#platform/node/http/http.ts";
import { Access } from "#relay/access/access.ts";
import { relayLimits } from "#relay/limits.ts";
import type { Host } from "./host.ts";
import { logFile, logText } from "./log-files.ts";
import type { PodRules } from "./pod-rules.ts";
import { selfSignedFor } from "./self-signed.ts";
import { UsageError } from "./usage-error.ts";

export interface KubeletAddress {
  readonly host: string;
  readonly port: number;
}

interface KubeletDeps {
  readonly host: Host;
  readonly client: Client;
  /** CAs of accepted client certificates, in PEM. Absent: only tokens are accepted. */
  readonly clientCa?: string;
  /** Rules of usage and logs. Absent: usage comes from an annotation or a share, and there are no logs. */
  readonly rules?: PodRules;
}

const pods = { group: "", version: "v1", resource: "pods" } as const;
const nodes = { group: "", version: "v1", resource: "nodes" } as const;

export async function listenAsKubelets(
  deps: KubeletDeps,
  address: KubeletAddress,
): Promise<Listening> {
  const { host, clientCa } = deps;
  const made = selfSignedFor(host, address.host);
  try {
    return await listen(
      { ...address, ...made, ...given({ clientCa }), limits: httpLimits },
      kubeletHandler(deps),
      host.log,
    );
  } catch (error) {
    const where = `${address.host}:${address.port}`;
    const text = `cannot serve the kubelets of hollow nodes at ${where}: ${(error as Error).message}`;
    throw new UsageError(text, { cause: error });
  }
}

/** Anonymous reviews are never sent, because a request without a credential is refused before. */
const noTransport: ByteTransport = {
  send: () => Promise.reject(new ByteTransportError("anonymous requests are not taken", "EACCES")),
  close: () => {},
};

function kubeletHandler(deps: KubeletDeps): PlainHandler {
  const { host, client } = deps;
  const peers = new CertificateAuthenticator(host);
  const access = new Access(
    { clock: host.clock, client, anonymousHttp: noTransport, peers },
    relayLimits,
  );
  const counters = new CpuCounters();
  return async (request) => {
    try {
      const ask = kubeletAsk(request.path, request.headers["host"] ?? "");
      await authorize(access, request, ask);
      if (request.method !== "GET")
        throw failure(405, "MethodNotAllowed", "405 method not allowed");
      return await answer(deps, counters, ask, request.query);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return text(error.status.code ?? 500, `${error.message}\n`);
    }
  };
}

/** @throws ApiError 401, 403 and 503. */
async function authorize(access: Access, request: PlainRequest, ask: KubeletAsk): Promise<void> {
  const { peer, headers } = request;
  const hasCertificate = peer.kind === "socket" && peer.certificate !== undefined;
  // A header without a token would make the review an anonymous request.
  if (!hasCertificate && tokenOfHeader(headers["authorization"] ?? "").kind === "none") {
    throw failure(401, "Unauthorized", "Unauthorized");
  }
  const user = await access.identify(request);
  const name = ask.kind === "page" ? ask.node : "";
  const verb = request.method === "GET" ? "get" : "create";
  let refusal: unknown;
  for (const subresource of kubeletRights(ask)) {
    const question = { ...nodes, verb, subresource, namespace: "", name };
    try {
      await access.authorize(user, question);
      return;
    } catch (error) {
      refusal = error;
    }
  }
  throw refusal;
}

async function answer(
  deps: KubeletDeps,
  counters: CpuCounters,
  ask: KubeletAsk,
  query: string,
): Promise<PlainResponse> {
  if (ask.kind === "unknown") throw failure(404, "NotFound", "404 page not found");
  if (ask.kind === "logs") return text(200, await logOf(deps, ask, new URLSearchParams(query)));
  if (ask.page === "healthz") return text(200, "ok");
  if (ask.page === "metrics/probes") return text(200, "");
  const page = await pageOf(deps, ask.node);
  if (ask.page === "metrics/resource") return text(200, resourceMetrics(page, counters));
  if (ask.page === "stats/summary") return json(statsSummary(page, counters));
  return json({ kind: "PodList", apiVersion: "v1", metadata: {}, items: page.pods });
}

async function pageOf({ host, client, rules }: KubeletDeps, nodeName: string): Promise<NodePage> {
  const nowMs = host.clock.nowMs();
  const node = await hollowNode(client, nodeName);
  const fieldSelector = `spec.nodeName=${nodeName}`;
  const { items } = await client.list<Pod>(pods, { fieldSelector, resourceVersion: "0" });
  const memory = tryParseQuantity(node.status?.capacity?.["memory"] ?? "0")?.nanos ?? 0n;
  return {
    nodeName,
    startedMs: parseTime(node.metadata?.creationTimestamp) ?? nowMs,
    memoryBytes: memory / 1_000_000_000n,
    pods: items,
    rules: rules?.usage ?? [],
    nowMs,
  };
}

/** @throws ApiError 404 for a name that is no hollow node. The text says how to name one. */
async function hollowNode(client: Client, name: string): Promise<Node> {
  try {
    const node = await client.get<Node>(nodes, "", name);
    if (isHollow(node)) return node;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  const hint = "name the node before the path: /nodes/NAME/metrics/resource";
  throw failure(404, "NotFound", `${name} is no hollow node; ${hint}`);
}

async function logOf(
  { client, rules }: KubeletDeps,
  { namespace, pod, container }: KubeletAsk & { readonly kind: "logs" },
  query: URLSearchParams,
): Promise<string> {
  const found = await client.get<Pod>(pods, namespace, pod);
  const { nodeName = "" } = found.spec ?? {};
  await hollowNode(client, nodeName);
  const file = logFile(rules?.logs ?? [], { namespace, pod, container }, query);
  if (file !== undefined) return logText(file, query);
  return `${pod}/${container} runs on hollow node ${nodeName}, where nothing is run or written\n`;
}

function text(status: number, body: string): PlainResponse {
  const headers = { "content-type": "text/plain; charset=utf-8" };
  return { kind: "bytes", status, headers, body: [new TextEncoder().encode(body)] };
}

function json(value: object): PlainResponse {
  const headers = { "content-type": "application/json" };
  const body = new TextEncoder().encode(JSON.stringify(value));
  return { kind: "bytes", status: 200, headers, body: [body] };
}
