/**
 * Parses JSON texts inside objects (fieldsV1) once: those of a workload's Pods are mostly equal.
 *
 * Holds  results are frozen, because many objects share them.
 * Bounds two generations of `textsMax` texts of at most `lengthMax` characters; longer ones are parsed each time.
 */
import { parseRaw } from "./free.ts";

const textsMax = 512;
const lengthMax = 4096;

export class SharedJson {
  #young = new Map<string, unknown>();
  #old = new Map<string, unknown>();

  /** Throws ProtobufError. */
  parse(text: string): unknown {
    if (text.length > lengthMax) return parseRaw(text);
    const known = this.#young.get(text);
    if (known !== undefined) return known;
    const value = this.#old.get(text) ?? frozen(parseRaw(text));
    if (this.#young.size >= textsMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(text, value);
    return value;
  }
}

/** Parsed JSON of `lengthMax` characters has at most half as many levels, so the stack suffices. */
function frozen(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) frozen(member);
  return Object.freeze(value);
}
