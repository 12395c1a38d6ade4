/** A file the operator named on the command line. */
import { readFileSync } from "node:fs";
import { UsageError } from "./usage-error.ts";

/** Throws UsageError: the path, and what the system says. */
export function readOperatorFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
}
