/** Types of the rules and of their verdicts. */
import type { Call, CallKind, Evidence } from "./evidence.ts";

/** `info` is not a fault: it reports the benefit of a remedy. */
type Severity = "page" | "warn" | "info";

export interface Verdict {
  /** Description of the fault in one sentence. */
  readonly sentence: string;
  /** Name of the object or client that causes the fault. */
  readonly culprit: string;
  readonly severity: Severity;
  readonly figures: Readonly<Record<string, number | string>>;
  /** Command or manifest for an operator to run. */
  readonly remedy: string;
  /** YAML for an operator to apply, made for this culprit. */
  readonly manifest?: string;
  /** Certainty of the verdict, 0 to 1. */
  readonly certainty: number;
  /** Information that would have raised the certainty. Absent: nothing is missing. */
  readonly unseen?: string;
}

/** The rule for a Prometheus, which covers a longer time than two samples, but does not see objects. */
export interface Alert {
  /** PromQL query. Together with `above` it is the alert, alone it is a panel. */
  readonly query: string;
  readonly above: number;
  readonly severity: Exclude<Severity, "info">;
}

export interface Rule {
  readonly id: string;
  readonly title: string;
  /** Names of the metrics and kinds that the rule reads. */
  readonly reads: readonly string[];
  readonly threshold: string;
  /** Origin of the threshold. */
  readonly source: string;
  /** Absent: the rule reads data that Prometheus does not have. */
  readonly alerts?: readonly Alert[];
  judge(evidence: Evidence): readonly Verdict[];
}

/** Returns the kind in kubectl's form: `pods`, `deployments.apps`. */
export function kindOf(group: string, resource: string): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** Quotes a name from the cluster for a command: the shell reads it as one word, whatever it contains. */
export function quoted(name: string): string {
  return /^[A-Za-z0-9][\w.:/-]*$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
}

export function callerName({ userAgent, user }: Pick<Call, "userAgent" | "user">): string {
  return `${userAgent === "" ? "a client without a user agent" : userAgent} (${user})`;
}

/** Returns the client with the most such calls, if there is an audit log. `kind` has the form of `kindOf`. */
export function topCaller(
  { audit }: Evidence,
  calls: readonly CallKind[],
  kind: string,
): string | undefined {
  const most = audit?.calls.find(
    (call) => calls.includes(call.kind) && kindOf(call.group, call.resource) === kind,
  );
  return most === undefined ? undefined : callerName(most);
}

/** Returns the caller as the culprit. Without an audit log, returns the substitute and a note of the missing information. */
export function culpritOf(
  caller: string | undefined,
  otherwise: string,
): Pick<Verdict, "culprit" | "unseen"> {
  if (caller !== undefined) return { culprit: caller };
  return { culprit: otherwise, unseen: "the user agent: --audit FILE shows it" };
}
