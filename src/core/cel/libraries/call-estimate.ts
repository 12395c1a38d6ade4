/**
 * What a call may cost, from the sizes that its arguments may have: upstream's library/cost.go and the
 * estimators of cel-go's list and set extensions, to the unit. A changed estimate would make stored rules
 * too expensive, so upstream's oddities stay (a negative slice, the separators of an empty list).
 *
 * The costs of the arguments themselves are the caller's to add. Undefined: the language's rule holds.
 */
import { ownEntry } from "#base/own.ts";
import { accessCheckCost, characterCost, listCost, patternCost } from "./call-cost.ts";
import {
  addRanges,
  fixedRange,
  multiplyRanges,
  scaleRange,
  uniteRanges,
  unknownRange,
  unlimited,
} from "./cost-range.ts";
import type { Range } from "./cost-range.ts";
import type { LibraryType } from "./library.ts";
import { types } from "./library.ts";
import type { Value } from "./values.ts";

/** An expression in the form used for estimates. */
export interface EstimateNode {
  readonly type: LibraryType;
  /** Path from a variable; `@items` stands for an element. Absent: the value comes from a function. */
  readonly path?: readonly string[];
  /** Size known from the expression itself. */
  readonly size?: Range;
  readonly literal?: Value;
}

interface CallEstimate {
  readonly cost: Range;
  /** Absent: unknown. */
  readonly resultSize?: Range;
}

/** Returns the sizes declared in schemas. */
export type EstimateSize = (node: EstimateNode) => Range | undefined;

interface Call {
  readonly overload: string;
  /** Absent for a function that is not a member. */
  readonly target: EstimateNode | undefined;
  /** Arguments without the target. */
  readonly args: readonly EstimateNode[];
  readonly sizeOf: (node: EstimateNode) => Range;
}

type Estimate = (call: Call) => CallEstimate | undefined;

const one: Estimate = () => ({ cost: fixedRange(1) });

/** Assumed maximum length of the pattern of a named format. */
const formatPatternMax = 128;
const formatNameMax = 64;
/** Addresses have 4 or 16 bytes. */
const addressSize: Range = { min: 4, max: 16 };

/** `factor` per tenth of the first argument's characters. */
function reading(factor: number): Estimate {
  return ({ args: [text], sizeOf }) => text && { cost: scaleRange(sizeOf(text), factor) };
}

/** Like `reading`, with a result of the same size. */
const converting: Estimate = ({ args, sizeOf }) => {
  const [text] = args;
  if (text === undefined || args.length !== 1) return undefined;
  return { cost: scaleRange(sizeOf(text), characterCost), resultSize: sizeOf(text) };
};

const changing: Estimate = ({ target, sizeOf }) =>
  target && { cost: scaleRange(sizeOf(target), characterCost), resultSize: sizeOf(target) };

const byFunction: Readonly<Record<string, Estimate>> = {
  check: () => ({ cost: fixedRange(accessCheckCost) }),
  ...named(
    ["serviceAccount", "path", "group", "resource", "subresource", "namespace", "name"],
    one,
  ),
  ...named(["allowed", "reason", "error", "errored"], one),
  ...named(["fieldSelector", "labelSelector"], selector),
  ...named(["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"], traversal),
  ...named(["url", "jsonpatch.escapeKey"], converting),
  ...named(["lowerAscii", "upperAscii", "substring", "trim"], changing),
  replace,
  split,
  join,
  ...named(["find", "findAll"], matching),
  ...named(["cidr", "isIP", "isCIDR"], reading(characterCost)),
  ip: (call) => (call.overload === "cidr_ip" ? one(call) : reading(characterCost)(call)),
  "ip.isCanonical": reading(2 * characterCost),
  ...named(["masked", "prefixLength", "family", "isUnspecified", "isLoopback"], one),
  ...named(["isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast"], one),
  containsIP: (call) => containing(call, "cidr_contains_ip_string", fixedRange(0)),
  containsCIDR: (call) => {
    const masking = addRanges(scaleRange(addressSize, characterCost), fixedRange(1));
    return containing(call, "cidr_contains_cidr_string", masking);
  },
  ...named(["quantity", "isQuantity", "semver", "isSemver"], reading(characterCost)),
  validate: ({ args: [text], sizeOf }) =>
    text && {
      cost: scaleRange(scaleRange(sizeOf(text), characterCost), formatPatternMax * patternCost),
    },
  "format.named": one,
  ...named(["sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan"], one),
  ...named(["isLessThan", "compareTo", "add", "sub", "major", "minor", "patch"], one),
  ...named(["getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery"], one),
  "_==_": equality,
};

const byOverload: Readonly<Record<string, Estimate>> = {
  list_slice: ({ target, args, sizeOf }) => {
    const [start, end] = args;
    if (target === undefined || start === undefined || end === undefined) return undefined;
    const size = intLiteral(end, sizeOf(target).max) - intLiteral(start, 0);
    return allocation(1, fixedRange(size < 0 ? unlimited : size));
  },
  list_flatten: flattening,
  list_flatten_int: flattening,
  lists_range: ({ args: [end] }) => end && allocation(1, fixedRange(intLiteral(end, unlimited))),
  list_reverse: ({ target, sizeOf }) => target && allocation(1, sizeOf(target)),
  list_distinct: ({ target, sizeOf }) =>
    target && allocation(2, multiplyRanges(sizeOf(target), sizeOf(target))),
  list_sets_contains_list: sets(1),
  list_sets_intersects_list: sets(1),
  list_sets_equivalent_list: sets(2),
};

function named(names: readonly string[], estimate: Estimate): Record<string, Estimate> {
  return Object.fromEntries(names.map((name) => [name, estimate]));
}

export function estimateCall(
  name: string,
  overload: string,
  target: EstimateNode | undefined,
  args: readonly EstimateNode[],
  estimateSize: EstimateSize,
): CallEstimate | undefined {
  const sizeOf = (node: EstimateNode): Range => node.size ?? estimateSize(node) ?? unknownRange;
  const call = { overload, target, args, sizeOf };
  const sorted = /^list_(.+)_(sort|sortByAssociatedKeys)$/.exec(overload);
  if (sorted !== null) return sorting(call, sorted[1] ?? "", sorted[2] === "sort");
  return (ownEntry(byOverload, overload) ?? ownEntry(byFunction, name))?.(call);
}

function selector({ args, sizeOf }: Call): CallEstimate | undefined {
  const [text] = args;
  if (text === undefined || args.length !== 1) return undefined;
  const size = sizeOf(text);
  const requirements = scaleRange(scaleRange(size, 0.5), 50);
  return {
    cost: addRanges(addRanges(fixedRange(listCost), scaleRange(size, characterCost)), requirements),
  };
}

function elementOf(node: EstimateNode): EstimateNode | undefined {
  const [type] = node.type.parameters;
  if (type === undefined) return undefined;
  return node.path === undefined ? { type } : { type, path: [...node.path, "@items"] };
}

/** Visits the elements of a list, or the characters of a text (indexOf). */
function traversal({ target, sizeOf }: Call): CallEstimate | undefined {
  if (target === undefined) return undefined;
  const element = elementOf(target);
  if (element === undefined) return { cost: scaleRange(sizeOf(target), characterCost) };
  const isText = element.type.name === "string" || element.type.name === "bytes";
  const reading = isText ? scaleRange(sizeOf(element), characterCost) : fixedRange(0);
  return { cost: multiplyRanges(sizeOf(target), addRanges(fixedRange(1), reading)) };
}

function replace({ target, args, sizeOf }: Call): CallEstimate | undefined {
  const [old, by] = args;
  if (target === undefined || old === undefined || by === undefined) return undefined;
  const size = sizeOf(target);
  return {
    cost: scaleRange(size, 2 * characterCost),
    resultSize: replacedSize(size, sizeOf(old), sizeOf(by)),
  };
}

function replacedSize(text: Range, old: Range, by: Range): Range {
  const most =
    old.min === 0
      ? { count: Math.min(text.max + 1, unlimited), kept: text.max }
      : by.max <= old.min
        ? { count: 0, kept: text.max }
        : { count: Math.ceil(text.max / old.min), kept: 0 };
  const least =
    old.max === 0
      ? { count: Math.min(text.min + 1, unlimited), kept: text.min }
      : old.max <= by.min
        ? { count: 0, kept: text.min }
        : { count: Math.ceil(text.min / old.max), kept: 0 };
  return addRanges(multiplyRanges({ min: least.count, max: most.count }, by), {
    min: least.kept,
    max: most.kept,
  });
}

function split({ target, args, sizeOf }: Call): CallEstimate | undefined {
  if (target === undefined) return undefined;
  const size = sizeOf(target);
  const limit = args[1]?.literal;
  const parts = typeof limit === "bigint" ? Number(BigInt.asUintN(64, limit)) : size.max;
  return { cost: scaleRange(size, 2 * characterCost), resultSize: { min: 0, max: parts } };
}

function join({ target, args: [separator], sizeOf }: Call): CallEstimate | undefined {
  if (target === undefined) return undefined;
  const count = sizeOf(target);
  const element = elementOf(target);
  let size = element === undefined ? fixedRange(0) : multiplyRanges(count, sizeOf(element));
  if (separator !== undefined) {
    const between = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) };
    size = addRanges(size, multiplyRanges(sizeOf(separator), between));
  }
  return { cost: scaleRange(size, characterCost), resultSize: size };
}

function matching({ target, args: [pattern], sizeOf }: Call): CallEstimate | undefined {
  if (target === undefined || pattern === undefined) return undefined;
  const size = sizeOf(target);
  const text = scaleRange(addRanges(size, fixedRange(1)), characterCost);
  return {
    cost: multiplyRanges(text, scaleRange(sizeOf(pattern), patternCost)),
    resultSize: { min: 0, max: size.max },
  };
}

function containing(call: Call, parsing: string, masking: Range): CallEstimate | undefined {
  const [other] = call.args;
  if (other === undefined) return undefined;
  const compared = scaleRange(addRanges(addressSize, addressSize), characterCost);
  const parse =
    call.overload === parsing ? scaleRange(call.sizeOf(other), characterCost) : fixedRange(0);
  return { cost: addRanges(addRanges(compared, masking), parse) };
}

const unitTypes: ReadonlySet<string> = new Set([
  types.ip.name,
  types.cidr.name,
  types.quantity.name,
  types.semver.name,
  types.authorizer.name,
  types.pathCheck.name,
  types.groupCheck.name,
  types.resourceCheck.name,
  types.decision.name,
]);

function equality({ args: [left, right] }: Call): CallEstimate | undefined {
  if (left === undefined || right === undefined) return undefined;
  if (left.type.name !== right.type.name) return undefined;
  if (unitTypes.has(left.type.name)) return { cost: fixedRange(1) };
  if (left.type.name === types.format.name) {
    return { cost: scaleRange({ min: 1, max: formatNameMax }, characterCost) };
  }
  if (left.type.name !== types.url.name) return undefined;
  // Upstream uses the right side twice.
  const size = right.size === undefined ? fixedRange(1) : uniteRanges(right.size, right.size);
  return { cost: scaleRange({ min: 1, max: size.max }, characterCost) };
}

function flattening({ target, args: [depth], sizeOf }: Call): CallEstimate | undefined {
  if (target === undefined) return undefined;
  return allocation(depth === undefined ? 1 : intLiteral(depth, unlimited), sizeOf(target));
}

/** Assumes that sorting compares each element with each; sortBy uses the size of its list of keys. */
function sorting(call: Call, element: string, isOwn: boolean): CallEstimate | undefined {
  const keys = isOwn ? call.target : call.args[0];
  if (call.target === undefined || keys === undefined) return undefined;
  const size = call.sizeOf(keys);
  const isText = element === "string" || element === "bytes";
  return allocation(isText ? 2 + characterCost : 2, multiplyRanges(size, size));
}

function sets(factor: number): Estimate {
  return ({ args: [a, b], sizeOf }) => {
    if (a === undefined || b === undefined) return undefined;
    const compared = scaleRange(multiplyRanges(sizeOf(a), sizeOf(b)), factor);
    return { cost: addRanges(compared, fixedRange(1)) };
  };
}

function allocation(factor: number, size: Range): CallEstimate {
  return { cost: addRanges(scaleRange(size, factor), fixedRange(1 + listCost)), resultSize: size };
}

/** The value of a non-negative int literal; otherwise `otherwise`. */
function intLiteral(node: EstimateNode, otherwise: number): number {
  const { literal } = node;
  if (typeof literal !== "bigint") return otherwise;
  return literal < 0n ? 0 : Number(literal);
}
