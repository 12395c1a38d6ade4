/**
 * The process of the command line.
 * Exit codes: 0 success, 1 a reported error, 2 a bug; `doctor` has its own.
 */
import { CommanderError } from "commander";
import { endWithReaders } from "./shared/closed-output.ts";
import { makeProgram } from "./program.ts";
import { UsageError } from "./shared/usage-error.ts";

endWithReaders();

try {
  await makeProgram().parseAsync(process.argv);
} catch (error) {
  process.exitCode = report(error);
}

function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
  if (error instanceof UsageError) {
    process.stderr.write(`pilothouse: ${error.message}\n`);
    return 1;
  }
  process.stderr.write(
    `pilothouse: this is a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  return 2;
}
