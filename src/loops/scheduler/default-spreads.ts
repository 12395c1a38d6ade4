/**
 * Topology spread for Pods without own constraints: the built-in constraints, or those of the profile. They count the
 * Pods of the same controller, or else the Pods that the Pod's Services select.
 * After  k/k pkg/scheduler/framework/plugins/podtopologyspread, DefaultSelector of plugins/helper/spread.go. A
 *        controller's Pods are found by their owner, not by its selector: these are the same Pods, without a watch of
 *        controllers.
 */
import type { Service, TopologySpreadConstraint } from "#api/gen/types.ts";
import { labelsInclude } from "#api/selectors/node-match.ts";
import { defaultSpreads, type PodInfo, type Spread } from "./pod-info.ts";
import { type Selection, spreadSelection } from "./selection.ts";

/** Default constraints; they have no selectors of their own, selectors are derived from the Pod. */
export type DefaultConstraints = "built-in" | readonly TopologySpreadConstraint[];

/** Returns the Services of a namespace. */
export type ServicesOf = (namespace: string) => readonly Service[];

interface DefaultSpreads {
  /** Whether a node that lacks one of the topology keys scores 0. */
  readonly areStrict: boolean;
  hardOf(info: PodInfo): readonly Spread[];
  softOf(info: PodInfo): readonly Spread[];
  /** Returns a signature: Pods with equal signatures have equal hard constraints. "" without hard constraints. */
  sign(info: PodInfo): string;
}

export function defaultsOf(constraints: DefaultConstraints, services: ServicesOf): DefaultSpreads {
  if (constraints === "built-in") {
    return {
      areStrict: false,
      hardOf: () => [],
      softOf(info) {
        if (info.siblings !== undefined) return info.spreadSoft;
        const selection = selectionByServices(info, services);
        return selection === undefined ? [] : defaultSpreads(selection);
      },
      sign: () => "",
    };
  }
  const of = (info: PodInfo, wanted: readonly TopologySpreadConstraint[]): readonly Spread[] => {
    if (wanted.length === 0) return [];
    const selection = info.siblings ?? selectionByServices(info, services);
    return selection === undefined ? [] : wanted.map((one) => spreadOf(one, selection));
  };
  const isHard = ({ whenUnsatisfiable }: TopologySpreadConstraint): boolean =>
    whenUnsatisfiable === "DoNotSchedule";
  const hard = constraints.filter(isHard);
  const soft = constraints.filter((one) => !isHard(one));
  return {
    areStrict: true,
    hardOf: (info) => of(info, hard),
    softOf: (info) => of(info, soft),
    sign: (info) =>
      hard.length === 0 ? "" : JSON.stringify([info.namespace, info.ownerUid, info.labels]),
  };
}

function spreadOf(constraint: TopologySpreadConstraint, selection: Selection): Spread {
  const { maxSkew, minDomains = 1, topologyKey } = constraint;
  return {
    selection,
    topologyKey,
    maxSkew,
    minDomains,
    honorAffinity: constraint.nodeAffinityPolicy !== "Ignore",
    honorTaints: constraint.nodeTaintsPolicy === "Honor",
    selfMatch: true,
  };
}

/** Selects the Pods with all labels that the Pod's Services require. Undefined: no Service selects this Pod. */
function selectionByServices(info: PodInfo, services: ServicesOf): Selection | undefined {
  const { labels, namespace } = info;
  const asked = services(namespace).flatMap(({ spec }) => {
    const selector = spec?.selector;
    return selector !== undefined && labelsInclude(selector, labels) ? [selector] : [];
  });
  const matchLabels = Object.assign({}, ...asked) as Readonly<Record<string, string>>;
  if (Object.keys(matchLabels).length === 0) return undefined;
  return spreadSelection(namespace, { matchLabels }, [], labels);
}
