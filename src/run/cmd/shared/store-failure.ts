/** The end of a process whose disk failed. */

/** Ends the process. Unacknowledged writes may be lost, so no further write can be acknowledged. */
export function exitOnStoreFailure(failure: Error): void {
  process.stderr.write(
    `pilothouse: the store has stopped: ${failure.message}; nothing acknowledged is lost; mend the disk and start again\n`,
  );
  process.exit(1);
}
