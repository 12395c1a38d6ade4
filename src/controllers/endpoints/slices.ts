/**
 * From the wanted endpoints and the slices there are to the fewest writes, pure.
 *
 * Holds  after the plan every wanted endpoint is in exactly one slice of its port set, no slice has
 *        more than `endpointsMax`, and a slice that need not change is not written.
 * After  upstream's EndpointSlice reconciler: endpoints stay in the slice they are in; new ones fill
 *        the slices that are written anyway, then the fullest that has room for all, then new ones.
 */
import type { DiscoveryEndpointPort, Endpoint, EndpointSlice } from "#api/gen/types.ts";
import { jsonEqual } from "../shared/equal.ts";
import type { PortGroup } from "./desired.ts";

/** Upstream's --max-endpoints-per-slice. */
export const endpointsMax = 100;

export interface SlicePlan {
  readonly create: readonly SliceContent[];
  readonly update: readonly { readonly slice: EndpointSlice; readonly content: SliceContent }[];
  readonly remove: readonly EndpointSlice[];
}

export interface SliceContent {
  readonly ports: readonly DiscoveryEndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

interface Draft {
  readonly slice: EndpointSlice;
  readonly endpoints: Endpoint[];
  changed: boolean;
}

export function planSlices(
  groups: readonly PortGroup[],
  existing: readonly EndpointSlice[],
): SlicePlan {
  const left = new Set(existing);
  const plans = groups.map((group) => {
    const same = existing.filter((slice) => jsonEqual(slice.ports ?? [], group.ports));
    for (const slice of same) left.delete(slice);
    return planGroup(group, same);
  });
  return {
    create: plans.flatMap((plan) => plan.create),
    update: plans.flatMap((plan) => plan.update),
    remove: [...plans.flatMap((plan) => plan.remove), ...left],
  };
}

function planGroup(group: PortGroup, slices: readonly EndpointSlice[]): SlicePlan {
  const waiting = new Map(group.endpoints);
  const drafts = slices.map((slice) => keepWanted(slice, waiting));
  const fresh = fill(drafts, [...waiting.values()]);
  const empty = drafts.filter((draft) => draft.endpoints.length === 0);
  const content = (endpoints: readonly Endpoint[]): SliceContent => ({
    ports: group.ports,
    endpoints,
  });
  return {
    create: fresh.map(content),
    update: drafts
      .filter((draft) => draft.changed && draft.endpoints.length > 0)
      .map((draft) => ({ slice: draft.slice, content: content(draft.endpoints) })),
    remove: empty.map((draft) => draft.slice),
  };
}

/** The slice's own endpoints that are still wanted, as they are wanted now; takes them off `waiting`. */
function keepWanted(slice: EndpointSlice, waiting: Map<string, Endpoint>): Draft {
  const old = slice.endpoints ?? [];
  const endpoints: Endpoint[] = [];
  let changed = false;
  for (const endpoint of old) {
    const uid = endpoint.targetRef?.uid ?? "";
    const wanted = waiting.get(uid);
    if (wanted === undefined) {
      changed = true;
      continue;
    }
    waiting.delete(uid);
    changed ||= !jsonEqual(endpoint, wanted);
    endpoints.push(wanted);
  }
  return { slice, endpoints, changed };
}

/** Puts `endpoints` into drafts, and returns the contents of slices that must be made. */
function fill(drafts: readonly Draft[], endpoints: Endpoint[]): readonly (readonly Endpoint[])[] {
  const room = (draft: Draft): number => endpointsMax - draft.endpoints.length;
  const put = (draft: Draft): void => {
    draft.endpoints.push(...endpoints.splice(0, room(draft)));
    draft.changed = true;
  };
  for (const draft of drafts)
    if (draft.changed && endpoints.length > 0 && room(draft) > 0) put(draft);
  if (endpoints.length > 0 && endpoints.length < endpointsMax) {
    const fits = drafts.filter((draft) => room(draft) >= endpoints.length);
    const fullest = fits.toSorted((a, b) => room(a) - room(b))[0];
    if (fullest !== undefined) put(fullest);
  }
  const fresh: Endpoint[][] = [];
  while (endpoints.length > 0) fresh.push(endpoints.splice(0, endpointsMax));
  return fresh;
}
