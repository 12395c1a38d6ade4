/** The result of an allocation as in a claim's status: devices, configuration, and the nodes that can use them. */
import type {
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
  NodeSelector,
  NodeSelectorRequirement,
} from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import { type Amounts, textOfNanos } from "./consumable-capacity.ts";
import type { PoolDevice } from "./pools.ts";
import { AllocationError, type Alternative, type Wanted } from "./requests.ts";

export interface Taken {
  readonly device: PoolDevice;
  readonly alternative: Alternative;
  /** Consumed capacity of a shared device. */
  readonly consumed: Amounts | undefined;
}

export function resultOf(
  wanted: Wanted,
  taken: readonly Taken[],
  nodeName: string,
  shareId: () => string,
): AllocationResult {
  const results = taken.map((one) => deviceResult(one, shareId));
  const config = configOf(wanted, taken);
  const nodeSelector = nodeSelectorOf(wanted, taken, nodeName);
  return {
    devices: { ...(config.length === 0 ? {} : { config }), results },
    ...given({ nodeSelector }),
  };
}

function deviceResult(
  { device: { device, pool }, alternative, consumed }: Taken,
  shareId: () => string,
): DeviceRequestAllocationResult {
  const { bindingConditions, bindingFailureConditions } = device;
  const consumedCapacity = consumed === undefined || consumed.size === 0 ? {} : textsOf(consumed);
  return {
    request: alternative.name,
    driver: pool.driver,
    pool: pool.name,
    device: device.name,
    ...(alternative.isAdmin ? { adminAccess: true } : {}),
    ...given({ tolerations: alternative.tolerations, bindingConditions, bindingFailureConditions }),
    ...(consumed === undefined ? {} : { shareID: shareId() }),
    ...consumedCapacity,
  };
}

function textsOf(amounts: Amounts) {
  const texts = [...amounts].map(([name, nanos]) => [name, textOfNanos(nanos)] as const);
  return { consumedCapacity: Object.fromEntries(texts) };
}

/** Returns the configurations of the classes, each class once, followed by the configurations of the claim. */
function configOf(
  { claim, requests }: Wanted,
  taken: readonly Taken[],
): readonly DeviceAllocationConfiguration[] {
  const chosen = requests.flatMap((alternatives) => chosenOf(alternatives, taken) ?? []);
  const byClass = new Map<string, Alternative[]>();
  for (const one of chosen) {
    const name = one.deviceClass.metadata?.name ?? "";
    byClass.set(name, [...(byClass.get(name) ?? []), one]);
  }
  const ofClasses = [...byClass.values()].flatMap((users) =>
    (users[0]?.deviceClass.spec.config ?? []).map((config) => ({
      ...config,
      source: "FromClass",
      requests: users.map(({ name }) => name),
    })),
  );
  const ofClaim = (claim.spec.devices?.config ?? []).flatMap((config) => {
    const named = config.requests ?? [];
    const one = { ...config, source: "FromClaim" };
    if (named.length === 0) return [one];
    return chosen
      .filter(({ base, name }) => named.includes(base) || named.includes(name))
      .map(() => one);
  });
  return [...ofClasses, ...ofClaim];
}

function chosenOf(
  alternatives: readonly Alternative[],
  taken: readonly Taken[],
): Alternative | undefined {
  return alternatives.find((one) => taken.some(({ alternative }) => alternative === one));
}

/** Returns the nodes that can use the devices. Undefined: every node can use them. */
function nodeSelectorOf(
  { claim }: Wanted,
  taken: readonly Taken[],
  nodeName: string,
): NodeSelector | undefined {
  const fields: NodeSelectorRequirement[] = [];
  const labels: NodeSelectorRequirement[] = [];
  for (const { device } of taken) {
    const place = placeOf(device);
    if (place.nodeName !== undefined || device.device.bindsToNode === true) {
      return onlyOn(nodeName);
    }
    const terms = place.nodeSelector?.nodeSelectorTerms ?? [];
    if (terms.length > 1) {
      const why = `unsupported ResourceSlice.NodeSelector with ${terms.length} terms`;
      const name = claim.metadata?.name ?? "";
      throw new AllocationError(`create NodeSelector for claim ${name}: ${why}`);
    }
    addNew(fields, terms[0]?.matchFields);
    addNew(labels, terms[0]?.matchExpressions);
  }
  if (fields.length === 0 && labels.length === 0) return undefined;
  const term = {
    ...(labels.length === 0 ? {} : { matchExpressions: labels }),
    ...(fields.length === 0 ? {} : { matchFields: fields }),
  };
  return { nodeSelectorTerms: [term] };
}

function placeOf({ device, slice }: PoolDevice) {
  return slice.spec.perDeviceNodeSelection === true ? device : slice.spec;
}

function onlyOn(nodeName: string): NodeSelector {
  const named = { key: "metadata.name", operator: "In", values: [nodeName] };
  return { nodeSelectorTerms: [{ matchFields: [named] }] };
}

function addNew(
  all: NodeSelectorRequirement[],
  more: readonly NodeSelectorRequirement[] = [],
): void {
  for (const one of more) if (!all.some((other) => isSame(one, other))) all.push(one);
}

function isSame(a: NodeSelectorRequirement, b: NodeSelectorRequirement): boolean {
  const values = new Set(a.values);
  return (
    a.key === b.key &&
    a.operator === b.operator &&
    values.size === new Set(b.values).size &&
    (b.values ?? []).every((value) => values.has(value))
  );
}
