/**
 * A digest of a set, updated in O(1) per change and independent of replica and order: the sum of its
 * members' 128-bit hashes mod 2^128.
 *
 * A member's hash covers its name, its resourceVersion and its content (SHA-256, first half); a row's of
 * a projected view its place and its text.
 * Sums of hashes resist accidents, not an adversary who can choose members: this is a cache key among
 * replicas of one upstream, not a signature.
 */
import { hash } from "node:crypto";
import type { CachedObject } from "#forms/cached-object.ts";

const hashes = new WeakMap<CachedObject, bigint>();

/** Returns the hash of the object's JSON as clients get it; it is computed once per object for all views. */
export function memberHash(object: CachedObject): bigint {
  const known = hashes.get(object);
  if (known !== undefined) return known;
  const made = half(hash("sha256", object.json, "hex"));
  hashes.set(object, made);
  return made;
}

/** Hashes a row with its place. The pair is unambiguous: a place is a key without line ends, or begins with the text itself. */
export function textHash(place: string, text: string): bigint {
  return half(hash("sha256", `${place}\n${text}`, "hex"));
}

function half(hex: string): bigint {
  return BigInt(`0x${hex.slice(0, 32)}`);
}

export function sum(digest: bigint, change: bigint): bigint {
  return BigInt.asUintN(128, digest + change);
}

export function digestText(digest: bigint): string {
  return digest.toString(16).padStart(32, "0");
}
