/** `storageVersionHash` changes with a resource's storage version, so that clients notice the change. */
import { createHash } from "node:crypto";
import type { ResourceInfo } from "#api/schema/resource-info.ts";

/** Base64 of the first 8 bytes of SHA-256 over group/version/kind; undefined for non-persisted kinds. */
export function storageVersionHash({ kind, storage }: ResourceInfo): string | undefined {
  if (storage === undefined) return undefined;
  const text = `${storage.group}/${storage.version}/${kind}`;
  return createHash("sha256").update(text).digest().subarray(0, 8).toString("base64");
}
