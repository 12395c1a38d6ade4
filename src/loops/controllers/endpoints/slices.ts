/**
 * Plans the fewest writes that turn the existing slices into slices with the wanted endpoints, pure.
 *
 * Holds  after the plan every wanted endpoint is in exactly one slice of its port set, no slice has
 *        more than `endpointsMax`, a slice that need not change is not written, and there is at least
 *        one slice: an empty one says that there are no endpoints.
 * After  upstream's EndpointSlice reconciler: endpoints stay in their slice. New endpoints fill the slices that are
 *        written anyway, then the fullest slice with room for all, then new slices. A slice that would be deleted is
 *        rewritten where a new one would be created.
 */
import type { DiscoveryEndpointPort, Endpoint, EndpointSlice } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { portKey, type PortGroup } from "./desired.ts";

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

interface SliceInput {
  readonly groups: readonly PortGroup[];
  /** Slices of this Service and address family. */
  readonly existing: readonly EndpointSlice[];
  /** The labels every slice must have. */
  readonly labels: Readonly<Record<string, string>>;
}

interface Draft {
  readonly slice: EndpointSlice;
  readonly endpoints: Endpoint[];
  changed: boolean;
}

const placeholder: SliceContent = { ports: [], endpoints: [] };

export function planSlices(input: SliceInput): SlicePlan {
  const left = new Set(input.existing);
  const plans = input.groups.map((group) => {
    const key = portKey(group.ports);
    const same = input.existing.filter((slice) => portKey(slice.ports ?? []) === key);
    for (const slice of same) left.delete(slice);
    return planGroup(input, group, same);
  });
  const plan = {
    create: plans.flatMap((one) => one.create),
    update: plans.flatMap((one) => one.update),
    remove: [...plans.flatMap((one) => one.remove), ...left],
  };
  return recycleSlices(withPlaceholder(input, plan));
}

function withPlaceholder({ existing, labels }: SliceInput, plan: SlicePlan): SlicePlan {
  if (existing.length > plan.remove.length || plan.create.length > 0) return plan;
  const kept = plan.remove.find(
    (slice) =>
      (slice.endpoints ?? []).length + (slice.ports ?? []).length === 0 &&
      jsonEqual(slice.metadata?.labels, labels),
  );
  if (kept === undefined) return { ...plan, create: [placeholder] };
  return { ...plan, remove: plan.remove.filter((slice) => slice !== kept) };
}

function recycleSlices({ create, update, remove }: SlicePlan): SlicePlan {
  const count = Math.min(create.length, remove.length);
  const anew = create.slice(0, count).flatMap((content, at) => {
    const slice = remove[at];
    return slice === undefined ? [] : [{ slice, content }];
  });
  return {
    create: create.slice(count),
    update: [...update, ...anew],
    remove: remove.slice(count),
  };
}

function planGroup(
  { labels }: SliceInput,
  group: PortGroup,
  slices: readonly EndpointSlice[],
): SlicePlan {
  const waiting = new Map(group.endpoints);
  const drafts = slices.map((slice) => keepWanted(slice, waiting, labels));
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

/** Updates the slice's own endpoints that are still wanted, and removes them from `waiting`. */
function keepWanted(
  slice: EndpointSlice,
  waiting: Map<string, Endpoint>,
  labels: SliceInput["labels"],
): Draft {
  const endpoints: Endpoint[] = [];
  let changed = !jsonEqual(slice.metadata?.labels, labels);
  for (const endpoint of slice.endpoints ?? []) {
    const uid = endpoint.targetRef?.uid ?? "";
    const wanted = waiting.get(uid);
    if (wanted === undefined || endpoints.length >= endpointsMax) {
      changed = true;
      continue;
    }
    waiting.delete(uid);
    changed ||= !jsonEqual(endpoint, wanted);
    endpoints.push(wanted);
  }
  return { slice, endpoints, changed };
}

/** Adds `endpoints` to drafts. @returns the contents of slices to be created. */
function fill(drafts: readonly Draft[], endpoints: Endpoint[]): readonly (readonly Endpoint[])[] {
  const room = (draft: Draft): number => endpointsMax - draft.endpoints.length;
  const put = (draft: Draft): void => {
    draft.endpoints.push(...endpoints.splice(0, room(draft)));
    draft.changed = true;
  };
  const fullestFirst = drafts.toSorted((a, b) => room(a) - room(b));
  for (const draft of fullestFirst)
    if (draft.changed && endpoints.length > 0 && room(draft) > 0) put(draft);
  if (endpoints.length > 0 && endpoints.length < endpointsMax) {
    const fits = fullestFirst.find((draft) => room(draft) >= endpoints.length);
    if (fits !== undefined) put(fits);
  }
  const fresh: Endpoint[][] = [];
  while (endpoints.length > 0) fresh.push(endpoints.splice(0, endpointsMax));
  return fresh;
}
