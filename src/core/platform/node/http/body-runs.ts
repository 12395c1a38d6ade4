/**
 * Bodies of many shared pieces: sent without joining them, and without a system call for each. What the
 * transport copies of an answer (encrypted, or framed) is a run at most, and each run that is taken is progress.
 */
import { answerRunBytes } from "../../http.ts";

interface Corkable {
  cork(): void;
  uncork(): void;
  write(chunk: Uint8Array): boolean;
}

/** Joins pieces in order to runs of about `answerRunBytes`; longer pieces are cut. */
export function* runsOf(pieces: readonly Uint8Array[]): Generator<readonly Uint8Array[]> {
  let run: Uint8Array[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    for (const part of partsOf(piece)) {
      run.push(part);
      bytes += part.length;
      if (bytes < answerRunBytes) continue;
      yield run;
      run = [];
      bytes = 0;
    }
  }
  if (run.length > 0) yield run;
}

function partsOf(piece: Uint8Array): readonly Uint8Array[] {
  if (piece.length <= answerRunBytes) return [piece];
  const parts: Uint8Array[] = [];
  for (let at = 0; at < piece.length; at += answerRunBytes)
    parts.push(piece.subarray(at, at + answerRunBytes));
  return parts;
}

/** Whether the body is one piece that is sent at once. */
export function isOneRun(pieces: readonly Uint8Array[]): boolean {
  return pieces.length === 1 && (pieces[0]?.length ?? 0) <= answerRunBytes;
}

/** Writes the pieces in one go. @returns false when the stream is full, as `write`. */
export function writeTogether(to: Corkable, pieces: readonly Uint8Array[]): boolean {
  let room = true;
  to.cork();
  for (const piece of pieces) room = to.write(piece);
  to.uncork();
  return room;
}
