/**
 * Standard output and error whose reader has gone away (`| head`, a pager that was left): a command has
 * nothing more to say then and ends without a word, a process that serves goes on. Without a listener
 * Node makes an uncaught error of it, with its stack.
 */

/** As a shell shows a program that SIGPIPE ended. */
const readerLeftCode = 141;
const left = new Set(["EPIPE", "ERR_STREAM_DESTROYED"]);

function endCommand(error: NodeJS.ErrnoException): void {
  if (left.has(error.code ?? "")) process.exit(readerLeftCode);
  // Another kind, as a full disk: what was asked for is not there.
  process.exitCode = 1;
}

function serveOn(): void {}

function listen(listener: (error: NodeJS.ErrnoException) => void): void {
  for (const output of [process.stdout, process.stderr]) {
    output.off("error", endCommand).off("error", serveOn).on("error", listener);
  }
}

/** Call once, before anything is written. */
export function endWithReaders(): void {
  listen(endCommand);
}

/** This process serves: it stops by a signal only. */
export function outliveReaders(): void {
  listen(serveOn);
}
