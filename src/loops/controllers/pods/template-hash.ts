/** Hashes of templates and revision data for names: upstream's hashes, in its alphabet without vowels. */
import type { PodTemplateSpec } from "#api/gen/types.ts";
import { dumpTemplate } from "./template-dump.ts";

const offset = 0x811c9dc5;
const prime = 0x01000193;
const encoder = new TextEncoder();

/**
 * The hash of ReplicaSets and of a DaemonSet's revisions: FNV-1a over the printed template, then over the collision
 * count if there is one. A count of zero and no count give different hashes.
 */
export function templateHash(
  template: PodTemplateSpec,
  collisionCount: number | undefined,
): string {
  let hash = offset;
  for (const byte of encoder.encode(dumpTemplate(template))) {
    hash = Math.imul(hash ^ byte, prime) >>> 0;
  }
  return safeEncode(collisionCount === undefined ? hash : addCount(hash, collisionCount));
}

/** Eight bytes: a little-endian uint32 and four zeros. */
function addCount(before: number, count: number): number {
  let hash = before;
  for (let at = 0; at < 8; at++) {
    const byte = at < 4 ? (count >>> (8 * at)) & 0xff : 0;
    hash = Math.imul(hash ^ byte, prime) >>> 0;
  }
  return hash;
}

/** The hash of a StatefulSet's revision: FNV-1 over its data and the decimal count. */
export function dataHash(data: string, collisionCount: number): string {
  let hash = offset;
  for (const byte of encoder.encode(`${data}${collisionCount}`)) {
    hash = (Math.imul(hash, prime) ^ byte) >>> 0;
  }
  return safeEncode(hash);
}

function safeEncode(hash: number): string {
  const alphabet = "bcdfghjklmnpqrstvwxz2456789";
  return Array.from(String(hash), (digit) => alphabet[digit.charCodeAt(0) % alphabet.length]).join(
    "",
  );
}
