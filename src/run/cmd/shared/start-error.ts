/** The reason why an API server did not start, with the flag that fixes it. */
import { DiskError } from "#platform/disk.ts";
import { UsageError } from "./usage-error.ts";

interface Asked {
  readonly host: string;
  readonly port: number;
  /** Name of the role's flag for the host. */
  readonly hostFlag: string;
  readonly portFlag: string;
}

/** Converts an operator's mistake to a UsageError. Returns any other error unchanged. */
export function startError(
  error: unknown,
  store: string,
  { host, port, hostFlag, portFlag }: Asked,
): unknown {
  // The listener's error names the fault. This function adds the flag that fixes it.
  const { code = "" } = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
  const at = `${host} port ${port}`;
  if (code === "EADDRINUSE") {
    return new UsageError(
      `${at} is in use; give another with ${portFlag}, or ${portFlag} 0 for any free one`,
    );
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return new UsageError(`${host} is no address of this machine; give one with ${hostFlag}`);
  }
  if (code === "EACCES" && !(error instanceof DiskError)) {
    return new UsageError(`not allowed to listen on ${at}; ports below 1024 need privileges`);
  }
  const isStore =
    error instanceof DiskError || (error instanceof Error && /Corruption|Foreign/.test(error.name));
  if (!isStore) return error;
  return new UsageError(`cannot open the store in ${store}: ${error.message}`, { cause: error });
}
