/**
 * The overlay as look-ups: `Type.field` words of the hand-kept tables, keyed by definition and field; and what Go's
 * JSON does with zeros, from the table that `zeros/main.go` derives of upstream's types.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
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

/** What Go does with a field that is zero; a field of no mention is left out. */
export type ZeroFact = "pointer" | "written" | "written pointer" | "omitted";

const zeroFlags: Readonly<Record<string, ZeroFact>> = {
  "*": "pointer",
  "!": "written",
  "*!": "written pointer",
};

/** `io.k8s.api.core.v1.PodSpec` -> `containers` -> what happens to it. */
const zeros: ReadonlyMap<string, ReadonlyMap<string, ZeroFact>> = readZeros();

export function zeroFact(definition: string, field: string): ZeroFact {
  return zeros.get(definition)?.get(field) ?? "omitted";
}

/** Each definition with the fields that its line names: the generator reports those that do not exist. */
export function zeroFields(): readonly (readonly [string, readonly string[]])[] {
  return [...zeros].map(([definition, fields]) => [definition, [...fields.keys()]]);
}

function readZeros(): ReadonlyMap<string, ReadonlyMap<string, ZeroFact>> {
  const text = readFileSync(join(import.meta.dirname, "overlay", "zeros.txt"), "utf8");
  return new Map(text.trim().split("\n").map(readZeroLine));
}

function readZeroLine(line: string): readonly [string, ReadonlyMap<string, ZeroFact>] {
  const [definition = "", ...fields] = line.split(" ");
  const facts = new Map<string, ZeroFact>();
  for (const word of fields) {
    const [, name = "", flag = ""] = /^(.+?)([*!]+)$/.exec(word) ?? [];
    const fact = zeroFlags[flag];
    if (fact === undefined) throw new Error(`${definition}: ${word} has no flag that is known`);
    facts.set(name, fact);
  }
  return [definition, facts];
}

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
