/** The file of `--failures`, which defines the failures of hollow nodes. */
import type { ScheduledFailure } from "#hollow/failure-schedule.ts";
import { parseFailureFile } from "./failure-document.ts";
import { readOperatorFile } from "./operator-file.ts";
import { UsageError } from "./usage-error.ts";

/** Reads the failures. Empty: no file is named. Throws UsageError. */
export function failuresOf(path: string | undefined): readonly ScheduledFailure[] {
  if (path === undefined) return [];
  const { failures, problems } = parseFailureFile(readOperatorFile(path));
  if (problems.length > 0) throw new UsageError(`${path}: ${problems.join("\n")}`);
  return failures;
}
