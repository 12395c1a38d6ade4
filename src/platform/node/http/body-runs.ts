/** Bodies of many shared pieces: sent without joining them, and without a system call for each. */

/** What goes to the kernel together; over TLS it is joined there. */
const runBytesMax = 4 * 1024 * 1024;

interface Corkable {
  cork(): void;
  uncork(): void;
  write(chunk: Uint8Array): boolean;
}

export function* runsOf(pieces: readonly Uint8Array[]): Generator<readonly Uint8Array[]> {
  let run: Uint8Array[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    run.push(piece);
    bytes += piece.length;
    if (bytes < runBytesMax) continue;
    yield run;
    run = [];
    bytes = 0;
  }
  if (run.length > 0) yield run;
}

/** False when full, as `write`. */
export function writeTogether(to: Corkable, pieces: readonly Uint8Array[]): boolean {
  let room = true;
  to.cork();
  for (const piece of pieces) room = to.write(piece);
  to.uncork();
  return room;
}
