/**
 * The JSON value that a tree of YAML nodes stands for, as sigs.k8s.io/yaml makes it of what go-yaml v2 reads: keys are
 * texts; the last of equal keys wins, and each repetition is reported.
 *
 * Bounds  values, characters that aliases repeat, and uses of anchors: an alias makes much of few bytes.
 */
import { YamlFault } from "./cursor.ts";
import { goScalar, goValue } from "./go-syntax.ts";
import type { AliasNode, MappingNode, ScalarNode, YamlNode } from "./parser.ts";
import { isFloat, isMergeKey, resolveScalar, type ScalarValue } from "./resolve.ts";

interface ComposeOptions {
  /** True: map keys are sorted, as upstream passes them on; false: in the order of the text. */
  readonly areKeysSorted: boolean;
  readonly aliasMax: number;
  readonly valuesMax: number;
  /** Maximum total length of all texts below aliases. */
  readonly aliasedLengthMax: number;
}

export interface Composed {
  readonly value: unknown;
  /** `line 3: key "a" already set in map`, nested maps first. */
  readonly repeatedKeys: readonly string[];
}

/** The document has more values than allowed. */
export class TooManyValues extends Error {}

/** A value that JSON cannot represent. Its text has no `yaml: ` prefix, because the YAML is valid. */
export class UnsupportedValue extends Error {}

/** Maximum repeated keys reported. */
const repeatedKeysMax = 1000;

/** A key with its type, by which Go's maps distinguish keys. */
interface Key {
  readonly key: ScalarValue;
  readonly isFloat: boolean;
  readonly unsigned: bigint | undefined;
}

interface Member extends Key {
  readonly value: unknown;
}

export function compose(root: YamlNode | undefined, limits: ComposeOptions): Composed {
  if (root === undefined) return { value: null, repeatedKeys: [] };
  const composer = new Composer(limits);
  return { value: composer.value(root), repeatedKeys: composer.repeatedKeys };
}

class Composer {
  readonly repeatedKeys: string[] = [];
  readonly #limits: ComposeOptions;
  readonly #open = new Set<AliasNode>();
  #values = 0;
  #aliases = 0;
  #aliasedLength = 0;

  constructor(limits: ComposeOptions) {
    this.#limits = limits;
  }

  value(node: YamlNode): unknown {
    if (++this.#values > this.#limits.valuesMax) throw new TooManyValues();
    switch (node.kind) {
      case "scalar":
        return this.#scalar(node);
      case "list":
        return node.items.map((item) => this.value(item));
      case "mapping":
        return this.#mapping(node);
      case "alias":
        return this.#alias(node, (target) => this.value(target));
      default:
        return node satisfies never;
    }
  }

  #scalar(node: ScalarNode): ScalarValue {
    this.#count(node);
    const { value } = resolveScalar(node);
    if (typeof value !== "number" || Number.isFinite(value)) return value;
    const shown = Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
    throw new UnsupportedValue(`json: unsupported value: ${shown}`);
  }

  #count({ value }: ScalarNode): void {
    if (this.#open.size === 0) return;
    this.#aliasedLength += value.length;
    if (this.#aliasedLength > this.#limits.aliasedLengthMax) throw tooManyAliases();
  }

  #alias<T>(node: AliasNode, use: (target: YamlNode) => T): T {
    if (this.#open.has(node)) throw new YamlFault(`anchor '${node.name}' value contains itself`);
    if (++this.#aliases > this.#limits.aliasMax) throw tooManyAliases();
    this.#open.add(node);
    const value = use(node.target);
    this.#open.delete(node);
    return value;
  }

  #mapping(node: MappingNode): object {
    const members = new Map<string, Member>();
    this.#fill(node, members);
    const fields = [...members.values()].map((member) => [keyText(member), member.value] as const);
    // fromEntries defines own properties, so `__proto__` is an ordinary key.
    if (!this.#limits.areKeysSorted) return Object.fromEntries(fields);
    return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  }

  /** Adds members in the order of the text; merged ones replace earlier ones. */
  #fill(node: MappingNode, members: Map<string, Member>): void {
    for (const [key, value] of node.pairs) {
      if (key.kind === "scalar" && isMergeKey(key)) {
        this.#merge(value, members);
        continue;
      }
      const member = this.#key(key);
      this.#set(members, { ...member, value: this.value(value) }, value.line);
    }
  }

  #set(members: Map<string, Member>, member: Member, line: number): void {
    const { key, isFloat: float } = member;
    const id = `${float ? "float" : typeof key} ${String(key)}`;
    if (members.has(id) && this.repeatedKeys.length < repeatedKeysMax) {
      this.repeatedKeys.push(`line ${line + 1}: key ${goScalar(key)} already set in map`);
    }
    members.set(id, member);
  }

  #merge(node: YamlNode, members: Map<string, Member>): void {
    if (node.kind === "list") {
      // In reverse, so that earlier maps take precedence.
      for (const item of node.items.toReversed()) this.#mergeOne(item, members);
    } else this.#mergeOne(node, members);
  }

  #mergeOne(node: YamlNode, members: Map<string, Member>): void {
    if (++this.#values > this.#limits.valuesMax) throw new TooManyValues();
    const source = node.kind === "alias" ? node.target : node;
    if (source.kind !== "mapping") {
      throw new YamlFault("map merge requires map or sequence of maps as the value");
    }
    if (node.kind === "alias") this.#alias(node, () => this.#fill(source, members));
    else this.#fill(source, members);
  }

  #key(node: YamlNode): Key {
    if (node.kind === "alias") return this.#alias(node, (target) => this.#key(target));
    if (node.kind === "scalar") {
      this.#count(node);
      const resolved = resolveScalar(node);
      const { value: key, unsigned } = resolved;
      return { key, isFloat: isFloat(resolved), unsigned };
    }
    throw new YamlFault(`invalid map key: ${goValue(this.value(node))}`);
  }
}

function tooManyAliases(): YamlFault {
  return new YamlFault("document contains excessive aliasing");
}

/** The key as JSON text: numbers and booleans are written out, nothing else can be a key. */
function keyText({ key, isFloat: float, unsigned, value }: Member): string {
  if (key === null || unsigned !== undefined) {
    const type = unsigned === undefined ? "%!s(<nil>)" : "uint64";
    const shown = unsigned === undefined ? "<nil>" : `0x${unsigned.toString(16)}`;
    const what = `unsupported map key of type: ${type}, key: ${shown}`;
    throw new UnsupportedValue(`${what}, value: ${value === null ? "<nil>" : goValue(value)}`);
  }
  return float ? floatText(Number(key)) : String(key);
}

/** As Go prints a 32-bit float with `g`. */
function floatText(value: number): string {
  const single = Math.fround(value);
  if (Number.isNaN(single)) return ".nan";
  if (!Number.isFinite(single)) return single > 0 ? ".inf" : "-.inf";
  let digits = 1;
  while (digits < 9 && Math.fround(Number(single.toPrecision(digits))) !== single) digits++;
  const [mantissa = "", exponent = "0"] = single.toExponential(digits - 1).split("e");
  const power = Number(exponent);
  if (single === 0) return Object.is(single, -0) ? "-0" : "0";
  if (power >= -4 && power < 6) return String(Number(single.toPrecision(digits)));
  const size = String(Math.abs(power)).padStart(2, "0");
  return `${mantissa.replace(/\.?0+$/, "")}e${power < 0 ? "-" : "+"}${size}`;
}
