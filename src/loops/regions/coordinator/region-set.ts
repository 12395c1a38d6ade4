/**
 * The regions of the coordinator: one connection for each ClusterProfile of ours that has a Secret with a kubeconfig.
 *
 *   profile + Secret appear, Secret changes ──► connect, run      profile or Secret goes ──► disconnect
 *
 * Holds  a connection belongs to the kubeconfig it was made from; a changed Secret makes another. A profile of another
 *        manager is not touched.
 * Bounds `regionsMax` connections; one beyond it, and one whose kubeconfig cannot be used, says so in its profile.
 */
import type { AnyObject, KubeObject } from "#api/object.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import type { InformerSet } from "#client/informer-set.ts";
import { hasQuorum, type RegionStanding } from "../failure/region-health.ts";
import { annotations, managerName, refs } from "../names.ts";
import { RegionConnection, type RegionDeps, type RegionTimes } from "./region-connection.ts";

/** What a kubeconfig opens. Throws when it cannot be used, with a text for the operator. */
export type OpenRegion = (kubeconfig: string) => {
  readonly client: Client;
  readonly close: () => void;
};

export interface ClusterProfile extends KubeObject {
  readonly spec?: { readonly clusterManager?: { readonly name?: string } };
  readonly status?: AnyObject;
}

export interface RegionSetOptions {
  /** Of profiles and their Secrets. */
  readonly namespace: string;
  readonly regionsMax: number;
  readonly summaryPodsMax: number;
  readonly times: RegionTimes;
}

interface Opened {
  readonly connection: RegionConnection;
  readonly kubeconfig: string;
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
  /** Set once, before anything runs. */
  onState: (region: string) => void = () => {};
  onObject: (object: KubeObject) => void = () => {};

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

  /** Undefined: not connected. */
  connectionOf(name: string): RegionConnection | undefined {
    return this.#opened.get(name)?.connection;
  }

  names(): readonly string[] {
    return this.profiles
      .list()
      .map(({ metadata }) => metadata?.name ?? "")
      .filter((name) => this.profileOf(name) !== undefined)
      .toSorted();
  }

  /** @returns why a region is not connected; "" when it is. */
  connect(name: string): string {
    const profile = this.profileOf(name);
    const secret = this.#secrets.get(this.#options.namespace, name);
    const kubeconfig = profile === undefined ? undefined : kubeconfigOf(secret);
    const known = this.#opened.get(name);
    if (known !== undefined && known.kubeconfig === kubeconfig) return "";
    if (known !== undefined) this.#close(name, known);
    if (profile === undefined) return "";
    if (kubeconfig === undefined) return `Secret ${name} with a key kubeconfig is missing`;
    if (this.#opened.size >= this.#options.regionsMax) {
      return `${this.#options.regionsMax} regions are connected already, which is the most`;
    }
    return this.#connect(name, profile, kubeconfig);
  }

  #connect(name: string, profile: ClusterProfile, kubeconfig: string): string {
    try {
      const { client, close } = this.#open(kubeconfig);
      const stop = new AbortController();
      const { times, summaryPodsMax } = this.#options;
      const connection = new RegionConnection(
        { ...this.#deps, client },
        {
          name,
          times,
          summaryPodsMax,
          hasAgent: profile.metadata?.annotations?.[annotations.agent] === "true",
          onState: () => this.onState(name),
          onObject: (object) => this.onObject(object),
        },
      );
      const ended = connection.run(stop.signal).finally(close);
      this.#opened.set(name, { connection, kubeconfig, stop, ended });
      return "";
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #close(name: string, { stop }: Opened): void {
    this.#opened.delete(name);
    stop.abort();
  }

  /** Resolves when every connection has ended. */
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

function kubeconfigOf(secret: AnyObject | undefined): string | undefined {
  const data = secret?.["data"];
  if (typeof data !== "object" || data === null || !("kubeconfig" in data)) return undefined;
  const { kubeconfig } = data;
  return typeof kubeconfig === "string" ? kubeconfig : undefined;
}
