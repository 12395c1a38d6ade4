/**
 * Selectors of devices: expressions over `device.driver`, `device.attributes["domain"].name`,
 * `device.capacity["domain"].name` and `device.allowMultipleAllocations`.
 *
 * Holds  an expression is compiled once while it is in use, and evaluated once per published version of a device.
 * Bounds `expressionsMax` expressions; the least recently used are removed with all their answers. `costMax` units per
 *        answer, as upstream's CELSelectorExpressionMaxCost.
 * After  k8s.io/dynamic-resource-allocation/cel/compile.go. DRAListTypeAttributes is off in 1.36.
 */
import type { Device, DeviceAttribute } from "#api/gen/types.ts";
import { Environment, type Program } from "#cel/environment.ts";
import { mapOf, types } from "#cel/libraries/library.ts";
import { quantityOfText } from "#cel/libraries/quantity-library.ts";
import { semverOfText } from "#cel/libraries/semver-library.ts";
import { MapValue, typeName, type Value } from "#cel/libraries/values.ts";
import { MadeObject } from "#cel/object-value.ts";
import { isDyn, objectType, type Type } from "#cel/type.ts";

const expressionsMax = 512;
const costMax = 1_000_000;
/** CEL cost of a compilation, per expression and per character; roughly proportional to its time. */
const compileCost = { each: 1_000, character: 50 };

export type Charge = (cost: number) => void;

type SelectorAnswer =
  | { readonly kind: "answer"; readonly matches: boolean }
  /** `compile`: the expression is wrong. `runtime`: its evaluation on this device failed. */
  | { readonly kind: "error"; readonly step: "compile" | "runtime"; readonly message: string };

const anyType = objectType("google.protobuf.Any");
const deviceType = objectType("kubernetes.DRADevice");
const fields: ReadonlyMap<string, Type> = new Map([
  ["driver", types.string],
  ["allowMultipleAllocations", types.bool],
  ["attributes", mapOf(types.string, mapOf(types.string, anyType))],
  ["capacity", mapOf(types.string, mapOf(types.string, types.quantity))],
]);
const environment = new Environment({
  variables: new Map([["device", deviceType]]),
  types: {
    find: (name) =>
      name === deviceType.name
        ? { type: deviceType, field: (field) => fields.get(field) }
        : undefined,
  },
});

/** Returns an empty map for a domain without attributes of the device; `in` still tells the two cases apart. */
class Domains extends MapValue {
  override get(key: Value): Value {
    return super.get(key) ?? none;
  }

  override has(key: Value): boolean {
    return super.get(key) !== undefined;
  }
}
const none = new MapValue([]);

interface Selector {
  readonly program: Program | undefined;
  readonly error: SelectorAnswer | undefined;
  readonly answers: WeakMap<Device, SelectorAnswer>;
}

export class DeviceSelectors {
  /** In order of use: the first selector is the least recently used one. */
  readonly #selectors = new Map<string, Selector>();
  readonly #values = new WeakMap<Device, Value>();

  /**
   * Evaluates the expression on a device. A device object has one driver: its slice's. `charge` receives the CEL cost
   * of new compilations and evaluations after their results are kept. It may throw: the next call continues from there.
   */
  ask(expression: string, driver: string, device: Device, charge: Charge): SelectorAnswer {
    const { program, error, answers } = this.#selectorOf(expression, charge);
    if (program === undefined) return error ?? answerOf(false);
    const known = answers.get(device);
    if (known !== undefined) return known;
    let cost = 0;
    const answer = this.#evaluate(program, driver, device, (spent) => (cost = spent));
    answers.set(device, answer);
    charge(cost);
    return answer;
  }

  #evaluate(program: Program, driver: string, device: Device, spend: Charge): SelectorAnswer {
    try {
      const value = this.#valueOf(driver, device);
      const outcome = program.evaluate(new Map([["device", value]]), costMax);
      spend(outcome.cost);
      if (outcome.kind === "error") return runtimeError(outcome.message);
      if (typeof outcome.value === "boolean") return answerOf(outcome.value);
      const kind = typeName(outcome.value);
      const why = `type conversion error from '${kind}' to 'bool'`;
      return runtimeError(`CEL result of type ${kind} could not be converted to bool: ${why}`);
    } catch (error) {
      // Older servers let drivers write versions and quantities that do not parse.
      return runtimeError(error instanceof Error ? error.message : String(error));
    }
  }

  #valueOf(driver: string, device: Device): Value {
    const known = this.#values.get(device);
    if (known !== undefined) return known;
    const made = deviceValue(driver, device);
    this.#values.set(device, made);
    return made;
  }

  #selectorOf(expression: string, charge: Charge): Selector {
    const known = this.#selectors.get(expression);
    const selector = known ?? compile(expression);
    this.#selectors.delete(expression);
    this.#selectors.set(expression, selector);
    for (const oldest of this.#selectors.keys()) {
      if (this.#selectors.size <= expressionsMax) break;
      this.#selectors.delete(oldest);
    }
    if (known === undefined) charge(compileCost.each + expression.length * compileCost.character);
    return selector;
  }
}

function compile(expression: string): Selector {
  const answers = new WeakMap<Device, SelectorAnswer>();
  const failed = (message: string): Selector => {
    const error: SelectorAnswer = { kind: "error", step: "compile", message };
    return { program: undefined, error, answers };
  };
  const compiled = environment.compile(expression);
  if (compiled.kind === "errors") return failed(compiled.message);
  const { program } = compiled;
  if (program.type.name !== "bool" && !isDyn(program.type)) {
    return failed(`must evaluate to bool or the unknown type, not ${program.type.name}`);
  }
  return { program, error: undefined, answers };
}

function answerOf(matches: boolean): SelectorAnswer {
  return { kind: "answer", matches };
}

function runtimeError(message: string): SelectorAnswer {
  return { kind: "error", step: "runtime", message };
}

function deviceValue(driver: string, device: Device): Value {
  const attributes = byDomain(driver, device.attributes, attributeValue);
  const capacity = byDomain(driver, device.capacity, ({ value }) => quantityOfText(value));
  const isShared = device.allowMultipleAllocations ?? false;
  const made: readonly (readonly [string, Value])[] = [
    ["driver", driver],
    ["allowMultipleAllocations", isShared],
    ["attributes", attributes],
    ["capacity", capacity],
  ];
  return new MadeObject(deviceType.name, new Map(made));
}

function byDomain<T>(
  driver: string,
  table: Readonly<Record<string, T>> = {},
  valueOf: (entry: T, name: string) => Value,
): Value {
  const domains = new Map<string, [Value, Value][]>();
  for (const [name, entry] of Object.entries(table)) {
    const at = name.indexOf("/");
    const domain = at < 0 ? driver : name.slice(0, at);
    const entries = domains.get(domain) ?? [];
    entries.push([name.slice(at + 1), valueOf(entry, name)]);
    domains.set(domain, entries);
  }
  return new Domains([...domains].map(([domain, entries]) => [domain, new MapValue(entries)]));
}

function attributeValue(attribute: DeviceAttribute, name: string): Value {
  if (attribute.int !== undefined) return BigInt(attribute.int);
  if (attribute.bool !== undefined) return attribute.bool;
  if (attribute.string !== undefined) return attribute.string;
  if (attribute.version !== undefined) return semverOfText(attribute.version);
  throw new Error(`attribute ${name}: unsupported attribute value`);
}
