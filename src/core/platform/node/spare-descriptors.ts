/**
 * Descriptors that are kept open, on nothing, for the store: where the process or the host has none left, one
 * of them is given up for the file that must be opened. Connections are bounded before that
 * (process-connections.ts), but not every descriptor is a connection's.
 */
import { closeSync, open, openSync } from "node:fs";
import { devNull } from "node:os";

/** A segment with its descriptor for durable writes, a checkpoint, a directory that is synced or listed, twice. */
const sparesMax = 8;
const outOfDescriptors = new Set(["EMFILE", "ENFILE"]);

const spares: number[] = [];

type Opened = (error: NodeJS.ErrnoException | null, fd: number) => void;

/** As fs.open. */
export function openWithSpare(
  path: string,
  flags: string | number,
  mode: number,
  done: Opened,
): void {
  keepSpares();
  open(path, flags, mode, (error, fd) => {
    if (error === null || !giveUpSpare(error)) return done(error, fd);
    openAtOnce(path, flags, mode, done);
  });
}

/** Again, once, when it failed for want of a descriptor. */
export async function withSpare<Result>(work: () => Promise<Result>): Promise<Result> {
  keepSpares();
  try {
    return await work();
  } catch (error) {
    if (!giveUpSpare(error as NodeJS.ErrnoException)) throw error;
    return work();
  }
}

/** Not through the thread pool: a connection could take the descriptor meanwhile. */
function openAtOnce(path: string, flags: string | number, mode: number, done: Opened): void {
  try {
    done(null, openSync(path, flags, mode));
  } catch (error) {
    done(error as NodeJS.ErrnoException, -1);
  }
}

function giveUpSpare({ code = "" }: NodeJS.ErrnoException): boolean {
  if (!outOfDescriptors.has(code)) return false;
  const spare = spares.pop();
  if (spare === undefined) return false;
  closeSync(spare);
  return true;
}

/** Those that were given up are opened again as soon as that is possible. */
function keepSpares(): void {
  try {
    while (spares.length < sparesMax) spares.push(openSync(devNull, "r"));
  } catch {
    // There is none left: the next call tries again.
  }
}
