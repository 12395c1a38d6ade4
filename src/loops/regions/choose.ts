/**
 * The regions that a placement may use: its own selector, the namespace's residency, and where other placements are.
 *
 * Holds  residency is a hard rule: a region with another value, or none, is never among them, also when nothing else is
 *        left and also after a failure. It is a label of the Namespace, so writing placements is no right to lift it.
 */
import { labelsMatch, selectorFromLabelSelector } from "#api/selectors/label-selector.ts";
import { labels as ownLabels } from "./names.ts";
import type { PlacementSpec } from "./placement.ts";

export interface Candidate {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Surroundings {
  readonly namespaceLabels: Readonly<Record<string, string>>;
  /** Returns the regions of another placement of the same namespace. */
  readonly regionsOf: (placement: string) => readonly string[];
}

export function chooseRegions<R extends Candidate>(
  spec: Pick<PlacementSpec, "selector" | "with" | "apart">,
  regions: readonly R[],
  { namespaceLabels, regionsOf }: Surroundings,
): readonly R[] {
  const selector = selectorFromLabelSelector(spec.selector);
  const residency = namespaceLabels[ownLabels.residency];
  const withs = spec.with.map(regionsOf);
  const aparts = spec.apart.flatMap(regionsOf);
  return regions.filter(
    ({ name, labels }) =>
      labelsMatch(selector, labels) &&
      (residency === undefined || labels[ownLabels.residency] === residency) &&
      withs.every((names) => names.includes(name)) &&
      !aparts.includes(name),
  );
}
