/**
 * The check of a constant format against a literal list of arguments, made when an expression is
 * compiled: upstream's validator `cel.validator.string_format`, with its texts.
 */
import { FunctionError } from "./limits.ts";
import type { LibraryType } from "./library.ts";
import { parseVerb } from "./string-format.ts";

/** An argument as known to the checker; literal lists and maps have parts. */
export interface FormatArgument {
  readonly type: LibraryType;
  /** Elements of a literal list, keys and values of a literal map. */
  readonly parts: readonly FormatArgument[];
}

interface FormatFault {
  readonly message: string;
  /** The argument, or part of one, with the error; absent: the call. */
  readonly at?: FormatArgument;
}

const integers = ["int", "uint"];
/** Strings are accepted because of "NaN", "Infinity" and "-Infinity". */
const floats = ["double", "string"];
const printable = [
  "list",
  "map",
  "double",
  "bool",
  "string",
  "google.protobuf.Timestamp",
  "bytes",
  "google.protobuf.Duration",
  "type",
  "null_type",
  ...integers,
];

interface VerbRule {
  readonly accepted: readonly string[];
  readonly refusal: string;
}

const hex: VerbRule = {
  accepted: ["string", "bytes", ...integers],
  refusal: "only integers, byte buffers, and strings can be formatted as hex",
};
const rules: ReadonlyMap<string, VerbRule> = new Map([
  [
    "s",
    {
      accepted: printable,
      refusal:
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
    },
  ],
  ["d", { accepted: integers, refusal: "decimal clause can only be used on integers" }],
  ["f", { accepted: floats, refusal: "fixed-point clause can only be used on doubles" }],
  ["e", { accepted: floats, refusal: "scientific clause can only be used on doubles" }],
  [
    "b",
    {
      accepted: ["bool", ...integers],
      refusal: "only integers and bools can be formatted as binary",
    },
  ],
  ["o", { accepted: integers, refusal: "octal clause can only be used on integers" }],
  ["x", hex],
  ["X", hex],
]);

/** The first fault, or undefined. */
export function checkFormat(
  format: string,
  args: readonly FormatArgument[],
): FormatFault | undefined {
  let index = 0;
  for (let at = format.indexOf("%"); at >= 0; at = format.indexOf("%", at)) {
    if (format.startsWith("%%", at)) {
      at += 2;
      continue;
    }
    const argument = args[index];
    if (at + 1 >= format.length) {
      // Upstream's checker provides every argument, so the end of the format is noticed first.
      return { message: "unexpected end of string" };
    }
    if (argument === undefined) return { message: `index ${index} out of range` };
    const clause = readVerb(format, at + 1);
    if ("message" in clause) return clause;
    const fault = checkArgument(clause.verb, argument);
    if (fault !== undefined) return fault;
    at = clause.end;
    index += 1;
  }
  if (index === args.length) return undefined;
  const counts = `(expected ${index}, got ${args.length})`;
  return { message: `too many arguments supplied to string.format ${counts}` };
}

function readVerb(format: string, at: number): ReturnType<typeof parseVerb> | FormatFault {
  try {
    return parseVerb(format, at);
  } catch (error) {
    if (error instanceof FunctionError) return { message: error.message };
    throw error;
  }
}

function checkArgument(verb: string, argument: FormatArgument): FormatFault | undefined {
  const rule = rules.get(verb);
  const bad = rule && findUnaccepted(rule, argument, verb === "s");
  if (bad === undefined) return undefined;
  const message = `error during formatting: ${rule?.refusal}, was given ${bad.type.name}`;
  return { message, at: bad };
}

/** `%s` checks the elements of literal lists and maps. */
function findUnaccepted(
  rule: VerbRule,
  argument: FormatArgument,
  isDeep: boolean,
): FormatArgument | undefined {
  const { name, isParameter } = argument.type;
  if (name !== "dyn" && !isParameter && !rule.accepted.includes(name)) return argument;
  if (!isDeep) return undefined;
  for (const part of argument.parts) {
    const bad = findUnaccepted(rule, part, true);
    if (bad !== undefined) return bad;
  }
  return undefined;
}
