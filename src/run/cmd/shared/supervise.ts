/**
 * The process's side of the supervisor: uncaught errors and unhandled rejections go to it, and a bug
 * ends the process here and nowhere else. That nobody reads what it prints is no failure.
 */
import type { AssertionError } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { countDialed, warnOfFewOpenFiles } from "#platform/node/process-connections.ts";
import { Supervisor } from "#platform/supervisor.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { outliveReaders } from "./closed-output.ts";

/** Returns `host` with supervised timers and its supervisor. Call once in a process. */
export function supervised<H extends { readonly clock: Clock; readonly log: Log }>(
  host: H,
  onBug: (bug: AssertionError) => void = endOnBug,
): H & { readonly supervisor: Supervisor } {
  const supervisor = new Supervisor({ clock: host.clock, log: host.log, onBug });
  outliveReaders();
  warnOfFewOpenFiles(host.log);
  countDialed();
  process.on("uncaughtException", (error) => supervisor.failed("uncaught", error));
  process.on("unhandledRejection", (reason) => supervisor.failed("unhandled", reason));
  return { ...host, clock: supervisor.clock, supervisor };
}

export function countFailures(metrics: MetricSet, supervisor: Supervisor): void {
  metrics.gaugeOf(
    "pilothouse_background_failures_total",
    "Failures of background work, by loop.",
    ["loop"],
    () => supervisor.failures(),
  );
}

/** Throws a bug to the handlers of the program that embeds the plane, which decide about it. */
export function embeddedSupervisor(deps: { readonly clock: Clock; readonly log: Log }): Supervisor {
  const onBug = (bug: AssertionError): void => {
    setImmediate(() => {
      throw bug;
    });
  };
  return new Supervisor({ ...deps, onBug });
}

/** Ends with exit code 2, as for any bug. Acknowledged writes are on disk, so the next start recovers them. */
function endOnBug(bug: AssertionError): void {
  process.stderr.write(`pilothouse: this is a bug, and the process stops: ${bug.stack}\n`);
  process.exit(2);
}
