/** Derives the outcome of a statement from PostgreSQL's error. */
import type { ChangeAnswer, ReadAnswer } from "#store/engines/etcd/cluster.ts";
import { ForeignTableError } from "./table.ts";

type Unanswered = Extract<ReadAnswer, { readonly kind: "uncertain" | "refused" }>;

/** Returns an answer only when the statement was certainly not carried out. */
export function refusedChange(error: Error): ChangeAnswer | undefined {
  // disk_full. A server that cannot write its own log stops instead, and does not answer.
  if (codeOf(error) === "53100") return { kind: "no-space", message: error.message };
  return undefined;
}

/** Classes and codes of errors that a repeated request would meet again. */
const finalCodes = /^(28|3D|3F|42|22|0A|XX001|XX002|54)/;

export function unanswered(error: Error): Unanswered {
  const isFinal = finalCodes.test(codeOf(error)) || error instanceof ForeignTableError;
  return { kind: isFinal ? "refused" : "uncertain", message: error.message };
}

function codeOf(error: Error): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
}
