/**
 * What may run in a region: it makes the summary there, and holds the fence for whole workloads.
 *
 *   every `everyMs`: summary changed ──► ConfigMap      challenge ──► Lease      not held ──► fenced workloads to 0
 *
 * Holds  while the fence is not held, what is marked as fenced is scaled to 0 and stays there; it is never scaled up here.
 *        After a start it waits `startMs` for its first grant, which the coordinator's `stopMs` has in it.
 * Needs  the region's own API only: no credential of home, no way in from outside.
 */
import type { AnyObject, KubeObject } from "#api/object.ts";
import type { Node, Pod } from "#api/gen/types.ts";
import { isRecord } from "#base/is-record.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { createInformerSet } from "#client/informer-set.ts";
import type { Informer } from "#client/informer.ts";
import { runReflector } from "#client/reflector.ts";
import { sleep, type Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import { FenceHolder } from "../failure/fence.ts";
import {
  annotations,
  fenceName,
  labels,
  managerName,
  refs,
  regionNamespace,
  summaryName,
} from "../names.ts";
import { keysOnly } from "../summary/keys-only.ts";
import { SummaryKeeper } from "../summary/region-summary.ts";
import { summaryProperties } from "../summary/summary-text.ts";

interface AgentDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface AgentOptions {
  readonly everyMs: number;
  readonly leaseMs: number;
  /** Time that the agent waits for its first grant after a start. */
  readonly startMs: number;
  readonly podsMax: number;
}

const fencedKinds: readonly ResourceRef[] = [
  { group: "apps", version: "v1", resource: "statefulsets" },
  { group: "apps", version: "v1", resource: "deployments" },
];

const apply = { fieldManager: managerName, force: true };

export class RegionAgent {
  readonly #deps: AgentDeps;
  readonly #options: AgentOptions;
  readonly #keeper: SummaryKeeper;
  readonly #fence: FenceHolder;
  readonly #startedMs: number;
  #written = "";

  constructor(deps: AgentDeps, options: AgentOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#keeper = new SummaryKeeper(options);
    this.#fence = new FenceHolder(options);
    this.#startedMs = deps.clock.monotonicMs();
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const informers = createInformerSet(this.#deps);
    const leases = informers.informer<KubeObject>(refs.leases, {
      namespace: regionNamespace,
      fieldSelector: `metadata.name=${fenceName}`,
    });
    const take = ({ metadata }: KubeObject): void =>
      this.#fence.granted(metadata?.annotations?.[annotations.granted] ?? "");
    leases.addHandler({ add: take, update: (_, lease) => take(lease) });
    const workloads = fencedKinds.map((ref) =>
      informers.informer<AnyObject>(ref, { labelSelector: labels.placement }),
    );
    const keeper = this.#keeper;
    const nodes = keysOnly<Node>({
      set: (_, node) => keeper.setNode(node),
      remove: (key) => keeper.removeNode(key),
    });
    const pods = keysOnly<Pod>({
      set: (key, pod) => keeper.setPod(key, pod),
      remove: (key) => keeper.removePod(key),
    });
    await Promise.all([
      informers.run(signal),
      runReflector<Node>(this.#deps, { ref: refs.nodes }, nodes, signal),
      runReflector<Pod>(this.#deps, { ref: refs.pods }, pods, signal),
      this.#loop(workloads, signal),
    ]);
  }

  async #loop(workloads: readonly Informer<AnyObject>[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted) {
      // Each task catches its own errors, so that a failure of one does not keep the others from running.
      await this.#tried("fence", () => this.#challenge());
      await this.#tried("stop", () => this.#stopFenced(workloads));
      await this.#tried("summary", () => this.#writeSummary());
      await sleep(clock, "regions.agent", this.#options.everyMs, signal);
    }
  }

  async #tried(what: string, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#deps.log.warn("the agent will try again", { what, error: String(error) });
    }
  }

  async #challenge(): Promise<void> {
    const { client, clock, random } = this.#deps;
    const nonce = this.#fence.challenge(random.uuid(), clock.monotonicMs());
    await client.patch(
      refs.leases,
      regionNamespace,
      fenceName,
      "apply",
      {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: {
          name: fenceName,
          namespace: regionNamespace,
          annotations: { [annotations.challenge]: nonce },
        },
        spec: { holderIdentity: "region-agent" },
      },
      { fieldManager: "pilothouse-region-agent", force: true },
    );
  }

  async #stopFenced(workloads: readonly Informer<AnyObject>[]): Promise<void> {
    const nowMs = this.#deps.clock.monotonicMs();
    const isStarting = nowMs - this.#startedMs < this.#options.startMs;
    if (this.#fence.holds(nowMs) || isStarting) return;
    for (const informer of workloads) {
      for (const object of informer.list()) await this.#stop(informer.ref, object);
    }
  }

  async #stop(ref: ResourceRef, { metadata, spec }: AnyObject): Promise<void> {
    if (metadata?.annotations?.[annotations.fenced] !== "true") return;
    if (isRecord(spec) && spec["replicas"] === 0) return;
    const { namespace = "", name = "" } = metadata;
    await this.#deps.client.patch(ref, namespace, name, "merge", { spec: { replicas: 0 } });
    this.#deps.log.warn("the fence is not held: stopped", {
      resource: ref.resource,
      namespace,
      name,
    });
  }

  async #writeSummary(): Promise<void> {
    const properties = summaryProperties(this.#keeper.summary());
    const data = Object.fromEntries(properties.map(({ name, value }) => [name, value]));
    const text = JSON.stringify(data);
    if (text === this.#written) return;
    const metadata = { name: summaryName, namespace: regionNamespace };
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
    await this.#deps.client.patch(
      refs.configMaps,
      regionNamespace,
      summaryName,
      "apply",
      object,
      apply,
    );
    this.#written = text;
  }
}
