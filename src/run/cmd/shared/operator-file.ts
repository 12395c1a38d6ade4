/** Access to a file that the operator named on the command line. */
import { readFileSync } from "node:fs";
import { UsageError } from "./usage-error.ts";

/** Reads the file. Throws UsageError with the path and the system's error text. */
export function readOperatorFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
}
