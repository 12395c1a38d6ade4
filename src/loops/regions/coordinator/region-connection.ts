/**
 * One region as the coordinator holds it: a client, the objects that it placed there, a summary, and whether it answers.
 *
 * Runs   a probe every `probeEveryMs` (GET /version, 10 s); informers of placed kinds, by label; a summary of nodes and pods,
 *        or the one that the region's agent wrote; the fence's grants.
 * Holds  nothing is written while the region is not Ready. Its copies may be old while it does not answer.
 * Bounds memory: what is placed there, 4 KB of summary, and, without an agent, some 150 bytes per pod up to a bound.
 */
import type { AnyObject, KubeObject } from "#api/object.ts";
import type { Node, Pod } from "#api/gen/types.ts";
import { isRecord } from "#base/is-record.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { createInformerSet, type InformerSet } from "#client/informer-set.ts";
import type { Informer } from "#client/informer.ts";
import { runReflector } from "#client/reflector.ts";
import { sleep, type Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import { FenceAuthority, type FenceTimes } from "../failure/fence.ts";
import { RegionHealth } from "../failure/region-health.ts";
import { annotations, fenceName, labels, refs, regionNamespace, summaryName } from "../names.ts";
import { RegionExports } from "../services/region-exports.ts";
import { keysOnly } from "../summary/keys-only.ts";
import { SummaryKeeper, type RegionSummary } from "../summary/region-summary.ts";
import { parseSummary } from "../summary/summary-text.ts";

export interface RegionTimes extends FenceTimes {
  readonly probeEveryMs: number;
  readonly probeTimeoutMs: number;
  readonly unknownAfterMs: number;
}

export interface RegionDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface RegionOptions {
  readonly name: string;
  readonly times: RegionTimes;
  readonly summaryPodsMax: number;
  /** Whether an agent in the region makes the summary. */
  readonly hasAgent: boolean;
  /** Whether the region takes part in global services. */
  readonly hasServices: boolean;
  /** Called with `namespace/name` when a service that the region exports has changed. */
  readonly onService: (key: string) => void;
  /** Called when the region starts or stops to answer. */
  readonly onState: () => void;
  /** Called when an object that was placed in the region has changed. */
  readonly onObject: (object: KubeObject) => void;
}

export class RegionConnection {
  readonly name: string;
  readonly client: Client;
  readonly health: RegionHealth;
  readonly fence: FenceAuthority;
  readonly #deps: RegionDeps;
  readonly #options: RegionOptions;
  readonly #informers: InformerSet;
  readonly #placed = new Map<string, Informer<AnyObject>>();
  readonly #keeper: SummaryKeeper;
  /** Undefined: the region takes no part in global services. */
  readonly exports: RegionExports | undefined;
  #agentSummary: RegionSummary | undefined;
  #version = "";
  #problem = "";
  /** Whether the agent has sent a challenge since this process started, so that an agent exists that stops fenced workloads. */
  #hasChallenged = false;

  constructor(deps: RegionDeps, options: RegionOptions) {
    this.#deps = deps;
    this.#options = options;
    this.name = options.name;
    this.client = deps.client;
    const nowMs = deps.clock.monotonicMs();
    this.health = new RegionHealth(nowMs, options.times.unknownAfterMs);
    this.fence = new FenceAuthority(options.times, nowMs);
    this.#informers = createInformerSet(deps);
    this.#keeper = new SummaryKeeper({ podsMax: options.summaryPodsMax });
    const { name: region, onService: onChange, onState: onSynced } = options;
    this.exports = options.hasServices
      ? new RegionExports(deps, this.#informers, { region, onChange, onSynced })
      : undefined;
  }

  get isReady(): boolean {
    return this.health.state === "Ready";
  }

  /** Whether the fence guarantees that no whole workload runs in the region. False if no agent there holds a fence. */
  get isFenceOver(): boolean {
    return this.#hasChallenged && this.fence.isOver(this.#deps.clock.monotonicMs());
  }

  /** Error of the last probe; "" if the region answered it. */
  get problem(): string {
    return this.#problem;
  }

  /** Version of the region's API server, for example `v1.36.0`; "" before the first answer. */
  get version(): string {
    return this.#version;
  }

  /** Undefined: the summary is not known yet. */
  get summary(): RegionSummary | undefined {
    if (this.#options.hasAgent) return this.#agentSummary;
    const summary = this.#keeper.summary();
    return summary.nodes === 0 ? undefined : summary;
  }

  /** Returns the informer for objects of a kind that any placement put there. The first call starts it. */
  placed(ref: ResourceRef): Informer<AnyObject> {
    const key = `${ref.group}/${ref.version}/${ref.resource}`;
    const known = this.#placed.get(key);
    if (known !== undefined) return known;
    const informer = this.#informers.informer<AnyObject>(ref, { labelSelector: labels.placement });
    const changed = (object: AnyObject): void => this.#options.onObject(object);
    informer.addHandler({ add: changed, update: (_, object) => changed(object), delete: changed });
    this.#placed.set(key, informer);
    return informer;
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { hasAgent } = this.#options;
    await Promise.all([
      this.exports?.run(signal),
      this.#probe(signal),
      this.#informers.run(signal),
      ...(hasAgent ? [this.#readAgent(signal)] : [this.#readNodes(signal), this.#readPods(signal)]),
    ]);
  }

  async #probe(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const { probeEveryMs } = this.#options.times;
    while (!signal.aborted) {
      const before = this.health.state;
      if (await this.#answers(signal)) this.health.answered(clock.monotonicMs());
      else this.health.look(clock.monotonicMs());
      if (this.health.state !== before && !signal.aborted) this.#changed();
      await sleep(clock, "regions.probe", probeEveryMs, signal);
    }
  }

  #changed(): void {
    const { state } = this.health;
    if (state === "Ready") this.fence.restore();
    else this.fence.revoke();
    this.#deps.log.info("a region's state changed", { region: this.name, state });
    this.#options.onState();
  }

  async #answers(signal: AbortSignal): Promise<boolean> {
    const ended = new AbortController();
    const end = (): void => ended.abort();
    signal.addEventListener("abort", end, { once: true });
    const timer = this.#deps.clock.after(
      "regions.timeout",
      this.#options.times.probeTimeoutMs,
      end,
    );
    try {
      const answer = await this.client.raw("/version", {
        signal: ended.signal,
        bodyBytesMax: 65_536,
      });
      const version = isRecord(answer) ? answer["gitVersion"] : undefined;
      this.#version = typeof version === "string" ? version.slice(0, 64) : "";
      this.#problem = "";
      return true;
    } catch (error) {
      // Any failure counts as silence of the region.
      this.#problem = String(error).slice(0, 300);
      return false;
    } finally {
      timer.cancel();
      signal.removeEventListener("abort", end);
    }
  }

  #readNodes(signal: AbortSignal): Promise<void> {
    const keeper = this.#keeper;
    const sink = keysOnly<Node>({
      set: (_, node) => keeper.setNode(node),
      remove: (key) => keeper.removeNode(key),
    });
    return runReflector<Node>(this.#deps, { ref: refs.nodes }, sink, signal);
  }

  #readPods(signal: AbortSignal): Promise<void> {
    const keeper = this.#keeper;
    const sink = keysOnly<Pod>({
      set: (key, pod) => keeper.setPod(key, pod),
      remove: (key) => keeper.removePod(key),
    });
    return runReflector<Pod>(this.#deps, { ref: refs.pods }, sink, signal);
  }

  /** Watches the agent's summary, and answers the challenges that it writes. */
  async #readAgent(signal: AbortSignal): Promise<void> {
    const one = { namespace: regionNamespace };
    const summaries = this.#informers.informer<AnyObject>(refs.configMaps, {
      ...one,
      fieldSelector: `metadata.name=${summaryName}`,
    });
    const take = (object: AnyObject): void => {
      const data = isRecord(object["data"]) ? object["data"] : {};
      const properties = Object.entries(data).flatMap(([name, value]) =>
        typeof value === "string" ? [{ name, value }] : [],
      );
      this.#agentSummary = parseSummary(properties);
    };
    summaries.addHandler({ add: take, update: (_, object) => take(object) });
    const leases = this.#informers.informer<AnyObject>(refs.leases, {
      ...one,
      fieldSelector: `metadata.name=${fenceName}`,
    });
    const answer = (object: AnyObject): void => void this.#answerFence(object);
    leases.addHandler({ add: answer, update: (_, object) => answer(object) });
    await Promise.all([summaries.synced, leases.synced].map((one) => orAborted(one, signal)));
  }

  /** The time of the challenge is taken now, before the grant is written. */
  async #answerFence(lease: AnyObject): Promise<void> {
    const { challenge, granted } = annotations;
    const notes = lease.metadata?.annotations ?? {};
    const asked = notes[challenge];
    if (asked === undefined || asked === notes[granted] || asked.length > 100) return;
    this.#hasChallenged = true;
    const grant = this.fence.answer(asked, this.#deps.clock.monotonicMs());
    if (grant === undefined) return;
    const patch = { metadata: { annotations: { [granted]: grant } } };
    try {
      await this.client.patch(refs.leases, regionNamespace, fenceName, "merge", patch);
    } catch (error) {
      this.#deps.log.warn("a fence was not granted", { region: this.name, error: String(error) });
    }
  }
}

function orAborted(done: Promise<void>, signal: AbortSignal): Promise<void> {
  return Promise.race([
    done,
    new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    }),
  ]);
}
