/** What a rule is, and what it says. */
import type { Call, CallKind, Evidence } from "./evidence.ts";

/** `info` is no fault: it tells what a cure brings. */
type Severity = "page" | "warn" | "info";

export interface Verdict {
  /** What is wrong, in one sentence. */
  readonly sentence: string;
  /** Who does it, by name. */
  readonly culprit: string;
  readonly severity: Severity;
  readonly figures: Readonly<Record<string, number | string>>;
  /** A command or a manifest for a person to run. */
  readonly remedy: string;
  /** YAML for a person to apply, made for this culprit. */
  readonly manifest?: string;
  /** 0 to 1. */
  readonly certainty: number;
  /** What would have made it surer; absent: nothing is missing. */
  readonly unseen?: string;
}

/** The rule for a Prometheus, which sees longer than two samples and no objects. */
export interface Alert {
  /** PromQL; with `above` it is the alert, alone it is a panel. */
  readonly query: string;
  readonly above: number;
  readonly severity: Exclude<Severity, "info">;
}

export interface Rule {
  readonly id: string;
  readonly title: string;
  /** Names of metrics and kinds. */
  readonly reads: readonly string[];
  readonly threshold: string;
  /** Where the threshold comes from. */
  readonly source: string;
  /** Absent: the rule reads what Prometheus does not have. */
  readonly alerts?: readonly Alert[];
  judge(evidence: Evidence): readonly Verdict[];
}

/** As kubectl takes it: `pods`, `deployments.apps`. */
export function kindOf(group: string, resource: string): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** A name of the cluster within a command: the shell reads it as one word, whatever it holds. */
export function quoted(name: string): string {
  return /^[A-Za-z0-9][\w.:/-]*$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
}

export function callerName({ userAgent, user }: Pick<Call, "userAgent" | "user">): string {
  return `${userAgent === "" ? "a client without a user agent" : userAgent} (${user})`;
}

/** The client that did this the most, if an audit log tells; `kind` as `kindOf` makes it. */
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

/** A culprit that only an audit log names, and what is unseen without one. */
export function culpritOf(
  caller: string | undefined,
  otherwise: string,
): Pick<Verdict, "culprit" | "unseen"> {
  if (caller !== undefined) return { culprit: caller };
  return { culprit: otherwise, unseen: "the user agent: --audit FILE shows it" };
}
