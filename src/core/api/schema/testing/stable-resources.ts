/** The resources of stable versions (v1, v2): enough for a test over every kind. */
import type { ResourceInfo } from "../resource-info.ts";
import { builtinResources } from "../resources.ts";

const stable = builtinResources().filter((row) => /^v[0-9]+$/.test(row.version));

export function stableResources(): readonly ResourceInfo[] {
  return stable;
}
