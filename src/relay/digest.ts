/**
 * A digest of a set that is kept up to date in O(1) per change and is the same whoever computes it,
 * in whatever order: the sum of its members' 128-bit hashes mod 2^128.
 *
 * A member's hash covers its name, its resourceVersion and its content (SHA-256, first half).
 * Sums of hashes resist accidents, not an adversary who can choose members: this is a cache key among
 * replicas of one upstream, not a signature.
 */
import { hash as hashOf } from "node:crypto";
import type { CachedObject } from "#watch/cached-object.ts";

const hashes = new WeakMap<CachedObject, bigint>();

/** Of the bytes clients get; made once per object for all views. */
export function memberHash(object: CachedObject): bigint {
  const known = hashes.get(object);
  if (known !== undefined) return known;
  const hex = hashOf("sha256", object.json, "hex");
  const hash = BigInt(`0x${hex.slice(0, 32)}`);
  hashes.set(object, hash);
  return hash;
}

export function sum(digest: bigint, change: bigint): bigint {
  return BigInt.asUintN(128, digest + change);
}

export function digestText(digest: bigint): string {
  return digest.toString(16).padStart(32, "0");
}
