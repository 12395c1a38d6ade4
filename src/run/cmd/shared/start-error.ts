/** Why an API server did not start, with the flag that mends it. */
import { DiskError } from "#platform/disk.ts";
import { UsageError } from "./usage-error.ts";

interface Asked {
  readonly host: string;
  readonly port: number;
  /** What the role calls them. */
  readonly hostFlag: string;
  readonly portFlag: string;
}

/** What is not the operator's mistake comes back as it was. */
export function startError(
  error: unknown,
  store: string,
  { host, port, hostFlag, portFlag }: Asked,
): unknown {
  // The listener says what was wrong; which of our flags mends it is said here.
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
