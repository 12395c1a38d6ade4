/**
 * Descriptors that are kept open, on nothing, for the store: where the process or the host has none left, one
 * of them is given up for the file that must be opened. Connections are bounded before that
 * (process-connections.ts), but not every descriptor is a connection's.
 */
import { closeSync, open, openSync } from "node:fs";
import { devNull } from "node:os";

/** Two of each file that the store opens: a segment, its descriptor for durable writes, a checkpoint, a directory. */
const sparesMax = 8;
const outOfDescriptors = new Set(["EMFILE", "ENFILE"]);

const spares: number[] = [];

type Opened = (error: NodeJS.ErrnoException | null, fd: number) => void;

/** As fs.open; gives up a spare descriptor when there is no other. */
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

/** Runs `work`, and once more when it failed for want of a descriptor. */
export async function withSpare<Result>(work: () => Promise<Result>): Promise<Result> {
  keepSpares();
  try {
    return await work();
  } catch (error) {
    if (!giveUpSpare(error as NodeJS.ErrnoException)) throw error;
    return work();
  }
}

/** Synchronous instead of through the thread pool, where a connection could take the descriptor meanwhile. */
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

/** Opens spares that were given up again, as soon as that is possible. */
function keepSpares(): void {
  try {
    while (spares.length < sparesMax) spares.push(openSync(devNull, "r"));
  } catch {
    // No descriptor is left: the next call tries again.
  }
}
