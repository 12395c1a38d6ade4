/** The end of a process whose disk failed. */

/** What is not acknowledged may be lost, so nothing more is promised. */
export function exitOnStoreFailure(failure: Error): void {
  process.stderr.write(
    `pilothouse: the store has stopped: ${failure.message}; nothing acknowledged is lost; mend the disk and start again\n`,
  );
  process.exit(1);
}
