/**
 * Reads the model classes of the client library as text: attribute tables from the .js files (JSON
 * literals), required-ness and descriptions from the .d.ts files. Nothing of it is executed.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Attribute {
  /** Name on the wire. */
  readonly name: string;
  /** `V1PodSpec`, `Array<string>`, `{ [key: string]: string; }`, `number`, `any` ... */
  readonly type: string;
  readonly format: string;
  readonly required: boolean;
  readonly description: string;
}

export interface ModelClass {
  readonly name: string;
  readonly description: string;
  readonly attributes: readonly Attribute[];
}

export const modelsFolder = join(
  "node_modules",
  "@kubernetes",
  "client-node",
  "dist",
  "gen",
  "models",
);

interface Member {
  readonly required: boolean;
  readonly description: string;
}

/** Class names in the library's own order; files it no longer lists are left-overs of old releases. */
export function listModels(root: string): readonly string[] {
  const text = readFileSync(join(root, modelsFolder, "all.js"), "utf8");
  return [...text.matchAll(/models\/(\w+)\.js/g)].map((match) => match[1] ?? "");
}

export function readModel(root: string, name: string): ModelClass {
  const declared = readFileSync(join(root, modelsFolder, `${name}.d.ts`), "utf8");
  const members = readMembers(declared);
  const attributes = readTable(root, name).map((row) => {
    const member = members.get(row.name);
    if (member === undefined)
      throw new Error(`${name}.${row.name} is not declared in ${name}.d.ts`);
    return { name: row.baseName, type: row.type, format: row.format, ...member };
  });
  return { name, description: readClassDescription(declared, name), attributes };
}

interface Row {
  readonly name: string;
  readonly baseName: string;
  readonly type: string;
  readonly format: string;
}

function readTable(root: string, name: string): readonly Row[] {
  const text = readFileSync(join(root, modelsFolder, `${name}.js`), "utf8");
  const mark = "attributeTypeMap = ";
  const start = text.indexOf(mark);
  const end = text.indexOf("];", start);
  if (start < 0 || end < 0) throw new Error(`${name}.js has no attribute table`);
  // The shape is the library's; a change of it shows in the swagger test.
  return JSON.parse(text.slice(start + mark.length, end + 1)) as readonly Row[];
}

const memberPattern = /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*)?^ {4}'([^'\n]+)'(\?)?: /gm;

function readMembers(declared: string): ReadonlyMap<string, Member> {
  const members = new Map<string, Member>();
  const body = declared.slice(declared.indexOf("export declare class"));
  for (const [, comment = "", name = "", optional] of body.matchAll(memberPattern)) {
    members.set(name, { required: optional === undefined, description: commentText(comment) });
  }
  return members;
}

function readClassDescription(declared: string, name: string): string {
  const end = declared.indexOf(`export declare class ${name} `);
  const before = declared.slice(0, end);
  const start = before.lastIndexOf("/**");
  return start < 0 ? "" : commentText(before.slice(start + 3).replace(/\*\/\s*$/, ""));
}

/** The banner of every file: taken for a class comment where a class has none. */
const banner = "Kubernetes\nNo description provided";

/** Undoes the library's escapes: backslashes, and a low line within what would end the comment. */
function commentText(comment: string): string {
  const lines = comment.split("\n").map((line) => line.replace(/^\s*\* ?/, "").trim());
  const text = lines.join("\n").trim();
  if (text.startsWith(banner)) return "";
  return text.replace(/\\(.)/g, "$1").replaceAll("*_/", "*/").replaceAll("/_*", "/*");
}
