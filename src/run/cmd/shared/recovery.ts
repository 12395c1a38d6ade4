/** `--recovery-budget`: pods per second that a role evicts, creates and binds on its own, and events about waiting pods. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { budgetedClient } from "#client/budgeted-client.ts";
import type { Client } from "#client/client.ts";
import { createEventRecorder } from "#client/events.ts";
import { RecoveryBudget, type RecoveryHold } from "#client/recovery-budget.ts";
import type { RecoveryLimits } from "#client/recovery-rate.ts";
import type { RecoveryMetrics } from "#client/recovery-metrics.ts";
import type { SupervisedHost } from "./host.ts";

export interface RecoveryFlags {
  readonly recoveryBudget: RecoveryLimits | "off";
}

/** Returns the limits. Undefined: the budget is off. */
export function recoveryLimitsOf({ recoveryBudget }: RecoveryFlags): RecoveryLimits | undefined {
  return recoveryBudget === "off" ? undefined : recoveryBudget;
}

/** 2,000 small pods per second are the capacity of an API server with its own core. */
export const recoveryDefaults: RecoveryLimits = {
  firstPerSecond: 2_000,
  leastPerSecond: 5,
  mostPerSecond: 20_000,
};

export function addRecoveryFlag(command: Command): void {
  const text =
    "pods a second that are evicted, created and bound, fair between namespaces: auto grows while the API server answers fast and shrinks at once when it does not; a number is the most of that; off";
  const option = new Option("--recovery-budget <rate>", text).argParser(recoveryLimits);
  command.addOption(option.default(recoveryDefaults, "auto"));
}

/** The budget is switched off by the word "off", because commander ignores the empty text. */
function recoveryLimits(text: string): RecoveryFlags["recoveryBudget"] {
  if (text === "off") return "off";
  if (text === "auto") return recoveryDefaults;
  const most = Number(text);
  if (text.trim() === "" || !(most >= 1 && most <= 1_000_000))
    throw new InvalidArgumentError("auto, off, or a number of pods a second from 1 to 1000000.");
  const { firstPerSecond, leastPerSecond } = recoveryDefaults;
  return {
    firstPerSecond: Math.min(firstPerSecond, most),
    leastPerSecond: Math.min(leastPerSecond, most),
    mostPerSecond: most,
  };
}

interface RecoveryDeps {
  /** Client that writes the events. */
  readonly client: Client;
  readonly metrics: RecoveryMetrics;
  /** Component in events and metrics, such as `kube-controller-manager`. */
  readonly component: string;
  /** Whether the API server runs in this process. */
  readonly sharesLoop: boolean;
}

/** Opens the budget. Undefined: `limits` is undefined, so no writes are paced. */
export function openRecovery(
  host: SupervisedHost,
  { client, metrics, component, sharesLoop }: RecoveryDeps,
  limits: RecoveryLimits | undefined,
): RecoveryBudget | undefined {
  if (limits === undefined) return undefined;
  const recorder = createEventRecorder({ ...host, client }, { component });
  const budget = new RecoveryBudget(host.clock, {
    limits,
    sharesLoop,
    granted: (step, waitedMs) => metrics.granted(component, step, waitedMs),
    held(hold) {
      const name = hold.namespace;
      // The event is in the namespace that it is about, so that the namespace's own users see it.
      const about = { apiVersion: "v1", kind: "Namespace", metadata: { name, namespace: name } };
      recorder.event(about, "Normal", "RecoveryPaced", holdText(hold));
      host.log.info("pods wait for the recovery budget", { ...hold });
    },
  });
  metrics.show(component, budget);
  return budget;
}

/** Returns a paced client, or `client` itself where there is no budget. */
export function pacedClient(
  client: Client,
  budget: RecoveryBudget | undefined,
  { clock }: Pick<SupervisedHost, "clock">,
): Client {
  return budget === undefined ? client : budgetedClient(client, budget, clock);
}

const verbs = { evict: "evicted", create: "created", bind: "bound" } as const;

/**
 * Returns the text of an event, such as
 * `Pods wait up to 7 s to be created, 812 more are in line: 40 pods a second for all namespaces (slow answers)`.
 */
function holdText({ step, waitedMs, waiting, perSecond, reason }: RecoveryHold): string {
  const seconds = Math.round(waitedMs / 1_000);
  const rate = Math.round(perSecond);
  return `Pods wait up to ${seconds} s to be ${verbs[step]}, ${waiting} more are in line: ${rate} pods a second for all namespaces (${reason})`;
}
