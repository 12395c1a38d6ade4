/** Faults that upstream's checker finds in a constant format, with its texts. */
import { deepEqual } from "node:assert/strict";
import { describe, it } from "node:test";
import { checkFormat } from "./format-check.ts";
import type { FormatArgument } from "./format-check.ts";
import { listOf, types } from "./library.ts";
import type { LibraryType } from "./library.ts";

function argument(type: LibraryType, ...parts: readonly FormatArgument[]): FormatArgument {
  return { type, parts };
}

const int = argument(types.int);
const double = argument(types.double);
const string = argument(types.string);
const quantity = argument(types.quantity);
const formatting = "error during formatting: ";
const parsing = "could not parse formatting clause: ";
const strings =
  "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps";

const cases: readonly [string, readonly FormatArgument[], string | undefined, FormatArgument?][] = [
  ["%s %d%%", [int, int], undefined],
  ["%f", [string], undefined],
  ["%d", [argument(types.dyn)], undefined],
  ["%s", [argument(listOf(types.int))], undefined],
  ["%", [], "unexpected end of string"],
  ["%s %", [int], "unexpected end of string"],
  ["%s %s", [int], "index 1 out of range"],
  ["%s", [int, int], "too many arguments supplied to string.format (expected 1, got 2)"],
  ["no", [int], "too many arguments supplied to string.format (expected 0, got 1)"],
  ["%y", [], "index 0 out of range"],
  ["%y", [int], `${parsing}unrecognized formatting clause "y"`],
  [
    "%.y",
    [int],
    `${parsing}error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax`,
  ],
  [
    "%.3",
    [int],
    `${parsing}error while parsing precision: could not find end of precision specifier`,
  ],
  [
    "%d",
    [string],
    `${formatting}decimal clause can only be used on integers, was given string`,
    string,
  ],
  ["%f", [int], `${formatting}fixed-point clause can only be used on doubles, was given int`, int],
  ["%e", [int], `${formatting}scientific clause can only be used on doubles, was given int`, int],
  [
    "%x",
    [double],
    `${formatting}only integers, byte buffers, and strings can be formatted as hex, was given double`,
    double,
  ],
  [
    "%o",
    [double],
    `${formatting}octal clause can only be used on integers, was given double`,
    double,
  ],
  [
    "%b",
    [string],
    `${formatting}only integers and bools can be formatted as binary, was given string`,
    string,
  ],
  ["%s", [quantity], `${formatting}${strings}, was given kubernetes.Quantity`, quantity],
  [
    "%s",
    [argument(listOf(types.dyn), int, quantity)],
    `${formatting}${strings}, was given kubernetes.Quantity`,
    quantity,
  ],
];

describe("a constant format is checked when its expression is compiled", () => {
  for (const [format, args, message, at] of cases) {
    const names = args.map(({ type }) => type.name).join(", ");
    it(`${JSON.stringify(format)} with (${names}) ${message === undefined ? "is fine" : "is refused"}`, () => {
      const expected = message === undefined ? undefined : { message, ...(at && { at }) };
      deepEqual(checkFormat(format, args), expected);
    });
  }
});
