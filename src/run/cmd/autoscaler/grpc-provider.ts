/**
 * A provider that speaks cluster-autoscaler's externalgrpc protocol, as that provider's client calls it.
 *
 * Holds  a call ends within its timeout, whatever the provider does; an answer above 4 MiB is refused by its length. After a call
 *        that was not answered the next one has a connection of its own: the old one may lead to a host that is gone.
 */
import { type ClientHttp2Session, connect } from "node:http2";
import { trusting } from "#platform/node/trust.ts";
import type { Node } from "#api/gen/types.ts";
import type { NodeGroupProvider, ProviderNode } from "#autoscaler/provider.ts";
import { providerNode } from "#autoscaler/provider.ts";
import type { GroupOptions, Instance } from "#autoscaler/snapshot.ts";
import { decodeProtobuf } from "#forms/protobuf/decode.ts";
import type { Clock } from "#platform/clock.ts";
import type { Input } from "#wire/etcd-codec.ts";
import { ErrorClass, InstanceState, type Method, methods } from "#wire/externalgrpc-messages.ts";
import { Code, framed, GrpcError, prefixBytes } from "#wire/grpc.ts";
import { callUnary } from "#wire/grpc-unary.ts";

export interface CloudConfig {
  /** Address of the provider, as `host:port`. */
  readonly address: string;
  /** Files' contents in PEM. Undefined: the connection uses no TLS. */
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string } | undefined;
  readonly timeoutMs: number;
}

const states: ReadonlyMap<number, Instance["state"]> = new Map([
  [InstanceState.running, "running"],
  [InstanceState.creating, "creating"],
  [InstanceState.deleting, "deleting"],
]);
const hourSeconds = 3_600;

export class GrpcProvider implements NodeGroupProvider {
  readonly #clock: Clock;
  readonly #config: CloudConfig;
  #session: ClientHttp2Session | undefined;

  constructor({ clock }: { readonly clock: Clock }, config: CloudConfig) {
    this.#clock = clock;
    this.#config = config;
  }

  close(): void {
    this.#session?.destroy();
    this.#session = undefined;
  }

  async refresh(): Promise<void> {
    await this.#call(methods.refresh, {});
  }

  async groups() {
    const { nodeGroups } = await this.#call(methods.nodeGroups, {});
    return nodeGroups.map(({ id, minSize, maxSize }) => ({ id, min: minSize, max: maxSize }));
  }

  async targetSize(id: string): Promise<number> {
    return (await this.#call(methods.targetSize, { id })).targetSize;
  }

  async instances(group: string): Promise<readonly Instance[]> {
    const { instances } = await this.#call(methods.nodes, { id: group });
    return instances.map(({ id, status }) => {
      const { errorCode = "", errorMessage = "", errorClass = 0 } = status?.errorInfo ?? {};
      const isOutOfResources = errorClass === ErrorClass.outOfResources;
      const error =
        errorCode === "" ? undefined : { code: errorCode, message: errorMessage, isOutOfResources };
      return { id, state: states.get(status?.state ?? 0) ?? "unspecified", error };
    });
  }

  async template(id: string): Promise<Node | undefined> {
    const answer = await this.#optional(methods.templateNodeInfo, { id });
    if (answer === undefined || answer.node.length === 0) return undefined;
    // The bytes are decoded as the requested kind. The view of the group checks the content.
    return decodeProtobuf({ group: "", version: "v1", kind: "Node" }, answer.node) as Node;
  }

  async options(id: string, defaults: GroupOptions): Promise<GroupOptions | undefined> {
    const asked = {
      scaleDownUtilizationThreshold: defaults.scaleDownUtilizationThreshold,
      ignoreDaemonSetsUtilization: defaults.ignoreDaemonSetsUtilization,
      scaleDownUnneeded: durationOf(defaults.scaleDownUnneededMs),
      scaleDownUnready: durationOf(defaults.scaleDownUnreadyMs),
      maxNodeProvision: durationOf(defaults.maxNodeProvisionMs),
    };
    const own = (await this.#optional(methods.getOptions, { id, defaults: asked }))?.options;
    if (own === undefined) return undefined;
    return {
      scaleDownUtilizationThreshold: own.scaleDownUtilizationThreshold,
      ignoreDaemonSetsUtilization: own.ignoreDaemonSetsUtilization,
      scaleDownUnneededMs: msOf(own.scaleDownUnneeded) ?? defaults.scaleDownUnneededMs,
      scaleDownUnreadyMs: msOf(own.scaleDownUnready) ?? defaults.scaleDownUnreadyMs,
      maxNodeProvisionMs: msOf(own.maxNodeProvision) ?? defaults.maxNodeProvisionMs,
    };
  }

  async price(node: Node): Promise<number | undefined> {
    const start = { seconds: Math.floor(this.#clock.nowMs() / 1_000) };
    const end = { seconds: start.seconds + hourSeconds };
    const asked = { node: nodeMessage(providerNode(node)), start, end };
    return (await this.#optional(methods.nodePrice, asked))?.price;
  }

  async increase(id: string, delta: number): Promise<void> {
    await this.#call(methods.increaseSize, { id, delta });
  }

  async deleteNodes(id: string, nodes: readonly ProviderNode[]): Promise<void> {
    await this.#call(methods.deleteNodes, { id, nodes: nodes.map(nodeMessage) });
  }

  async decreaseTarget(id: string, delta: number): Promise<void> {
    await this.#call(methods.decreaseTargetSize, { id, delta });
  }

  /** Calls a method that a provider may omit. Undefined: the provider does not implement the method. */
  async #optional<Q, A>(method: Method<Q, A>, request: Input<Q>): Promise<A | undefined> {
    try {
      return await this.#call(method, request);
    } catch (error) {
      if (error instanceof GrpcError && error.code === Code.unimplemented) return undefined;
      throw error;
    }
  }

  async #call<Q, A>({ path, request, response }: Method<Q, A>, value: Input<Q>): Promise<A> {
    const late = new AbortController();
    const { timeoutMs } = this.#config;
    const timer = this.#clock.after("autoscaler.call", timeoutMs, () => late.abort());
    const session = this.#session ?? this.#dial();
    try {
      const message = framed(request.encode(value, prefixBytes));
      return response.decode(await callUnary(session, path, message, late.signal));
    } catch (error) {
      if (late.signal.aborted) this.#leave(session);
      const why = error instanceof Error ? error.message : String(error);
      const text = `${path.slice(path.lastIndexOf("/") + 1)} at ${this.#config.address}: ${why}`;
      throw new GrpcError(error instanceof GrpcError ? error.code : Code.unknown, text);
    } finally {
      timer.cancel();
    }
  }

  /** Gives up the connection. Calls in flight on it continue until their own timeouts. */
  #leave(session: ClientHttp2Session): void {
    if (session.connecting) session.destroy();
    else session.close();
    if (this.#session === session) this.#session = undefined;
  }

  /** Opens a connection, for which calls wait. The first call that fails makes the next call dial again. */
  #dial(): ClientHttp2Session {
    const { address, tls } = this.#config;
    const url = `${tls === undefined ? "http" : "https"}://${address}`;
    const settings = { enablePush: false };
    const session =
      tls === undefined
        ? connect(url, { settings })
        : connect(url, { settings, cert: tls.cert, key: tls.key, ...trusting(tls.ca) });
    session.unref();
    this.#session = session;
    const forget = (): void => {
      if (this.#session === session) this.#session = undefined;
    };
    session.on("error", forget);
    session.on("goaway", forget);
    session.once("close", forget);
    return session;
  }
}

function nodeMessage({ name, providerId, labels, annotations }: ProviderNode) {
  return { name, providerId, labels: entriesOf(labels), annotations: entriesOf(annotations) };
}

function entriesOf(map: Readonly<Record<string, string>>) {
  return Object.entries(map).map(([key, value]) => ({ key, value }));
}

function durationOf(ms: number) {
  return { seconds: Math.floor(ms / 1_000), nanos: (ms % 1_000) * 1_000_000 };
}

function msOf(duration: { readonly seconds: number; readonly nanos: number } | undefined) {
  return duration === undefined ? undefined : duration.seconds * 1_000 + duration.nanos / 1_000_000;
}
