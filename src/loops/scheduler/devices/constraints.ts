/**
 * Constraints between the devices of one claim: all have the same value of an attribute, or each has a different value.
 * A device without the attribute satisfies neither.
 */
import type { DeviceAttribute, DeviceConstraint } from "#api/gen/types.ts";
import { ownEntry } from "#base/own.ts";
import type { PoolDevice } from "./pools.ts";
import { AllocationError, type Alternative } from "./requests.ts";

export class Constraint {
  readonly isMatch: boolean;
  readonly #attribute: string;
  readonly #requests: ReadonlySet<string>;
  /** Attribute values of the devices taken so far, in the order in which they were taken. */
  readonly #values: string[] = [];

  /** `where`: prefix of error messages, such as `claim a/b, constraint #0`. */
  constructor({ matchAttribute, distinctAttribute, requests }: DeviceConstraint, where: string) {
    const attribute = matchAttribute ?? distinctAttribute;
    if (attribute === undefined) {
      throw new AllocationError(`${where}: empty constraint (unsupported constraint type?)`);
    }
    this.isMatch = matchAttribute !== undefined;
    this.#attribute = attribute;
    this.#requests = new Set(requests ?? []);
  }

  appliesTo({ base, name }: Alternative): boolean {
    return this.#requests.size === 0 || this.#requests.has(base) || this.#requests.has(name);
  }

  /** Returns the attribute as text; equal texts are equal values. Undefined: the device lacks the attribute. */
  valueOf(device: PoolDevice): string | undefined {
    return valueText(attributeOf(device, this.#attribute));
  }

  /** @returns false, and does not record the device, when it conflicts with the devices taken before. */
  add(device: PoolDevice): boolean {
    const value = this.valueOf(device);
    if (value === undefined) return false;
    const [first] = this.#values;
    const fits = this.isMatch ? (first ?? value) === value : !this.#values.includes(value);
    if (fits) this.#values.push(value);
    return fits;
  }

  removeLast(): void {
    this.#values.pop();
  }
}

/** Returns an attribute. A name without a domain belongs to the domain of the device's driver. */
function attributeOf({ device, pool }: PoolDevice, name: string): DeviceAttribute | undefined {
  const attributes = device.attributes ?? {};
  const whole = ownEntry(attributes, name);
  if (whole !== undefined) return whole;
  const at = name.indexOf("/");
  if (at < 0 || name.slice(0, at) !== pool.driver) return undefined;
  return ownEntry(attributes, name.slice(at + 1));
}

function valueText(attribute: DeviceAttribute | undefined): string | undefined {
  if (attribute?.string !== undefined) return `s${attribute.string}`;
  if (attribute?.int !== undefined) return `i${attribute.int}`;
  if (attribute?.bool !== undefined) return `b${attribute.bool}`;
  return attribute?.version === undefined ? undefined : `v${attribute.version}`;
}
