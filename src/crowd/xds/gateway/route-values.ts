/** Reads values of rules: headers, paths, durations. Throws MatchError for values that a proxy would refuse. */
import type { HeaderChanges, PathChange } from "../route-messages.ts";
import { fields, type Fields, list, text, texts } from "./fields.ts";
import { MatchError, readPath, readToken } from "./route-matches.ts";

const valueLengthMax = 4096;
const headersMax = 64;
/** RFC 9110, field values: visible characters, spaces, tabs. */
const fieldValue = /^[\t\x20-\x7e\x80-\uffff]*$/;

export function readHeaderChanges(modifier: Fields): HeaderChanges {
  const changes = {
    set: list(modifier["set"]).map(readHeader),
    add: list(modifier["add"]).map(readHeader),
    remove: texts(modifier["remove"]).map(readChangedName),
  };
  if (changes.set.length + changes.add.length + changes.remove.length > headersMax) {
    throw new MatchError(`more than ${headersMax} headers are changed`);
  }
  return changes;
}

function readHeader(header: Fields): readonly [string, string] {
  const value = text(header["value"]);
  if (value.length > valueLengthMax || !fieldValue.test(value)) {
    throw new MatchError("a header's value is not valid");
  }
  return [readChangedName(header["name"]), value];
}

/** Reads the name of a changed header; Envoy does not let a route change the host. */
function readChangedName(value: unknown): string {
  const name = readToken(value);
  if (name === "host")
    throw new MatchError("the header host cannot be changed: rewrite the hostname");
  return name;
}

export function readPathChange(value: unknown): PathChange | undefined {
  if (value === undefined) return undefined;
  const path = fields(value);
  if (path["type"] === "ReplaceFullPath") {
    return { kind: "full", text: readPath(path["replaceFullPath"] ?? "/") };
  }
  if (path["type"] !== "ReplacePrefixMatch") throw new MatchError("a change of path is not valid");
  const prefix = text(path["replacePrefixMatch"]);
  return { kind: "prefix", text: readPath(prefix === "" ? "/" : prefix) };
}

const unitMs: ReadonlyMap<string, number> = new Map([
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
]);

/** Reads a duration of GEP-2257 in ms: `1h30m`, at most four parts of five digits. @throws MatchError. */
export function readDuration(value: unknown): number {
  const given = text(value);
  if (!/^(\d{1,5}(h|m|s|ms)){1,4}$/.test(given)) throw new MatchError("a timeout is not valid");
  let ms = 0;
  for (const [, digits, unit = ""] of given.matchAll(/(\d+)(ms|h|m|s)/g)) {
    ms += Number(digits) * (unitMs.get(unit) ?? 0);
  }
  return ms;
}
