/**
 * Decides which names a definition gets: the names that it requests, unless another definition of its group has them.
 * Pure. After  controller/status/naming_controller.go.
 */
import type { CustomResourceDefinitionNames } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { JsonObject } from "#api/object.ts";
import { conversionBundleFault } from "#api/validation/ca-bundle.ts";
import { established, type Said, withCondition, withStatus } from "./conditions.ts";
import { type Definition, findCondition, hasCondition } from "./definition.ts";

/** Accepted names of the definitions in one group. */
interface TakenNames {
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

export function takenNames(
  accepted: Iterable<CustomResourceDefinitionNames | undefined>,
): TakenNames {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const names of accepted) {
    if (names === undefined) continue;
    for (const name of [names.plural, names.singular ?? "", ...(names.shortNames ?? [])]) {
      resources.add(name);
    }
    kinds.add(names.kind);
    kinds.add(names.listKind ?? "");
  }
  return { resources, kinds };
}

const noNames: CustomResourceDefinitionNames = { plural: "", kind: "" };

/** Returns the same definition if its names are settled. `taken` includes its own names. */
export function settleNames(definition: Definition, taken: TakenNames, nowMs: number): Definition {
  const wanted = definition.spec.names;
  const had = definition.status?.acceptedNames ?? noNames;
  const hasAll = jsonEqual(wanted, had) && findCondition(definition, "NamesAccepted") !== undefined;
  if (hasAll) return settleEstablished(definition, nowMs);
  const { names, conflict } = chooseNames(wanted, had, taken);
  const accepted: Said = conflict ?? {
    type: "NamesAccepted",
    status: "True",
    reason: "NoConflicts",
    message: "no conflicts found",
  };
  const given = jsonEqual(names, had)
    ? definition
    : withStatus(definition, { acceptedNames: names });
  const judged = withCondition(given, accepted, nowMs);
  return settleEstablished(judged, nowMs);
}

/** Sets the condition Established. An established definition remains established. */
function settleEstablished(definition: Definition, nowMs: number): Definition {
  if (hasCondition(definition, "Established")) return definition;
  if (!hasCondition(definition, "NamesAccepted")) {
    return withCondition(definition, notAccepted, nowMs);
  }
  // A validated definition contains only plain JSON.
  const fault = conversionBundleFault(definition.spec as unknown as JsonObject);
  return withCondition(definition, fault === undefined ? established : badBundle, nowMs);
}

const badBundle: Said = {
  type: "Established",
  status: "False",
  reason: "InvalidCABundle",
  message: "The conversion webhook CABundle is invalid",
};

const notAccepted: Said = {
  type: "Established",
  status: "False",
  reason: "NotAccepted",
  message: "not all names are accepted",
};

interface Chosen {
  readonly names: CustomResourceDefinitionNames;
  /** Condition that reports the last name that another definition has. */
  readonly conflict: Said | undefined;
}

type MutableNames = {
  -readonly [K in keyof CustomResourceDefinitionNames]: CustomResourceDefinitionNames[K];
};

function chooseNames(
  wanted: CustomResourceDefinitionNames,
  had: CustomResourceDefinitionNames,
  taken: TakenNames,
): Chosen {
  let conflict: Said | undefined;
  const next: MutableNames = { ...had };
  const choose = (
    field: "plural" | "singular" | "kind" | "listKind",
    used: ReadonlySet<string>,
    reason: string,
  ): void => {
    const name = wanted[field] ?? "";
    if (name === (had[field] ?? "") || !used.has(name)) next[field] = name;
    else conflict = conflictOf(reason, inUse(name));
  };
  choose("plural", taken.resources, "PluralConflict");
  choose("singular", taken.resources, "SingularConflict");
  const own = new Set(had.shortNames);
  const foreign = (wanted.shortNames ?? []).filter(
    (name) => !own.has(name) && taken.resources.has(name),
  );
  if (foreign.length > 0)
    conflict = conflictOf("ShortNamesConflict", aggregate(foreign.map(inUse)));
  else assign(next, "shortNames", wanted.shortNames);
  choose("kind", taken.kinds, "KindConflict");
  choose("listKind", taken.kinds, "ListKindConflict");
  assign(next, "categories", wanted.categories);
  return { names: next, conflict };
}

function assign(
  names: MutableNames,
  field: "shortNames" | "categories",
  value: readonly string[] | undefined,
): void {
  if (value === undefined) delete names[field];
  else names[field] = value;
}

function conflictOf(reason: string, message: string): Said {
  return { type: "NamesAccepted", status: "False", reason, message };
}

function inUse(name: string): string {
  return `${JSON.stringify(name)} is already in use`;
}

/** Joins errors as Go's aggregate: each text once. */
function aggregate(texts: readonly string[]): string {
  const distinct = [...new Set(texts)];
  return distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
}
