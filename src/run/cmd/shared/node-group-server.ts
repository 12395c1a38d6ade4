/**
 * Hollow node groups as a provider of cluster-autoscaler: its externalgrpc protocol, over HTTP/2 with or without TLS.
 * With a CA, clients must have a certificate of it, as that provider's clients do.
 */
import {
  createServer,
  createSecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { encodeProtobuf } from "#forms/protobuf/encode.ts";
import type { GroupNodes } from "#hollow/node-group-nodes.ts";
import type { NodeGroupSpec } from "#hollow/node-group-spec.ts";
import type { GroupAnswer, GroupInstance } from "#hollow/node-groups.ts";
import type { Pod } from "#api/gen/types.ts";
import { takeAnyAnchor } from "#platform/node/trust.ts";
import { decodeProtobuf } from "#forms/protobuf/decode.ts";
import { amountOf } from "#scheduler/amounts.ts";
import { podRequests } from "#scheduler/requests.ts";
import type { AnyObject } from "#api/object.ts";
import { GrpcServer, unaryHandler, type UnaryHandler } from "#wire/grpc-server.ts";
import { ErrorClass, InstanceState, methods, type Method } from "#wire/externalgrpc-messages.ts";
import type { Input } from "#wire/etcd-codec.ts";
import { Code, GrpcError } from "#wire/grpc.ts";

const scheme = "hollow://";
const connectionsMax = 64;
/** Maximum time of a TLS handshake. A slower connection is closed to free its place. */
const handshakeMsMax = 10_000;
const secondsPerHour = 3_600;

export interface ProviderTls {
  /** Server certificate in PEM. */
  readonly cert: string;
  readonly key: string;
  /** CA of clients' certificates. */
  readonly clientCa: string;
}

export interface ListeningProvider {
  readonly address: string;
  close(): Promise<void>;
}

/** Returns a server that requires a client certificate from `clientCa`. */
function secureServer({ cert, key, clientCa: ca }: ProviderTls): Http2Server {
  const asked = {
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: "TLSv1.2",
    handshakeTimeout: handshakeMsMax,
  } as const;
  const server = createSecureServer({ cert, key, ca, ...asked });
  takeAnyAnchor(server);
  return server;
}

interface ProviderPlace {
  /** Address to listen on. The caller ensures that it is loopback unless TLS is given. */
  readonly host: string;
  readonly port: number;
  readonly tls: ProviderTls | undefined;
  /** Idle time after which a connection is closed to free its place. */
  readonly silentMsMax: number;
}

export async function serveNodeGroups(
  nodes: GroupNodes,
  at: ProviderPlace,
): Promise<ListeningProvider> {
  const grpc = new GrpcServer(handlersOf(nodes));
  const server = at.tls === undefined ? createServer() : secureServer(at.tls);
  server.maxConnections = connectionsMax;
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => undefined);
    session.setTimeout(at.silentMsMax, () => session.destroy());
    session.once("close", () => sessions.delete(session));
  });
  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) =>
    grpc.serve(stream, headers),
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(at.port, at.host, resolve);
  });
  // A listening TCP server has an address.
  const { port } = server.address() as AddressInfo;
  const host = at.host.includes(":") ? `[${at.host}]` : at.host;
  return {
    address: `${host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
}

function handlersOf(nodes: GroupNodes): ReadonlyMap<string, UnaryHandler> {
  const handlers = new Map<string, UnaryHandler>();
  const on = <Q, A>(method: Method<Q, A>, serve: (request: Q) => Input<A> | Promise<Input<A>>) =>
    handlers.set(method.path, unaryHandler(method, serve));
  const { groups } = nodes;
  on(methods.nodeGroups, () => ({ nodeGroups: groups.specs().map(groupMessage) }));
  on(methods.nodeGroupForNode, ({ node }) => {
    const spec = groups.groupOf(nameOf(node));
    return { nodeGroup: spec === undefined ? { id: "" } : groupMessage(spec) };
  });
  on(methods.nodePrice, ({ node, start, end }) => {
    const price = groups.groupOf(nameOf(node))?.price ?? templatePrice(nodes, nameOf(node));
    if (price === undefined) throw unimplemented("the group has no price");
    return { price: price * hoursOf(start, end) };
  });
  on(methods.gpuLabel, () => ({ label: "" }));
  on(methods.gpuTypes, () => ({}));
  on(methods.cleanup, () => ({}));
  on(methods.refresh, () => ({}));
  on(methods.targetSize, ({ id }) => {
    const targetSize = groups.target(id);
    if (targetSize === undefined) throw noGroup(id);
    return { targetSize };
  });
  on(methods.increaseSize, async ({ id, delta }) => {
    await settle(nodes.increase(id, delta));
    return {};
  });
  on(methods.deleteNodes, async ({ id, nodes: gone }) => {
    await settle(nodes.deleteNodes(id, gone.map(nameOf)));
    return {};
  });
  on(methods.decreaseTargetSize, async ({ id, delta }) => {
    await settle(groups.decreaseTarget(id, delta));
    return {};
  });
  on(methods.nodes, ({ id }) => {
    const instances = groups.instances(id);
    if (instances === undefined) throw noGroup(id);
    return { instances: instances.map(instanceMessage) };
  });
  on(methods.templateNodeInfo, ({ id }) => {
    const spec = groups.spec(id);
    if (spec === undefined) throw noGroup(id);
    const gvk = { group: "", version: "v1", kind: "Node" };
    return { node: encodeProtobuf(gvk, nodes.template(spec) as unknown as AnyObject) };
  });
  on(methods.getOptions, () => {
    throw unimplemented("groups have no options of their own");
  });
  on(methods.podPrice, ({ pod, start, end }) => {
    const price = podPrice(groups.specs(), pod);
    if (price === undefined) throw unimplemented("no group has a price");
    return { price: price * hoursOf(start, end) };
  });
  return handlers;
}

interface Moment {
  readonly seconds: number;
}

function hoursOf(start: Moment | undefined, end: Moment | undefined): number {
  return Math.max(0, (end?.seconds ?? 0) - (start?.seconds ?? 0)) / secondsPerHour;
}

/** Returns the pod's share of the price of the node on which it is cheapest. */
function podPrice(specs: readonly NodeGroupSpec[], bytes: Uint8Array): number | undefined {
  const pod = decodeProtobuf({ group: "", version: "v1", kind: "Pod" }, bytes) as Pod | undefined;
  const { cpu, memory } = podRequests(pod?.spec ?? { containers: [] });
  let least: number | undefined;
  for (const { price, shape } of specs) {
    if (price === undefined) continue;
    const ofCpu = cpu / Math.max(1, amountOf("cpu", shape["cpu"] ?? "0"));
    const ofMemory = memory / Math.max(1, amountOf("memory", shape["memory"] ?? "0"));
    const own = price * Math.max(ofCpu, ofMemory);
    least = Math.min(least ?? own, own);
  }
  return least;
}

/** A template's name contains the group's name and a suffix, which cluster-autoscaler may extend. */
function templatePrice(nodes: GroupNodes, name: string): number | undefined {
  const specs = nodes.groups.specs().filter((spec) => name.includes(`${spec.name}-`));
  return specs.toSorted((a, b) => b.name.length - a.name.length)[0]?.price;
}

function nameOf(node: { readonly name: string; readonly providerId: string } | undefined): string {
  const id = node?.providerId ?? "";
  return id.startsWith(scheme) ? id.slice(scheme.length) : (node?.name ?? "");
}

function groupMessage(spec: NodeGroupSpec) {
  const debug = `${spec.name} (${spec.min}:${spec.max})`;
  return { id: spec.name, minSize: spec.min, maxSize: spec.max, debug };
}

function instanceMessage({ name, state, error }: GroupInstance) {
  const errorInfo =
    error === undefined
      ? undefined
      : {
          errorCode: error.code,
          errorMessage: error.message,
          errorClass: ErrorClass.outOfResources,
        };
  return { id: `${scheme}${name}`, status: { state: InstanceState[state], errorInfo } };
}

const codes = {
  "not-found": Code.notFound,
  invalid: Code.invalidArgument,
  "out-of-resources": Code.resourceExhausted,
  bounds: Code.failedPrecondition,
} as const;

/** A failure of kind "hang" never answers, so the call ends when the caller gives up. */
async function settle(answer: GroupAnswer): Promise<void> {
  if (answer.kind === "hang") await new Promise<never>(() => undefined);
  if (answer.kind === "refused") throw new GrpcError(codes[answer.code], answer.message);
}

function noGroup(id: string): GrpcError {
  return new GrpcError(Code.notFound, `there is no node group ${id}`);
}

function unimplemented(text: string): GrpcError {
  return new GrpcError(Code.unimplemented, text);
}
