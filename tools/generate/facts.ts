/**
 * The overlay as look-ups: `Type.field` words of the hand-kept tables, keyed by definition and field.
 */
import type { PackageFacts } from "./overlay/packages.ts";
import { anyFields, quantityFields } from "./overlay/fields.ts";
import { atomicLists, atomicTypes, fieldMapTypes, mapLists, setLists } from "./overlay/lists.ts";
import { mergeKeys, patchStrategies } from "./overlay/patch.ts";
import { packages } from "./overlay/packages.ts";

/** `core.v1.PodSpec.containers` -> what stands in brackets after it, "" without brackets. */
export type Facts = ReadonlyMap<string, string>;

export const quantities = readFacts(quantityFields);
export const anys = readFacts(anyFields);
export const listsAtomic = readFacts(atomicLists);
export const listsSet = readFacts(setLists);
export const listsMap = readFacts(mapLists);
export const typesAtomic = readFacts(atomicTypes);
export const mapTypes = readFacts(fieldMapTypes);
export const merges = readFacts(mergeKeys);
export const strategies = readFacts(patchStrategies);

/** Every key of every table: the generator reports those that name no field. */
export const allFacts: readonly Facts[] = [
  quantities,
  anys,
  listsAtomic,
  listsSet,
  listsMap,
  mapTypes,
  merges,
  strategies,
];

export function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

export function packageNamed(name: string): PackageFacts {
  const found = packages.find((p) => p.name === name);
  if (found === undefined) throw new Error(`the overlay names an unknown package ${name}`);
  return found;
}

function readFacts(table: Readonly<Record<string, string>>): Facts {
  const facts = new Map<string, string>();
  for (const [name, text] of Object.entries(table)) {
    for (const word of words(text)) {
      const [, field = "", value = ""] = /^([^(]+)(?:\((.*)\))?$/.exec(word) ?? [];
      facts.set(`${packageNamed(name).name}.${field}`, value);
    }
  }
  return facts;
}
