/** The parsed table of `template-types.ts`: the fields of each Go struct in a pod template. */
import { templateTypes } from "./template-types.ts";

export type GoType =
  | { readonly kind: "pointer" | "slice" | "map"; readonly name: string; readonly of: GoType }
  | { readonly kind: "struct"; readonly name: string }
  | { readonly kind: "scalar"; readonly name: string; readonly zero: "" | 0 | false };

export interface GoField {
  readonly goName: string;
  readonly jsonName: string;
  readonly type: GoType;
  /** Whether its fields are in the JSON object of the outer struct. */
  readonly isEmbedded: boolean;
  /** When Go's encoder omits the field. A struct is never empty, but may be zero. */
  readonly omit: "empty" | "zero" | "never";
}

let structs: ReadonlyMap<string, readonly GoField[]> | undefined;

/** The table is parsed on first use. */
export function fieldsOf(struct: string): readonly GoField[] {
  structs ??= new Map(templateTypes.split("\n").map(parseLine));
  return structs.get(struct) ?? [];
}

function parseLine(line: string): [string, readonly GoField[]] {
  const [name = "", ...fields] = line.split(" ");
  return [name, fields.map(parseField)];
}

function parseField(text: string): GoField {
  const mark = text.indexOf(":");
  const [goName = "", given] = text.slice(0, mark).split("/");
  const flag = text.at(-1);
  const isFlagged = flag === "!" || flag === "?";
  const type = parseType(text.slice(mark + 1, isFlagged ? -1 : undefined));
  const jsonName = given ?? goName.charAt(0).toLowerCase() + goName.slice(1);
  const omit = flag === "!" ? "never" : flag === "?" ? "zero" : "empty";
  return { goName, jsonName, type, isEmbedded: given === "+", omit };
}

function parseType(text: string): GoType {
  const named = /^([\w.]+)=(.*)$/.exec(text);
  if (named !== null) return { ...parseType(named[2] ?? ""), name: named[1] ?? "" };
  const around = /^(\*|\[\]|map\[[\w.]+\])(.*)$/.exec(text);
  if (around === null) return parseLeaf(text);
  const [, prefix = "", rest = ""] = around;
  const kind = prefix === "*" ? "pointer" : prefix === "[]" ? "slice" : "map";
  const of = parseType(rest);
  return { kind, name: prefix + of.name, of };
}

function parseLeaf(text: string): GoType {
  const [name = "", basic = name] = text.split("~");
  if (basic === "s" || basic === "string") return { kind: "scalar", name, zero: "" };
  if (basic === "bool") return { kind: "scalar", name, zero: false };
  if (basic === "i" || /^int\d*$/.test(basic)) return { kind: "scalar", name, zero: 0 };
  return { kind: "struct", name };
}
