/** The keys and certificates of a data directory. Missing ones are created. */
import { ensurePki, PkiError, type Pki } from "#auth/pki-files.ts";
import type { DataDirectory } from "./data-dir.ts";
import type { Host } from "./host.ts";
import { serviceAddress as defaultAddress } from "./limits.ts";
import { UsageError } from "./usage-error.ts";

/** `extraHosts`: names and addresses of the server beyond the standard ones. Throws UsageError. */
export function clusterPki(
  host: Host,
  directory: DataDirectory,
  extraHosts: readonly string[],
  serviceAddress = defaultAddress,
): Pki {
  try {
    return ensurePki(directory.pki, { ...host, extraHosts, serviceAddress });
  } catch (error) {
    if (error instanceof PkiError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}
