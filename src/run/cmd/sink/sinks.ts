/** The sinks of a file, run until a signal: alone (`pilothouse sink`) or beside a relay. */
import { ApiError } from "#api/status.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { travelsInProtobuf } from "#forms/protobuf/encode.ts";
import { Sink, type SinkDefinition } from "#sinks/sink.ts";
import type { SinkDriver } from "#sinks/sink-driver.ts";
import { type DeclaredSink, nameOfSource, parseSinkFile, SinkFileError } from "#sinks/sink-file.ts";
import { SinkMetrics } from "#sinks/sink-metrics.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { UsageError } from "../shared/usage-error.ts";
import { makeDriver } from "./make-driver.ts";

interface SinksDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

interface DeclaredSinks {
  readonly sinks: readonly { readonly declared: DeclaredSink; readonly driver: SinkDriver }[];
  readonly metrics: SinkMetrics;
}

const lookAgainMs = 5_000;

/** Throws UsageError for every mistake in the file with its line, and for a named file that cannot be read. */
export function declareSinks(deps: SinksDeps, path: string, metrics: MetricSet): DeclaredSinks {
  const sinks = parseSinks(path).map((declared) => ({
    declared,
    driver: makeDriver(deps, declared),
  }));
  return { sinks, metrics: new SinkMetrics(metrics, () => deps.clock.monotonicMs()) };
}

/** Resolves once `signal` has aborted and all sinks have stopped. Rejects when a sink is misconfigured. */
export async function runSinks(
  deps: SinksDeps & { readonly client: Client },
  { sinks, metrics }: DeclaredSinks,
  signal: AbortSignal,
): Promise<void> {
  const ended = new AbortController();
  const until = AbortSignal.any([signal, ended.signal]);
  const running = sinks.map(async ({ declared, driver }) => {
    metrics.disconnected(declared.name);
    try {
      const definition = await defined(deps, declared, driver, until);
      if (definition !== undefined) await new Sink({ ...deps, metrics }, definition).run(until);
    } catch (error) {
      ended.abort();
      const text = error instanceof Error ? error.message : String(error);
      throw new UsageError(`sink ${declared.name}: ${text}`, { cause: error });
    } finally {
      metrics.ended(declared.name);
    }
  });
  const results = await Promise.allSettled(running);
  const failure = results.find((result) => result.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}

/** Returns the reason for not ready. "" while all sinks are connected, and while another instance writes. */
export function whyAway({ metrics }: DeclaredSinks): string {
  const away = metrics.away();
  return away.length === 0 ? "" : `not connected: ${away.join(", ")}`;
}

/** Waits until the server serves all resources of the sink. Undefined: it was stopped before. */
async function defined(
  deps: SinksDeps & { readonly client: Client },
  declared: DeclaredSink,
  driver: SinkDriver,
  signal: AbortSignal,
): Promise<SinkDefinition | undefined> {
  while (!signal.aborted) {
    try {
      const kinds = await Promise.all(
        declared.resources.map(({ ref }) => kindOf(deps.client, ref)),
      );
      return definitionOf(declared, driver, kinds);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      deps.log.warn("a sink waits for its resources", {
        sink: declared.name,
        error: error instanceof Error ? error.message : String(error),
      });
      await sleep(deps.clock, "client.backoff", lookAgainMs, signal);
    }
  }
  return undefined;
}

/** Throws UsageError for a format that the kinds do not have. */
export function definitionOf(
  declared: DeclaredSink,
  driver: SinkDriver,
  kinds: readonly string[],
): SinkDefinition {
  const { name, format, source, target, resources } = declared;
  const sources = resources.map((one, at) => {
    const kind = kinds[at] ?? "";
    const { group, version } = one.ref;
    if (format === "protobuf" && !travelsInProtobuf({ group, version, kind })) {
      throw new UsageError(
        `${nameOfSource(one)} is a custom resource: those have no protobuf form`,
      );
    }
    const encoding = { format, source, ref: one.ref, kind, fields: one.fields };
    return { name: nameOfSource(one), encoding, route: target.route, selection: one.selection };
  });
  return { name, sources, driver };
}

interface ResourceList {
  readonly resources?: readonly { readonly name?: string; readonly kind?: string }[];
}

/** Returns the kind as the server names it. Throws ApiError for a resource that is not served. */
export async function kindOf(
  client: Client,
  { group, version, resource }: ResourceRef,
): Promise<string> {
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const list = (await client.raw(path)) as ResourceList;
  const found = list.resources?.find(({ name }) => name === resource);
  if (found?.kind !== undefined) return found.kind;
  throw new ApiError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    reason: "NotFound",
    code: 404,
    message: `the server serves no ${resource} at ${path}`,
  });
}

/** Throws UsageError. */
export function parseSinks(path: string): readonly DeclaredSink[] {
  try {
    return parseSinkFile(readOperatorFile(path));
  } catch (error) {
    if (!(error instanceof SinkFileError)) throw error;
    throw new UsageError(`${path}: ${error.message}`, { cause: error });
  }
}
