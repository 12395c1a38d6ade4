/**
 * The location of a volume in the terms of its CSI driver: zones and regions of the node affinity under the driver's
 * keys; those of the volume's labels when the affinity names none. Pure.
 */
import type { NodeSelectorRequirement, NodeSelectorTerm, PersistentVolume } from "../gen/types.ts";

type Spec = NonNullable<PersistentVolume["spec"]>;
type Affinity = Pick<Spec, "nodeAffinity">;

interface Keys {
  readonly zone: string;
  readonly region: string;
}

const stable: Keys = {
  zone: "topology.kubernetes.io/zone",
  region: "topology.kubernetes.io/region",
};
const beta: Keys = {
  zone: "failure-domain.beta.kubernetes.io/zone",
  region: "failure-domain.beta.kubernetes.io/region",
};
/** Separates the zones of a volume with several. */
const delimiter = "__";

/** The zones in the labels; as upstream, the old label takes precedence. */
export function zonesOfLabels({ metadata }: PersistentVolume): readonly string[] {
  const old = metadata?.labels?.[beta.zone] ?? "";
  return (old === "" ? (metadata?.labels?.[stable.zone] ?? "") : old).split(delimiter);
}

/** Moves zones to `key`; the old region key is replaced by the new one, which nodes have. */
export function withZone(volume: PersistentVolume, spec: Spec, key: string): Affinity {
  const keys = keysOf(volume, spec);
  const terms = withKey(volume, termsOf(spec), keys.zone, key, delimiter);
  return affinity(spec, keys === beta ? renamed(terms, beta.region, stable.region) : terms);
}

/** Moves zones and regions to the keys of `prefix`; a label is one place, whatever it contains. */
export function withRegionAndZone(volume: PersistentVolume, spec: Spec, prefix: string): Affinity {
  const keys = keysOf(volume, spec);
  const zoned = withKey(volume, termsOf(spec), keys.zone, `${prefix}/zone`);
  return affinity(spec, withKey(volume, zoned, keys.region, `${prefix}/region`));
}

function affinity(spec: Spec, terms: readonly NodeSelectorTerm[]): Affinity {
  if (terms.length === 0) return {};
  const required = { ...spec.nodeAffinity?.required, nodeSelectorTerms: [...terms] };
  return { nodeAffinity: { ...spec.nodeAffinity, required } };
}

function termsOf({ nodeAffinity }: Spec): readonly NodeSelectorTerm[] {
  return nodeAffinity?.required?.nodeSelectorTerms ?? [];
}

function requirementsOf(terms: readonly NodeSelectorTerm[]): readonly NodeSelectorRequirement[] {
  return terms.flatMap(({ matchExpressions = [] }) => matchExpressions);
}

/** The label keys of zone and region that the volume uses, in its node affinity or else in its labels. */
function keysOf({ metadata }: PersistentVolume, spec: Spec): Keys {
  const named = new Set(requirementsOf(termsOf(spec)).map(({ key }) => key));
  const labels = metadata?.labels ?? {};
  for (const has of [
    (key: string): boolean => named.has(key),
    (key: string): boolean => labels[key] !== undefined,
  ]) {
    if (has(stable.zone)) return stable;
    if (has(beta.zone)) return beta;
  }
  return stable;
}

/** Renames `from` to `to`; if no term has values for it, those of the label are added to each. */
function withKey(
  { metadata }: PersistentVolume,
  terms: readonly NodeSelectorTerm[],
  from: string,
  to: string,
  separator?: string,
): readonly NodeSelectorTerm[] {
  const isNamed = requirementsOf(terms).some(
    ({ key, values = [] }) => key === from && values.length > 0,
  );
  if (isNamed) return renamed(terms, from, to);
  const label = metadata?.labels?.[from] ?? "";
  const places = separator === undefined ? [label] : label.split(separator);
  const values = [...new Set(places.map((place) => place.trim()))].filter((place) => place !== "");
  if (values.length === 0) return terms;
  const added = { key: to, operator: "In", values: values.sort() };
  const all = terms.length === 0 ? [{}] : terms;
  return all.map((term: NodeSelectorTerm) => ({
    ...term,
    matchExpressions: [...(term.matchExpressions ?? []), added],
  }));
}

function renamed(
  terms: readonly NodeSelectorTerm[],
  from: string,
  to: string,
): readonly NodeSelectorTerm[] {
  return terms.map((term) => {
    if (term.matchExpressions === undefined) return term;
    const matchExpressions = term.matchExpressions.map((one) =>
      one.key === from ? { ...one, key: to } : one,
    );
    return { ...term, matchExpressions };
  });
}
