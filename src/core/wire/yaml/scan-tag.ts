/** Anchors, aliases, tags and directives of a YAML text. */
import { type Cursor, isDigitCode, isWordCode, type Mark, scanFault } from "./cursor.ts";
import type { Token } from "./token.ts";

const percent = 37;
const bang = 33;
const dot = 46;
const less = 60;
const greater = 62;

function readWord(cursor: Cursor): string {
  let ahead = 0;
  while (isWordCode(cursor.code(ahead))) ahead++;
  return cursor.read(cursor.at + ahead);
}

const afterAnchor: ReadonlySet<number> = new Set(Buffer.from("?:,]}%@`"));

export function scanAnchor(cursor: Cursor, type: "alias" | "anchor"): Token {
  const start = cursor.mark;
  cursor.skip();
  const value = readWord(cursor);
  if (value === "" || !(cursor.isBlankOrEnd() || afterAnchor.has(cursor.code()))) {
    const problem = "did not find expected alphabetic or numeric character";
    throw scanFault(problem, cursor.mark, start);
  }
  return { type, start, end: cursor.mark, value };
}

export function scanTag(cursor: Cursor): Token {
  const start = cursor.mark;
  const { handle, suffix } =
    cursor.code(1) === less ? verbatim(cursor, start) : short(cursor, start);
  if (!cursor.isBlankOrEnd()) {
    throw scanFault("did not find expected whitespace or line break", cursor.mark, start);
  }
  return { type: "tag", start, end: cursor.mark, value: handle, suffix };
}

interface Tag {
  readonly handle: string;
  readonly suffix: string;
}

/** `!<tag:yaml.org,2002:str>` */
function verbatim(cursor: Cursor, start: Mark): Tag {
  cursor.skip(2);
  const suffix = readUri(cursor, start, "");
  if (cursor.code() !== greater) {
    throw scanFault("did not find the expected '>'", cursor.mark, start);
  }
  cursor.skip();
  return { handle: "", suffix };
}

/** `!!str`, `!name!suffix`, `!suffix` or `!` alone. */
function short(cursor: Cursor, start: Mark): Tag {
  const handle = readHandle(cursor, start, false);
  if (handle.length > 1 && handle.endsWith("!")) {
    return { handle, suffix: readUri(cursor, start, "") };
  }
  const suffix = readUri(cursor, start, handle);
  return suffix === "" ? { handle: "", suffix: "!" } : { handle: "!", suffix };
}

function readHandle(cursor: Cursor, start: Mark, isDirective: boolean): string {
  if (cursor.code() !== bang) throw scanFault("did not find expected '!'", cursor.mark, start);
  cursor.skip();
  const handle = `!${readWord(cursor)}`;
  if (cursor.code() === bang) {
    cursor.skip();
    return `${handle}!`;
  }
  if (isDirective && handle !== "!") {
    throw scanFault("did not find expected '!'", cursor.mark, start);
  }
  return handle;
}

const uriMarks: ReadonlySet<number> = new Set(Buffer.from(";/?:@&=+$,.!~*'()[]"));

/** `head`: a handle whose characters belong to the suffix. */
function readUri(cursor: Cursor, start: Mark, head: string): string {
  const parts: string[] = [head.slice(1)];
  let isFound = head !== "";
  for (;;) {
    let ahead = 0;
    while (isWordCode(cursor.code(ahead)) || uriMarks.has(cursor.code(ahead))) ahead++;
    if (ahead > 0) parts.push(cursor.read(cursor.at + ahead));
    else if (cursor.code() === percent) parts.push(readUriEscapes(cursor, start));
    else break;
    isFound = true;
  }
  if (!isFound) throw scanFault("did not find expected tag URI", cursor.mark, start);
  return parts.join("");
}

/** Reads one character written as `%XX` for each of its bytes. */
function readUriEscapes(cursor: Cursor, start: Mark): string {
  const octets: number[] = [];
  let width = 1;
  while (octets.length < width) {
    const digits = /^%([0-9a-fA-F]{2})/.exec(cursor.text.slice(cursor.at, cursor.at + 3))?.[1];
    if (digits === undefined) throw scanFault("did not find URI escaped octet", cursor.mark, start);
    const octet = Number.parseInt(digits, 16);
    if (octets.length === 0) width = utf8Width(octet);
    const isLead = octets.length === 0;
    if (width === 0 || (!isLead && (octet & 0xc0) !== 0x80)) {
      const which = isLead ? "leading" : "trailing";
      throw scanFault(`found an incorrect ${which} UTF-8 octet`, cursor.mark, start);
    }
    octets.push(octet);
    cursor.skip(3);
  }
  return Buffer.from(octets).toString();
}

function utf8Width(octet: number): number {
  if (octet < 0x80) return 1;
  if ((octet & 0xe0) === 0xc0) return 2;
  if ((octet & 0xf0) === 0xe0) return 3;
  return (octet & 0xf8) === 0xf0 ? 4 : 0;
}

/** `%YAML 1.1` or `%TAG !e! prefix`, including the line break. */
export function scanDirective(cursor: Cursor): Token {
  const start = cursor.mark;
  cursor.skip();
  const name = readWord(cursor);
  if (name === "") {
    throw scanFault("could not find expected directive name", cursor.mark, start);
  }
  if (!cursor.isBlankOrEnd()) {
    throw scanFault("found unexpected non-alphabetical character", cursor.mark, start);
  }
  const token = directive(cursor, name, start);
  cursor.skipBlanks();
  cursor.skipComment();
  if (!cursor.isBreakOrEnd()) {
    throw scanFault("did not find expected comment or line break", cursor.mark, start);
  }
  if (cursor.isBreak()) cursor.readBreak();
  return token;
}

function directive(cursor: Cursor, name: string, start: Mark): Token {
  cursor.skipBlanks();
  if (name === "YAML") {
    const value = readVersion(cursor, start);
    return { type: "version", start, end: cursor.mark, value };
  }
  if (name !== "TAG") throw scanFault("found unknown directive name", cursor.mark, start);
  const value = readHandle(cursor, start, true);
  if (!cursor.isBlank()) {
    throw scanFault("did not find expected whitespace", cursor.mark, start);
  }
  cursor.skipBlanks();
  const suffix = readUri(cursor, start, "");
  if (!cursor.isBlankOrEnd()) {
    throw scanFault("did not find expected whitespace or line break", cursor.mark, start);
  }
  return { type: "tag-directive", start, end: cursor.mark, value, suffix };
}

function readVersion(cursor: Cursor, start: Mark): string {
  const major = readVersionNumber(cursor, start);
  if (cursor.code() !== dot) {
    throw scanFault("did not find expected digit or '.' character", cursor.mark, start);
  }
  cursor.skip();
  return `${major}.${readVersionNumber(cursor, start)}`;
}

function readVersionNumber(cursor: Cursor, start: Mark): number {
  let ahead = 0;
  while (isDigitCode(cursor.code(ahead))) {
    if (ahead++ === 2) {
      cursor.skip(2);
      throw scanFault("found extremely long version number", cursor.mark, start);
    }
  }
  if (ahead === 0) throw scanFault("did not find expected version number", cursor.mark, start);
  return Number(cursor.read(cursor.at + ahead));
}
