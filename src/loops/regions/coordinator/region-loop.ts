/**
 * Keeps each region connected, and its ClusterProfile's status true: version, ControlPlaneHealthy, summary.
 *
 * Holds  at rest nothing is written: the status changes with the region's state, or when the summary differs, and then at most
 *        every `summaryEveryMs`.
 */
import { formatTime } from "#api/values/time.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { Client } from "#client/client.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { withCondition, type Condition } from "#client/conditions.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { KeySource, watch, type Source } from "#client/sources.ts";
import type { Clock } from "#platform/clock.ts";
import { refs } from "../names.ts";
import { summaryProperties, type SummaryProperty } from "../summary/summary-text.ts";
import type { ClusterProfile, RegionSet } from "./region-set.ts";

interface RegionLoopDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly regions: RegionSet;
}

interface ProfileStatus {
  readonly conditions?: readonly Condition[];
  readonly version?: { readonly kubernetes?: string };
  readonly properties?: readonly (SummaryProperty & { readonly lastObservedTime?: string })[];
}

const otherProperties = /(^|\.)summary\.regions\.pilothouse\.dev$/;

export class RegionLoop implements ControllerOptions<ClusterProfile> {
  readonly name = "region";
  readonly workers = 4;
  readonly ref = refs.profiles;
  readonly namespace: string;
  readonly sources: readonly Source[];
  readonly #deps: RegionLoopDeps;
  readonly #summaryEveryMs: number;
  readonly #states = new KeySource();
  readonly #writtenMs = new Map<string, number>();

  constructor(
    deps: RegionLoopDeps,
    options: { readonly namespace: string; readonly summaryEveryMs: number },
  ) {
    this.#deps = deps;
    this.#summaryEveryMs = options.summaryEveryMs;
    this.namespace = options.namespace;
    const { secrets } = deps.regions;
    this.sources = [
      this.#states,
      watch(secrets, ({ metadata }) => `${metadata?.namespace}/${metadata?.name}`),
    ];
  }

  /** Queues the profile of a region that started or stopped to answer. */
  changed(region: string): void {
    this.#states.add(`${this.namespace}/${region}`);
  }

  async reconcile({ key, object }: ReconcileRequest<ClusterProfile>): Promise<ReconcileResult> {
    const { regions, client, clock } = this.#deps;
    const name = key.slice(this.namespace.length + 1);
    const problem = regions.connect(name);
    if (object === undefined || regions.profileOf(name) === undefined) {
      this.#writtenMs.delete(name);
      return undefined;
    }
    const old = statusOf(object);
    const next = this.#status(name, old, problem);
    const nowMs = clock.monotonicMs();
    const dueMs = (this.#writtenMs.get(name) ?? -this.#summaryEveryMs) + this.#summaryEveryMs;
    const isUrgent = !jsonEqual(old.conditions ?? [], next.conditions ?? []);
    if (!jsonEqual(old, next) && (isUrgent || nowMs >= dueMs)) {
      await client.update(this.ref, this.namespace, { ...object, status: next }, statusCall);
      this.#writtenMs.set(name, nowMs);
    }
    return { requeueAfterMs: this.#summaryEveryMs };
  }

  #status(name: string, old: ProfileStatus, problem: string): ProfileStatus {
    const connection = this.#deps.regions.connectionOf(name);
    const nowText = formatTime(this.#deps.clock.nowMs());
    const conditions = withCondition(old.conditions, {
      ...healthOf(connection?.health.state, problem || (connection?.problem ?? "")),
      lastTransitionTime: nowText,
    });
    const summary = connection?.isReady === true ? connection.summary : undefined;
    const kept = (old.properties ?? []).filter((one) => !otherProperties.test(one.name));
    const properties =
      summary === undefined
        ? old.properties
        : [...kept, ...withTimes(summaryProperties(summary), old.properties ?? [], nowText)];
    const version = connection?.version || old.version?.kubernetes;
    return {
      ...old,
      conditions,
      ...(version ? { version: { kubernetes: version } } : {}),
      ...(properties === undefined ? {} : { properties }),
    };
  }
}

const statusCall = { subresource: "status" };

function statusOf(profile: ClusterProfile): ProfileStatus {
  // The coordinator wrote this status itself; the schema validates what other clients write.
  return (profile.status ?? {}) as ProfileStatus;
}

function healthOf(state: string | undefined, problem: string): Condition {
  const type = "ControlPlaneHealthy";
  if (state === undefined)
    return { type, status: "Unknown", reason: "NotConnected", message: problem };
  if (state === "Ready") return { type, status: "True", reason: "Answers", message: "" };
  if (state === "Joining") return { type, status: "Unknown", reason: "Joining", message: problem };
  const message = `what the region runs is not known: ${problem}`;
  return { type, status: "Unknown", reason: "Silent", message };
}

/** Sets `lastObservedTime`; a property with an unchanged value keeps its time. */
function withTimes(
  next: readonly SummaryProperty[],
  old: readonly (SummaryProperty & { readonly lastObservedTime?: string })[],
  nowText: string,
): readonly SummaryProperty[] {
  return next.map((property) => {
    const same = old.find(({ name, value }) => name === property.name && value === property.value);
    return { ...property, lastObservedTime: same?.lastObservedTime ?? nowText };
  });
}
