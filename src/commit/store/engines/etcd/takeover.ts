/**
 * Takes the log over: the format key is made once, the epoch key changes by compare-and-swap. From then on no
 * change of an earlier opening can happen, however late it reaches the cluster: every change has the condition
 * that the epoch key has its own opening's value, and no value comes twice.
 */
import type { Random } from "#platform/random.ts";
import { equalBytes } from "#base/bytes.ts";
import { CorruptionError, FencedError } from "../engine.ts";
import { only, type Calls } from "./calls.ts";
import type { HeldEpoch } from "./writer.ts";
import { decodeEpoch, decodeFormat, encodeEpoch, encodeFormat, type LogLayout } from "./layout.ts";

interface TakeOverDeps {
  readonly calls: Calls;
  readonly layout: LogLayout;
  readonly random: Random;
  /** Name of the opening for followers: printable ASCII without spaces; may be empty. */
  readonly name: string;
}

interface Taken {
  readonly domain: string;
  readonly epoch: number;
  readonly held: HeldEpoch;
}

export async function takeOver(deps: TakeOverDeps, wanted: number | "next"): Promise<Taken> {
  const domain = await findDomain(deps);
  const { calls, layout, random, name } = deps;
  const key = layout.epoch;
  const token = random.uuid();
  for (;;) {
    const seen = await calls.get(key);
    const last = seen === undefined ? 0 : decodeEpoch(seen, key);
    const epoch = nextEpoch(last, wanted);
    const value = encodeEpoch(epoch, token, name);
    const change = {
      conditions: [{ key, value: seen }],
      operations: [{ kind: "put", key, value }],
    } as const;
    // "unmet": a concurrent opening was quicker, or an uncertain attempt of this one succeeded.
    const isTaken =
      (await calls.change(change)) === "changed" || isSame(await calls.get(key), value);
    if (isTaken) return { domain, epoch, held: { key, value } };
  }
}

async function findDomain({ calls, layout, random }: TakeOverDeps): Promise<string> {
  const key = layout.format;
  const all = { start: layout.prefix, end: `${layout.prefix.slice(0, -1)}0`, limit: 1 };
  // Both reads have one revision, because another opening may be creating the log at this moment.
  const [found, others] = await calls.read([only(key), all]);
  const format = found?.[0]?.value;
  if (format !== undefined) return decodeFormat(format, key);
  const other = others?.[0]?.key;
  if (other !== undefined) {
    throw new CorruptionError(`${other} is there, but ${key} is not: other data, or a damaged log`);
  }
  await calls.change({
    conditions: [{ key, value: undefined }],
    operations: [{ kind: "put", key, value: encodeFormat(random.uuid()) }],
  });
  const made = await calls.get(key);
  if (made === undefined) throw new CorruptionError(`${key} was removed as soon as it was made`);
  return decodeFormat(made, key);
}

function nextEpoch(seen: number, wanted: number | "next"): number {
  if (wanted === "next") return seen + 1;
  if (wanted > seen) return wanted;
  throw new FencedError(`epoch ${wanted} may not open the log: it has seen epoch ${seen}`);
}

function isSame(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a !== undefined && equalBytes(a, b);
}
