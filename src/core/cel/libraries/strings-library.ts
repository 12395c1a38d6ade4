/** cel.lib.ext.strings version 2 (version 0 before Kubernetes 1.29): functions on texts, in code points. */
import { FunctionError } from "./limits.ts";
import { declare, free, intOf, listOf, member, textOf, types } from "./library.ts";
import type { Library, LibraryOverload, LibraryType } from "./library.ts";
import { itemsOf } from "./lists-library.ts";
import { formatText } from "./string-format.ts";
import {
  charAt,
  indexOfText,
  joinTexts,
  lastIndexOfText,
  lowerAscii,
  quoteText,
  replaceText,
  splitText,
  substringOf,
  trimText,
  upperAscii,
} from "./text-functions.ts";
import { listValue, printValue } from "./values.ts";
import type { Value } from "./values.ts";

const { string, int } = types;

function onText(id: string, change: (text: string) => string): LibraryOverload {
  return member(id, [string], string, (text) => change(textOf(text)));
}

export const stringsLibrary: Library = {
  name: "cel.lib.ext.strings",
  since: 0,
  functions: [
    declare(
      "charAt",
      member("string_char_at_int", [string, int], string, (text, index) =>
        charAt(textOf(text), intOf(index)),
      ),
    ),
    declare(
      "indexOf",
      member("string_index_of_string", [string, string], int, (text, part) =>
        indexOfText(textOf(text), textOf(part), 0n),
      ),
      member("string_index_of_string_int", [string, string, int], int, (text, part, offset) =>
        indexOfText(textOf(text), textOf(part), intOf(offset)),
      ),
    ),
    declare(
      "lastIndexOf",
      member("string_last_index_of_string", [string, string], int, (text, part) =>
        lastIndexOfText(textOf(text), textOf(part)),
      ),
      member("string_last_index_of_string_int", [string, string, int], int, (text, part, offset) =>
        lastIndexOfText(textOf(text), textOf(part), intOf(offset)),
      ),
    ),
    declare("lowerAscii", onText("string_lower_ascii", lowerAscii)),
    declare("upperAscii", onText("string_upper_ascii", upperAscii)),
    declare("trim", onText("string_trim", trimText)),
    declare("replace", ...replaceOverloads()),
    declare("split", ...splitOverloads()),
    declare(
      "substring",
      member("string_substring_int", [string, int], string, (text, start) =>
        substringOf(textOf(text), intOf(start)),
      ),
      member("string_substring_int_int", [string, int, int], string, (text, start, end) =>
        substringOf(textOf(text), intOf(start), intOf(end)),
      ),
    ),
    declare(
      "join",
      member("list_join", [listOf(string)], string, (list) => join(list, "")),
      member("list_join_string", [listOf(string), string], string, (list, separator) =>
        join(list, textOf(separator)),
      ),
    ),
    declare(
      "format",
      member("string_format", [string, listOf(types.dyn)], string, (text, args) =>
        formatText(textOf(text), itemsOf(args)),
      ),
    ),
    declare(
      "strings.quote",
      free("strings_quote", [string], string, (text) => quoteText(textOf(text))),
    ),
  ],
};

function replaceOverloads(): LibraryOverload[] {
  const args: readonly LibraryType[] = [string, string, string];
  const replace = (text?: Value, old?: Value, by?: Value, limit: Value = -1n): Value =>
    replaceText(textOf(text), textOf(old), textOf(by), intOf(limit));
  return [
    member("string_replace_string_string", args, string, replace),
    member("string_replace_string_string_int", [...args, int], string, replace),
  ];
}

function splitOverloads(): LibraryOverload[] {
  const split = (text?: Value, separator?: Value, limit: Value = -1n): Value =>
    listValue(splitText(textOf(text), textOf(separator), intOf(limit)));
  return [
    member("string_split_string", [string, string], listOf(string), split),
    member("string_split_string_int", [string, string, int], listOf(string), split),
  ];
}

function join(list: Value | undefined, separator: string): string {
  const texts = itemsOf(list).map((item) => {
    if (typeof item === "string") return item;
    throw new FunctionError(`join: invalid input: ${printValue(item)}`);
  });
  return joinTexts(texts, separator);
}
