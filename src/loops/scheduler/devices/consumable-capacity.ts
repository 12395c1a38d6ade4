/**
 * Consumable capacity: computes the share of a device's capacity that a request takes, by the device's policy. Amounts
 * are in billionths.
 *
 * After  k8s.io/dynamic-resource-allocation/structured/internal/incubating/consumable_capacity.go.
 */
import type {
  CapacityRequestPolicy,
  CapacityRequestPolicyRange,
  CapacityRequirements,
  Device,
  DeviceCapacity,
} from "#api/gen/types.ts";
import { ownEntry } from "#base/own.ts";
import { formatQuantity, parseQuantity } from "#api/values/quantity.ts";

export type Amounts = ReadonlyMap<string, bigint>;
type Requests = CapacityRequirements["requests"];

const unit = 1_000_000_000n;
const parsed = new Map<string, bigint>();
/** Maximum number of parsed texts kept: a cluster has few different ones, an attacker can send many. */
const parsedMax = 4_096;

export function nanosOf(text: string): bigint {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const { nanos } = parseQuantity(text);
  if (parsed.size >= parsedMax) parsed.clear();
  parsed.set(text, nanos);
  return nanos;
}

export function textOfNanos(nanos: bigint): string {
  return formatQuantity({ nanos, format: "BinarySI" });
}

/** Returns the amount that the request consumes of each capacity. Undefined: the device's policy or size forbids it. */
export function consumption(
  { capacity = {} }: Device,
  requests: Requests = {},
  used: Amounts = nothing,
): Amounts | undefined {
  for (const name of Object.keys(requests)) {
    if (ownEntry(capacity, name) === undefined) return undefined;
  }
  const taken = new Map<string, bigint>();
  for (const [name, each] of Object.entries(capacity)) {
    const amount = amountFor(ownEntry(requests, name), each);
    if (violates(amount, each.requestPolicy)) return undefined;
    if ((used.get(name) ?? 0n) + amount > nanosOf(each.value)) return undefined;
    taken.set(name, amount);
  }
  return taken;
}

const nothing: Amounts = new Map();

function amountFor(requested: string | undefined, capacity: DeviceCapacity): bigint {
  const policy = capacity.requestPolicy;
  if (requested === undefined) return nanosOf(policy?.default ?? capacity.value);
  const wanted = nanosOf(requested);
  if (policy?.validRange !== undefined) return roundUp(wanted, policy.validRange);
  if (policy?.validValues === undefined) return wanted;
  return policy.validValues.map(nanosOf).find((valid) => wanted <= valid) ?? wanted;
}

function roundUp(wanted: bigint, { min, step }: CapacityRequestPolicyRange): bigint {
  const least = nanosOf(min);
  if (wanted < least) return least;
  if (step === undefined) return wanted;
  const [base, each] = [whole(least), whole(nanosOf(step))];
  const above = whole(wanted) - base;
  const steps = above / each + (above % each === 0n ? 0n : 1n);
  return (base + each * steps) * unit;
}

/** Rounds up to whole units, as upstream's Quantity.Value does. */
function whole(nanos: bigint): bigint {
  return nanos / unit + (nanos % unit > 0n ? 1n : 0n);
}

function violates(amount: bigint, policy: CapacityRequestPolicy | undefined): boolean {
  if (policy === undefined) return false;
  if (policy.default !== undefined && nanosOf(policy.default) === amount) return false;
  if (policy.validRange !== undefined) return isOutside(amount, policy.validRange);
  const valid = policy.validValues ?? [];
  return valid.length > 0 && !valid.some((one) => nanosOf(one) === amount);
}

function isOutside(amount: bigint, { max, min, step }: CapacityRequestPolicyRange): boolean {
  if (max !== undefined && amount > nanosOf(max)) return true;
  if (step === undefined) return false;
  return (whole(amount) - whole(nanosOf(min))) % whole(nanosOf(step)) !== 0n;
}
