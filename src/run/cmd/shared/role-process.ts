/** The common frame of every role that is a client of an API server: a host, an election, a health port, and an end. */
import { given } from "#base/given.ts";
import { RestMetrics } from "#client/rest-metrics.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import type { SupervisedHost } from "./host.ts";
import { nodeHost } from "./node-host.ts";
import type { Parts } from "./parts.ts";
import { shutdownMs } from "./limits.ts";
import { processMetricSet } from "./process-metric-set.ts";
import { productVersion } from "./product.ts";
import { runToEnd, type Started, throwFailure } from "./role-life.ts";
import { openSpareMemory } from "./spare-memory.ts";
import { countFailures } from "./supervise.ts";
import { ApiConnection, apiAccess, paceOf } from "./api-access.ts";
import { Election, type Work } from "./elected-role.ts";
import type { RoleFlags } from "./role-flags.ts";
import { type MorePaths, serveHealth } from "./health.ts";

interface RoleParts {
  readonly host: SupervisedHost;
  readonly connection: ApiConnection;
  readonly metrics: MetricSet;
  /** Reason why the role cannot work, or "" when it can. The role sets it. */
  readonly readiness: { why: () => string };
}

export type WorkOf = (parts: RoleParts) => Work;

type OpenOn<Flags> = (
  host: SupervisedHost,
  flags: Flags,
  parts: Parts,
  stopping: AbortSignal,
) => Promise<Started>;

/** Runs the role until SIGTERM. */
export function runRole<Flags extends RoleFlags>(flags: Flags, open: OpenOn<Flags>): Promise<void> {
  const host = nodeHost(flags);
  return runToEnd((parts, stopping) => open(host, flags, parts, stopping), {
    onFailed: throwFailure,
  });
}

interface RoleDeps {
  readonly userAgent: string;
  readonly host: SupervisedHost;
  readonly flags: RoleFlags;
  /** Called once. The function that it returns is called once per term. */
  readonly workOf: WorkOf;
  /** Document for /configz. Absent: the path is not served. */
  readonly configz?: object;
  /** Metrics for /metrics/resources. Absent: the path is not served. */
  readonly resources?: MetricSet;
  /** Handlers of further paths of the health port. Absent: none. */
  readonly more?: readonly MorePaths[];
}

export async function openRole(
  role: string,
  { userAgent, host, flags, workOf, configz, resources, more }: RoleDeps,
  parts: Parts,
  stopping: AbortSignal,
): Promise<Started> {
  const metrics = processMetricSet(flags.featureGates);
  countFailures(metrics, host.supervisor);
  const election = new Election(host, flags, metrics);
  const access = await apiAccess(flags);
  const counting = { clock: host.clock, metrics: new RestMetrics(metrics) };
  const options = { counting, ...paceOf(host.clock, flags) };
  const connection = await parts.open(
    "connection",
    () => new ApiConnection(access, userAgent, options),
    {
      close: (opened) => opened.close(),
    },
  );
  const readiness = { why: () => "" };
  const work = workOf({ host, connection, metrics, readiness });
  const health = await parts.open(
    "health",
    () =>
      serveHealth(
        {
          ...healthDeps({ host, connection, metrics, readiness }, stopping),
          ...given({ configz, resources, more }),
          // Only roles with an upstream counterpart have a component name.
          ...(configz === undefined ? {} : { component: role }),
        },
        flags,
      ),
    { close: (listening) => listening?.close(shutdownMs) },
  );
  await openSpareMemory(host.clock, parts);
  const text = readyText(role, connection, health?.address);
  return { text, ...(await openElection(election, connection, work, parts)) };
}

function healthDeps(
  { host, connection, metrics, readiness }: RoleParts,
  stopping: AbortSignal,
): Omit<Parameters<typeof serveHealth>[0], "configz" | "resources" | "more"> {
  const { ca } = connection.access;
  return {
    host,
    metrics,
    client: connection.client(),
    anonymousHttp: connection.transport({ isAnonymous: true }),
    ...given({ clientCa: ca }),
    notReady: () => (stopping.aborted ? "stopping" : readiness.why()),
  };
}

/** At the end, the loops end first, and the lease is released after them. */
async function openElection(
  election: Election,
  connection: ApiConnection,
  work: Work,
  parts: Parts,
): Promise<Pick<Started, "failed">> {
  const ending = new AbortController();
  const start = (): Promise<void> => election.run(connection.client(), work, ending.signal);
  const { failed } = await parts.open("election", () => watched(start()), {
    close: async ({ done }) => {
      ending.abort();
      await Promise.allSettled([done]);
    },
  });
  return { failed };
}

interface Watched {
  readonly done: Promise<void>;
  /** Resolves when `done` rejects. */
  readonly failed: Promise<Error>;
}

function watched(done: Promise<void>): Watched {
  const failed = new Promise<Error>((resolve) => {
    done.catch((error: unknown) =>
      resolve(error instanceof Error ? error : new Error(String(error))),
    );
  });
  return { done, failed };
}

function readyText(
  role: string,
  { access }: ApiConnection,
  at: { readonly host: string; readonly port: number } | undefined,
): string {
  const health =
    at === undefined
      ? ""
      : `\n  health  https://${at.host.includes(":") ? `[${at.host}]` : at.host}:${at.port}/readyz`;
  const seconds = (performance.now() / 1000).toFixed(2);
  return `pilothouse ${productVersion} ${role} started in ${seconds} s\n  API     ${access.server}${health}\n`;
}
