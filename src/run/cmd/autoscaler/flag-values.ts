/** Parsers for the values of the autoscaler's own flags. */
import { InvalidArgumentError } from "commander";
import { type Expander, expanders, type Limits } from "#autoscaler/options.ts";
import type { ProviderGroup } from "#autoscaler/provider.ts";
import type { Shard } from "#autoscaler/shard.ts";

const shardsMax = 64;

/** Parses `min:max:group` and adds it to the earlier values, because the flag may be repeated. */
export function nodeGroupSpec(
  text: string,
  before: readonly ProviderGroup[],
): readonly ProviderGroup[] {
  const [, least, most, id] = /^(\d{1,6}):(\d{1,6}):(.+)$/.exec(text) ?? [];
  const [min, max] = [Number(least), Number(most)];
  if (id === undefined || min > max) {
    throw new InvalidArgumentError("a group is min:max:name, as 1:10:small.");
  }
  if (before.some((one) => one.id === id)) throw new InvalidArgumentError(`${id} is there twice.`);
  return [...before, { id, min, max }];
}

export function expanderList(text: string): readonly Expander[] {
  return text.split(",").map((name) => {
    const known = expanders.find((expander) => expander === name);
    if (known !== undefined) return known;
    throw new InvalidArgumentError(`expanders are ${expanders.join(", ")}, comma separated.`);
  });
}

/** Parses `min:max`. */
export function limits(text: string): Limits {
  const [, least, most] = /^(\d{1,12}):(\d{1,12})$/.exec(text) ?? [];
  const found = { least: Number(least), most: Number(most) };
  if (least !== undefined && found.least <= found.most) return found;
  throw new InvalidArgumentError("limits are min:max, as 0:320000.");
}

/** Parses `i/n`: shard i of n, counted from 0. */
export function shardOf(text: string): Shard {
  const [, index, count] = /^(\d{1,2})\/(\d{1,2})$/.exec(text) ?? [];
  const shard = { index: Number(index), count: Number(count) };
  if (index !== undefined && shard.index < shard.count && shard.count <= shardsMax) return shard;
  throw new InvalidArgumentError(
    `a shard is i/n, as 0/2, from 0/n to (n-1)/n; n is ${shardsMax} at most.`,
  );
}

export function numberUpTo(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`a number from ${least} to ${most}.`);
  };
}
