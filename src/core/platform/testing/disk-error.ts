/** Errors of the fake disk, worded like the host's. */
import { DiskError } from "../disk.ts";

export function diskError(what: string, path: string, code: string): DiskError {
  return new DiskError(`cannot ${what} ${path}: ${code}`, code);
}

export function inUse(directory: string): DiskError {
  return new DiskError(`directory ${directory} is in use by process 1`, "ELOCKED");
}
