/** A relay with a discovery service, before an API server in this process whose objects are not validated. */
import { FakeClock } from "#platform/testing/clock.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import type { EtcdListening } from "#etcd/server.ts";
import { listenXds } from "#cmd/relay/xds-listen.ts";
import { relayLimits } from "#relay/limits.ts";
import { collectionPath, type MirroredKind } from "#relay/mirror/mirrored-kind.ts";
import { createRelay, type Relay } from "#relay/relay.ts";
import { FakeCollections } from "#relay/testing/fake-collections.ts";
import { relayDeps } from "#relay/testing/relay-fixture.ts";
import type { XdsFace } from "#relay/xds/xds-face.ts";
import { type XdsLimits, xdsLimits } from "#relay/xds/limits.ts";

const gatewayGroup = "gateway.networking.k8s.io";
const kinds = [
  kindOf("", "v1", "services", "Service"),
  kindOf("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
  kindOf("networking.k8s.io", "v1", "ingresses", "Ingress"),
  kindOf(gatewayGroup, "v1", "gateways", "Gateway"),
  kindOf(gatewayGroup, "v1", "httproutes", "HTTPRoute"),
  kindOf(gatewayGroup, "v1", "grpcroutes", "GRPCRoute"),
  kindOf("multicluster.x-k8s.io", "v1alpha1", "serviceimports", "ServiceImport"),
];

function kindOf(group: string, version: string, resource: string, kind: string): MirroredKind {
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return { group, version, resource, kind, apiVersion, namespaced: true };
}

const [services = "", slices = ""] = kinds.map(collectionPath);
const imports = "/apis/multicluster.x-k8s.io/v1alpha1/serviceimports";

export interface PutEndpoint {
  readonly address: string;
  readonly zone?: string;
  readonly isReady?: boolean;
}

/** Of the Gateway API, in v1. */
type GatewayObject = "Gateway" | "HTTPRoute" | "GRPCRoute";

/** The objects that several relays may mirror. */
export class XdsObjects {
  readonly upstream = new FakeCollections();

  constructor() {
    for (const kind of kinds) this.upstream.serve(collectionPath(kind));
  }

  cut(): void {
    for (const kind of kinds) this.upstream.cut(collectionPath(kind));
  }

  gatewayObject(kind: GatewayObject, namespace: string, name: string, spec: object): void {
    const path = `/apis/${gatewayGroup}/v1/${kind.toLowerCase()}s`;
    const apiVersion = `${gatewayGroup}/v1`;
    this.upstream.put(path, { apiVersion, kind, metadata: { namespace, name }, spec });
  }

  /** Port 80. */
  service(namespace: string, name: string): void {
    const metadata = { namespace, name };
    const spec = { ports: [{ name: "http", port: 80, protocol: "TCP" }] };
    this.upstream.put(services, { apiVersion: "v1", kind: "Service", metadata, spec });
  }

  /** Port 80. */
  serviceImport(namespace: string, name: string): void {
    this.upstream.put(imports, {
      apiVersion: "multicluster.x-k8s.io/v1alpha1",
      kind: "ServiceImport",
      metadata: { namespace, name },
      spec: { type: "ClusterSetIP", ports: [{ name: "http", port: 80, protocol: "TCP" }] },
    });
  }

  /** As they are imported from a cluster; `isLocal`: it is the one that the relay is in. */
  imported(
    namespace: string,
    name: string,
    port: number,
    {
      cluster,
      isLocal = false,
      all,
    }: { cluster: string; isLocal?: boolean; all: readonly PutEndpoint[] },
  ): void {
    const labels = {
      "multicluster.kubernetes.io/service-name": name,
      "multicluster.kubernetes.io/source-cluster": cluster,
      ...(isLocal ? { "regions.pilothouse.dev/local": "true" } : {}),
    };
    this.#slice({ namespace, name: `${name}-of-${cluster}`, labels }, port, all);
  }

  endpoints(namespace: string, name: string, port: number, all: readonly PutEndpoint[]): void {
    const labels = { "kubernetes.io/service-name": name };
    this.#slice({ namespace, name: `${name}-1`, labels }, port, all);
  }

  #slice(
    metadata: { namespace: string; name: string; labels: Readonly<Record<string, string>> },
    port: number,
    all: readonly PutEndpoint[],
  ): void {
    this.upstream.put(slices, {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata,
      addressType: "IPv4",
      ports: [{ name: "http", port, protocol: "TCP" }],
      endpoints: all.map(({ address, zone = "a", isReady = true }) => ({
        addresses: [address],
        zone,
        conditions: { ready: isReady },
      })),
    });
  }
}

export class XdsRelay {
  readonly relay: Relay;
  readonly #objects: XdsObjects;
  readonly #listening: EtcdListening;

  private constructor(relay: Relay, objects: XdsObjects, listening: EtcdListening) {
    this.relay = relay;
    this.#objects = objects;
    this.#listening = listening;
  }

  /** Everybody may read everything. */
  static async start(
    objects: XdsObjects,
    limits: Partial<XdsLimits> = {},
    port = 0,
  ): Promise<XdsRelay> {
    const clock = new NodeClock();
    const relay = createRelay(
      { ...relayDeps(new FakeClock(), objects.upstream), clock },
      {
        resources: kinds,
        views: [],
        consistency: "cache",
        limits: relayLimits,
        xds: { ...xdsLimits, ...limits },
      },
    );
    // Timers of the platform do not keep a process alive, and nothing else is open yet.
    const alive = setInterval(() => {}, 60_000);
    await relay.untilReady(new AbortController().signal);
    clearInterval(alive);
    const { xds: face } = relay;
    if (face === undefined) throw new Error("the relay has no discovery service");
    const keys = { cert: undefined, key: undefined, clientCa: undefined };
    const at = { host: "127.0.0.1", port };
    return new XdsRelay(relay, objects, await listenXds({ clock, log: silentLog, face }, at, keys));
  }

  get face(): XdsFace {
    const { xds } = this.relay;
    if (xds === undefined) throw new Error("the relay has no discovery service");
    return xds;
  }

  get port(): number {
    return this.#listening.port;
  }

  /** Watches of other relays are cut with its own. */
  async stop(): Promise<void> {
    const stopped = this.relay.stop();
    this.#objects.cut();
    await stopped;
    await this.#listening.close();
  }
}
