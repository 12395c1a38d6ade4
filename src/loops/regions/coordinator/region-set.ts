/**
 * The regions of the coordinator: one connection for each ClusterProfile of ours that has a Secret with a kubeconfig, or whose
 * agent dials in.
 *
 *   profile + Secret appear, Secret changes ──► connect, run      profile or Secret goes ──► disconnect
 *
 * Holds  a connection belongs to the kubeconfig and the profile's marks it was made from; a change makes another. A profile of another
 *        manager is not touched.
 * Bounds `regionsMax` connections; one beyond it, and one whose kubeconfig cannot be used, says so in its profile.
 */
import type { AnyObject, KubeObject } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import type { InformerSet } from "#client/informer-set.ts";
import { hasQuorum, type RegionStanding } from "../failure/region-health.ts";
import { annotations, managerName, refs } from "../names.ts";
import { RegionConnection, type RegionDeps, type RegionTimes } from "./region-connection.ts";

/** How a region is reached: by a kubeconfig (base64), or over the connection that its agent has opened. */
type RegionWay =
  | { readonly kind: "push"; readonly kubeconfig: string }
  | { readonly kind: "pull"; readonly region: string };

/** Opens a client for a region. Throws an error with a text for the operator when the way cannot be used. */
export type OpenRegion = (way: RegionWay) => {
  readonly client: Client;
  readonly close: () => void;
};

export interface ClusterProfile extends KubeObject {
  readonly spec?: { readonly clusterManager?: { readonly name?: string } };
  readonly status?: AnyObject;
}

export interface RegionSetOptions {
  /** Namespace of the profiles and their Secrets. */
  readonly namespace: string;
  readonly regionsMax: number;
  readonly summaryPodsMax: number;
  readonly times: RegionTimes;
}

interface Opened {
  readonly connection: RegionConnection;
  readonly way: RegionWay;
  /** Marks of the profile at the time when the connection was made. */
  readonly marks: string;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

export class RegionSet {
  readonly profiles: Informer<ClusterProfile>;
  readonly #secrets: Informer<AnyObject>;
  readonly #deps: Omit<RegionDeps, "client">;
  readonly #options: RegionSetOptions;
  readonly #open: OpenRegion;
  readonly #opened = new Map<string, Opened>();
  /** Assigned once, before anything runs. */
  onState: (region: string) => void = () => {};
  onObject: (object: KubeObject) => void = () => {};
  /** Called with `namespace/name` when a service that a region exports has changed. */
  onService: (key: string) => void = () => {};

  constructor(
    deps: Omit<RegionDeps, "client"> & { readonly informers: InformerSet },
    open: OpenRegion,
    options: RegionSetOptions,
  ) {
    const { namespace } = options;
    this.#deps = deps;
    this.#open = open;
    this.#options = options;
    this.profiles = deps.informers.informer<ClusterProfile>(refs.profiles, { namespace });
    this.#secrets = deps.informers.informer<AnyObject>(refs.secrets, { namespace });
  }

  get secrets(): Informer<AnyObject> {
    return this.#secrets;
  }

  profileOf(name: string): ClusterProfile | undefined {
    const profile = this.profiles.get(this.#options.namespace, name);
    return profile?.spec?.clusterManager?.name === managerName ? profile : undefined;
  }

  /** Returns undefined while the region is not connected. */
  connectionOf(name: string): RegionConnection | undefined {
    return this.#opened.get(name)?.connection;
  }

  /** Kubeconfig (base64) with which users read in the region as themselves. Undefined: the region does not allow that. */
  readerOf(name: string): string | undefined {
    if (this.profileOf(name) === undefined) return undefined;
    return kubeconfigOf(this.#secrets.get(this.#options.namespace, name), "reader");
  }

  /** Whether the region's agent dials in. */
  isPulled(name: string): boolean {
    return isMarked(this.profileOf(name), annotations.pull);
  }

  names(): readonly string[] {
    return this.profiles
      .list()
      .map(({ metadata }) => metadata?.name ?? "")
      .filter((name) => this.profileOf(name) !== undefined)
      .toSorted();
  }

  /** Connects the region if needed. @returns why the region is not connected; "" when it is. */
  connect(name: string): string {
    const profile = this.profileOf(name);
    const way = this.#wayTo(name, profile);
    const known = this.#opened.get(name);
    const isSame = jsonEqual(known?.way ?? {}, way ?? {}) && known?.marks === marksOf(profile);
    if (known !== undefined && isSame) return "";
    if (known !== undefined) this.#close(name, known);
    if (profile === undefined) return "";
    if (way === undefined) return `Secret ${name} with a key kubeconfig is missing`;
    if (this.#opened.size >= this.#options.regionsMax) {
      return `${this.#options.regionsMax} regions are connected already, which is the most`;
    }
    return this.#connect(name, profile, way);
  }

  #wayTo(name: string, profile: ClusterProfile | undefined): RegionWay | undefined {
    if (profile === undefined) return undefined;
    if (isMarked(profile, annotations.pull)) return { kind: "pull", region: name };
    const kubeconfig = kubeconfigOf(this.#secrets.get(this.#options.namespace, name));
    return kubeconfig === undefined ? undefined : { kind: "push", kubeconfig };
  }

  #connect(name: string, profile: ClusterProfile, way: RegionWay): string {
    try {
      const { client, close } = this.#open(way);
      const stop = new AbortController();
      const { times, summaryPodsMax } = this.#options;
      const connection = new RegionConnection(
        { ...this.#deps, client },
        {
          name,
          times,
          summaryPodsMax,
          hasAgent: isMarked(profile, annotations.agent),
          hasServices: isMarked(profile, annotations.services),
          onService: (key) => this.onService(key),
          onState: () => this.onState(name),
          onObject: (object) => this.onObject(object),
        },
      );
      const ended = connection.run(stop.signal).finally(close);
      this.#opened.set(name, { connection, way, marks: marksOf(profile), stop, ended });
      return "";
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #close(name: string, { connection, stop }: Opened): void {
    this.#opened.delete(name);
    stop.abort();
    // Notify the service controller, so that the exports of this region are removed from the others.
    for (const key of connection.exports?.keys() ?? []) this.onService(key);
  }

  /** Closes all connections; resolves when every one of them has ended. */
  async close(): Promise<void> {
    const all = [...this.#opened];
    for (const [name, opened] of all) this.#close(name, opened);
    await Promise.allSettled(all.map(([, { ended }]) => ended));
  }

  standing(name: string): RegionStanding {
    const connection = this.connectionOf(name);
    const nowMs = this.#deps.clock.monotonicMs();
    const order = this.profileOf(name)?.metadata?.annotations?.[annotations.order];
    return {
      state: connection?.health.state ?? "Joining",
      silentMs: connection?.health.silentMs(nowMs) ?? 0,
      order: order === "drain" || order === "lost" ? order : "none",
    };
  }

  hasQuorum(): boolean {
    return hasQuorum(this.names().map((name) => this.standing(name).state));
  }
}

function isMarked(profile: ClusterProfile | undefined, annotation: string): boolean {
  return profile?.metadata?.annotations?.[annotation] === "true";
}

/** Profile marks that, besides the kubeconfig, determine how a connection is made. */
function marksOf(profile: ClusterProfile | undefined): string {
  return [annotations.agent, annotations.services]
    .map((annotation) => String(isMarked(profile, annotation)))
    .join(" ");
}

function kubeconfigOf(secret: AnyObject | undefined, key = "kubeconfig"): string | undefined {
  const data = secret?.["data"];
  const kubeconfig = isRecord(data) ? data[key] : undefined;
  return typeof kubeconfig === "string" ? kubeconfig : undefined;
}
