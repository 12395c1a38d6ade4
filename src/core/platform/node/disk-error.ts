/** Turns failures of the host's disk into DiskErrors. */
import { DiskError } from "../disk.ts";

export function diskError(what: string, path: string, error: Error): DiskError {
  const code = (error as NodeJS.ErrnoException).code ?? "EUNKNOWN";
  return new DiskError(`cannot ${what} ${path}: ${error.message}`, code, { cause: error });
}

export async function asDiskError<T>(what: string, path: string, done: Promise<T>): Promise<T> {
  try {
    return await done;
  } catch (error) {
    throw diskError(what, path, error as Error);
  }
}
