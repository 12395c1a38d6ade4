/** What every role that is a client of an API server has: a host, an election, a health port, and an end. */
import type { MetricSet } from "#server/metric-set.ts";
import type { SupervisedHost } from "../host.ts";
import { nodeHost } from "../node-host.ts";
import { shutdownMs } from "../limits.ts";
import { processMetricSet } from "../process-metric-set.ts";
import { productVersion } from "../product.ts";
import { giveMemoryBack } from "../spare-memory.ts";
import { onStopSignal } from "../stop-signal.ts";
import { countFailures } from "../supervise.ts";
import { ApiConnection, apiAccess } from "./api-access.ts";
import { Election, type Work } from "./elected-role.ts";
import type { RoleFlags } from "./flags.ts";
import { serveHealth } from "./health.ts";

interface RoleParts {
  readonly host: SupervisedHost;
  readonly connection: ApiConnection;
  readonly metrics: MetricSet;
  /** What keeps the role from its work; "" when nothing does. For the role to set. */
  readonly readiness: { why: () => string };
}

/** Until SIGTERM: `workOf` is called once, and what it gives back once per term. */
export async function runRole(
  role: string,
  flags: RoleFlags,
  workOf: (parts: RoleParts) => Work,
): Promise<void> {
  const stopping = new AbortController();
  onStopSignal(() => stopping.abort());
  const host = nodeHost(flags);
  const metrics = processMetricSet();
  countFailures(metrics, host.supervisor);
  const election = new Election(host, flags, metrics);
  const connection = new ApiConnection(await apiAccess(flags), role);
  const readiness = { why: () => "" };
  const work = workOf({ host, connection, metrics, readiness });
  const { ca } = connection.access;
  const health = await serveHealth(
    {
      host,
      metrics,
      client: connection.client(),
      anonymousHttp: connection.transport({ isAnonymous: true }),
      ...(ca === undefined ? {} : { clientCa: ca }),
      notReady: () => (stopping.signal.aborted ? "stopping" : readiness.why()),
    },
    flags,
  );
  process.stdout.write(readyText(role, connection, health?.address));
  // Timers of the platform do not keep a process alive.
  const alive = setInterval(() => {}, 60_000);
  const spare = giveMemoryBack(host.clock);
  try {
    await election.run(connection.client(), work, stopping.signal);
  } finally {
    spare.stop();
    clearInterval(alive);
    await health?.close(shutdownMs);
    connection.close();
  }
  process.stdout.write("stopped\n");
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
