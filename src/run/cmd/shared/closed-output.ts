/**
 * Standard output and error whose reader has gone away (`| head`, a pager that was left): a command has
 * nothing more to say then and ends without a word, a process that serves goes on. Without a listener
 * Node makes an uncaught error of it, with its stack.
 */

/** Exit code that a shell shows for a program ended by SIGPIPE. */
const readerLeftCode = 141;
const left = new Set(["EPIPE", "ERR_STREAM_DESTROYED"]);

function endCommand(error: NodeJS.ErrnoException): void {
  if (left.has(error.code ?? "")) process.exit(readerLeftCode);
  // Another error, such as a full disk, means that the output is incomplete.
  process.exitCode = 1;
}

function serveOn(): void {}

function listen(listener: (error: NodeJS.ErrnoException) => void): void {
  for (const output of [process.stdout, process.stderr]) {
    output.off("error", endCommand).off("error", serveOn).on("error", listener);
  }
}

/** Ends the process when the reader of its output closes it. Call once, before any output is written. */
export function endWithReaders(): void {
  listen(endCommand);
}

/** Keeps a serving process running when a reader closes its output. Only a signal stops it. */
export function outliveReaders(): void {
  listen(serveOn);
}
