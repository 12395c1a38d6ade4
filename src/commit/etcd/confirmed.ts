/** Confirms that a replica still holds the log before it reports what it read. */
import { FencedError } from "#store/engines/engine.ts";
import type { Store } from "#store/store.ts";
import { etcdError } from "./rpc-error.ts";

/**
 * Resolves once the store has everything that was acknowledged anywhere before the call; at once if the storage has no
 * other writers. Rejects with GrpcError.
 */
export async function confirmed(store: Pick<Store, "latest">): Promise<void> {
  try {
    await store.latest?.();
  } catch (error) {
    throw etcdError(error instanceof FencedError ? "leaderChanged" : "timedOut");
  }
}
