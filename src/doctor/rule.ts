/** What a rule is, and what it says. */
import type { Evidence } from "./evidence.ts";

type Severity = "page" | "warn";

export interface Verdict {
  /** What is wrong, in one sentence. */
  readonly sentence: string;
  /** Who does it, by name. */
  readonly culprit: string;
  readonly severity: Severity;
  readonly figures: Readonly<Record<string, number | string>>;
  /** A command or a manifest for a person to run. */
  readonly remedy: string;
  /** 0 to 1. */
  readonly certainty: number;
  /** What would have made it surer; absent: nothing is missing. */
  readonly unseen?: string;
}

export interface Rule {
  readonly id: string;
  readonly title: string;
  /** Names of metrics and kinds. */
  readonly reads: readonly string[];
  readonly threshold: string;
  /** Where the threshold comes from. */
  readonly source: string;
  judge(evidence: Evidence): readonly Verdict[];
}

/** A name of the cluster within a command: the shell reads it as one word, whatever it holds. */
export function quoted(name: string): string {
  return /^[A-Za-z0-9][\w.:/-]*$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
}
