/**
 * Groups dealt over several autoscalers: each plans for all groups and does what concerns its own. All of them see the
 * same Pods and groups and so choose alike; what another one is to do is waited for.
 */
export interface Shard {
  readonly index: number;
  readonly count: number;
}

/** Hashes the id with FNV-1a, which gives the same result in every process. */
export function isOwnGroup(id: string, { index, count }: Shard): boolean {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) {
    hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193) >>> 0;
  }
  return hash % count === index;
}
