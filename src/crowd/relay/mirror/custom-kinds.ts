/**
 * What a CustomResourceDefinition tells a relay: which kinds are served, their columns and selectable
 * fields, and which of them the operator wants mirrored.
 *
 * Holds  only what is established is served; a definition's `key` changes with everything that changes
 *        answers (another object of the name, another spec, other accepted names), and with nothing else.
 * Not mirrored  versions that are deprecated: each of their answers carries a warning of the upstream.
 */
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from "#api/gen/types.ts";
import { compareKubeVersions } from "#api/schema/group-priorities.ts";
import { resourceByPath } from "#api/schema/resources.ts";
import { customPrinter } from "../kubernetes/custom-columns.ts";
import type { MirroredKind } from "./mirrored-kind.ts";
import { isNamed } from "./resources.ts";

export interface CustomDefinition {
  readonly key: string;
  /** Kinds of the versions that are served and not deprecated, the preferred version first. */
  readonly kinds: readonly MirroredKind[];
}

export function customDefinition(crd: CustomResourceDefinition): CustomDefinition {
  const { spec, status, metadata } = crd;
  const accepted = status?.acceptedNames;
  const established = isEstablished(crd) && accepted !== undefined;
  const key = JSON.stringify([metadata?.uid, metadata?.generation, established, accepted]);
  if (!established) return { key, kinds: [] };
  const versions = spec.versions
    .filter(({ served, deprecated }) => served && deprecated !== true)
    .filter(({ name }) => resourceByPath(spec.group, name, accepted.plural) === undefined)
    .sort((a, b) => compareKubeVersions(a.name, b.name));
  return { key, kinds: versions.map((version) => customKind(crd, version, key)) };
}

function isEstablished({ status }: CustomResourceDefinition): boolean {
  const conditions = status?.conditions ?? [];
  return conditions.some(({ type, status: value }) => type === "Established" && value === "True");
}

function customKind(
  { spec, status }: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  key: string,
): MirroredKind {
  const { group, scope } = spec;
  const { plural, kind, listKind } = status?.acceptedNames ?? spec.names;
  return {
    group,
    version: version.name,
    resource: plural,
    kind,
    namespaced: scope === "Namespaced",
    apiVersion: `${group}/${version.name}`,
    custom: {
      key,
      listKind: listKind ?? `${kind}List`,
      selectableFields: (version.selectableFields ?? []).map(({ jsonPath }) =>
        jsonPath.replace(/^\./, ""),
      ),
      printer: customPrinter(version.additionalPrinterColumns),
    },
  };
}

/** Returns the kinds of a definition that `names` selects: the preferred version, or the named versions. */
export function chooseVersions(
  { kinds }: CustomDefinition,
  names: readonly string[],
): readonly MirroredKind[] {
  const wanted = new Set(names.includes("all") ? kinds.slice(0, 1) : []);
  for (const name of names) {
    const kind = kinds.find((candidate) => isNamed(candidate, name));
    if (kind !== undefined) wanted.add(kind);
  }
  return [...wanted];
}
