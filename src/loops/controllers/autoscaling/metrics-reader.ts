/**
 * Reads metrics through the API server: from metrics.k8s.io, from custom.metrics.k8s.io in the server's preferred known
 * version, and from external.metrics.k8s.io. Paths and texts are those of upstream's clients.
 *
 * Holds  a metrics server that hangs, sends wrong data or never ends its answer costs the time and bytes of one call,
 *        and is an error of that metric.
 * Bounds `metricsTimeoutMs` and `metricsBytesMax` per call. After `failuresMax` consecutive time-outs an API is not
 *        called for `pauseMs`, so that the workers can serve autoscalers of other APIs.
 */
import type { LabelSelector, MetricIdentifier, MetricSpec } from "#api/gen/types.ts";
import {
  printLabelSelector,
  selectorFromLabelSelector,
  SelectorError,
} from "#api/selectors/label-selector.ts";
import { qualifiedResource } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import type { Client } from "#client/client.ts";
import type { Clock } from "#platform/clock.ts";
import { textOf } from "../framework/api-errors.ts";
import type { KindResources } from "./kind-resources.ts";
import { externalReading, objectReading, podsReading, resourceReading } from "./metric-answers.ts";
import { selectorText } from "./metric-text.ts";
import type { AutoscalingOptions } from "./options.ts";
import { MetricError, type Reading } from "./readings.ts";

interface Asked {
  readonly namespace: string;
  /** Selector of the pods, as text. */
  readonly selector: string;
  readonly signal: AbortSignal;
}

type Api = "resource" | "custom" | "external";

const failuresMax = 5;
const pauseMs = 15_000;
/** As upstream, the version of custom metrics is determined again every 30 s. */
const versionMs = 30_000;

const customGroup = "custom.metrics.k8s.io";
const customVersions = [`${customGroup}/v1beta2`, `${customGroup}/v1beta1`];

type Limits = Pick<AutoscalingOptions, "metricsTimeoutMs" | "metricsBytesMax">;

interface Pause {
  failures: number;
  untilMs: number;
}

export class MetricsReader {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #kinds: KindResources;
  readonly #limits: Limits;
  readonly #pauses = new Map<Api, Pause>();
  #custom: { readonly version: string; readonly atMs: number } | undefined;

  constructor(
    deps: { readonly client: Client; readonly clock: Clock; readonly kinds: KindResources },
    limits: Limits,
  ) {
    this.#client = deps.client;
    this.#clock = deps.clock;
    this.#kinds = deps.kinds;
    this.#limits = limits;
  }

  /** Throws only because of a bug. */
  async read(spec: MetricSpec, asked: Asked): Promise<Reading> {
    try {
      return await this.#read(spec, asked);
    } catch (error) {
      if (error instanceof MetricError || error instanceof SelectorError)
        return { kind: "failed", error: error.message };
      throw error;
    }
  }

  #read({ type, ...spec }: MetricSpec, asked: Asked): Promise<Reading> {
    if (type === "Resource" && spec.resource) return this.#resource(spec.resource.name, "", asked);
    if (type === "ContainerResource" && spec.containerResource)
      return this.#resource(spec.containerResource.name, spec.containerResource.container, asked);
    if (type === "Pods" && spec.pods) return this.#pods(spec.pods.metric, asked);
    if (type === "Object" && spec.object) return this.#object(spec.object, asked);
    if (type === "External" && spec.external) return this.#external(spec.external.metric, asked);
    return Promise.resolve({ kind: "failed", error: "unknown metric source type" });
  }

  async #resource(resource: string, container: string, asked: Asked): Promise<Reading> {
    const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${asked.namespace}/pods`;
    const query = queryOf({ labelSelector: asked.selector });
    return resourceReading(await this.#get("resource", path, query, asked), resource, container);
  }

  async #pods({ name, selector }: MetricIdentifier, asked: Asked): Promise<Reading> {
    const query = queryOf({
      labelSelector: asked.selector,
      metricLabelSelector: selectorTextOf(selector),
    });
    const path = `namespaces/${asked.namespace}/pods/*/${name}`;
    return podsReading(await this.#getCustom(path, query, asked));
  }

  async #object(
    { metric, describedObject }: NonNullable<MetricSpec["object"]>,
    asked: Asked,
  ): Promise<Reading> {
    const { kind, name, apiVersion = "" } = describedObject;
    const query = queryOf({ metricLabelSelector: selectorTextOf(metric.selector) });
    // A described object is in the autoscaler's namespace; a Namespace must be that one.
    const path =
      kind === "Namespace" && !apiVersion.includes("/")
        ? `namespaces/${asked.namespace}/metrics/${metric.name}`
        : `namespaces/${asked.namespace}/${await this.#resourceOf(describedObject)}/${name}/${metric.name}`;
    try {
      return objectReading(await this.#getCustom(path, query, asked));
    } catch (error) {
      if (!(error instanceof MetricError)) throw error;
      throw new MetricError(`${error.message} on ${kind} ${asked.namespace}/${name}`);
    }
  }

  async #resourceOf({ apiVersion = "", kind }: { apiVersion?: string; kind: string }) {
    try {
      return qualifiedResource(await this.#kinds.named(apiVersion, kind));
    } catch (error) {
      const group = apiVersion.includes("/") ? `.${apiVersion.split("/")[0]}` : "";
      throw new MetricError(
        `unable to fetch metrics from custom metrics API: unable to map kind ${kind}${group} to resource: ${textOf(error)}`,
      );
    }
  }

  async #external({ name, selector }: MetricIdentifier, asked: Asked): Promise<Reading> {
    const path = `/apis/external.metrics.k8s.io/v1beta1/namespaces/${asked.namespace}/${name}`;
    const query = queryOf({ labelSelector: selectorTextOf(selector) });
    try {
      return externalReading(await this.#get("external", path, query, asked));
    } catch (error) {
      if (!(error instanceof MetricError)) throw error;
      const what = `${asked.namespace}/${name}/${selectorText(selector)}`;
      throw new MetricError(`unable to get external metric ${what}: ${error.message}`);
    }
  }

  async #getCustom(path: string, query: string, asked: Asked): Promise<unknown> {
    const version = await this.#customVersion(asked);
    return this.#get("custom", `/apis/${version}/${path}`, query, asked);
  }

  async #customVersion(asked: Asked): Promise<string> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#custom !== undefined && nowMs - this.#custom.atMs < versionMs)
      return this.#custom.version;
    const version = preferredVersion(await this.#get("custom", "/apis", "", asked));
    this.#custom = { version, atMs: nowMs };
    return version;
  }

  async #get(api: Api, path: string, query: string, { signal }: Asked): Promise<unknown> {
    const failed = (why: string) =>
      new MetricError(`unable to fetch metrics from ${api} metrics API: ${why}`);
    const { metricsTimeoutMs: timeoutMs, metricsBytesMax: bodyBytesMax } = this.#limits;
    if (this.#isPaused(api)) throw failed(`no answer within ${timeoutMs} ms, asked again later`);
    const call = new AbortController();
    const stop = (): void => call.abort();
    signal.addEventListener("abort", stop, { once: true });
    const late = Promise.withResolvers<"late">();
    const timer = this.#clock.after("controllers.metrics", timeoutMs, () => late.resolve("late"));
    try {
      const answer = this.#client.raw(path, { query, signal: call.signal, bodyBytesMax });
      // The slower one is aborted, and its rejection is irrelevant.
      answer.catch(() => {});
      const first = await Promise.race([answer, late.promise]);
      this.#count(api, first === "late");
      if (first === "late") throw failed(`no answer within ${timeoutMs} ms`);
      return first;
    } catch (error) {
      throw error instanceof MetricError ? error : failed(textOf(error));
    } finally {
      timer.cancel();
      signal.removeEventListener("abort", stop);
      call.abort();
    }
  }

  #isPaused(api: Api): boolean {
    return (this.#pauses.get(api)?.untilMs ?? 0) > this.#clock.monotonicMs();
  }

  #count(api: Api, isLate: boolean): void {
    const before = this.#pauses.get(api) ?? { failures: 0, untilMs: 0 };
    const failures = isLate ? before.failures + 1 : 0;
    const isTooMany = failures >= failuresMax;
    const untilMs = isTooMany ? this.#clock.monotonicMs() + pauseMs : 0;
    // After a pause a single further failure suffices.
    this.#pauses.set(api, { failures: isTooMany ? failuresMax - 1 : failures, untilMs });
  }
}

function queryOf(fields: Readonly<Record<string, string>>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== "");
  return new URLSearchParams(given).toString();
}

/** Absent: all pods. @throws SelectorError */
function selectorTextOf(selector: LabelSelector | undefined): string {
  return selector === undefined ? "" : printLabelSelector(selectorFromLabelSelector(selector));
}

function preferredVersion(groups: unknown): string {
  const list = isRecord(groups) && Array.isArray(groups["groups"]) ? groups["groups"] : [];
  const group: unknown = list.find((one: unknown) => isRecord(one) && one["name"] === customGroup);
  const prefix = "unable to fetch metrics from custom metrics API: ";
  if (!isRecord(group))
    throw new MetricError(`${prefix}no custom metrics API (${customGroup}) registered`);
  const others = Array.isArray(group["versions"]) ? group["versions"] : [];
  const known = [group["preferredVersion"], ...others]
    .map((one: unknown) => (isRecord(one) ? one["groupVersion"] : undefined))
    .find((one) => typeof one === "string" && customVersions.includes(one));
  if (typeof known === "string") return known;
  throw new MetricError(`${prefix}no known available metric versions found`);
}
