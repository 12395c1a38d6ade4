/**
 * URLs as Go's net/url reads and prints them, error texts included.
 *
 * Escapes stand for bytes, so the parts are held as byte texts (one character per byte of UTF-8) and
 * become text when asked for. Cost: a few passes over the text; nothing grows beyond three times it.
 */
import { AddressError, parseIpAddress } from "./ip-address.ts";
import { goQuote } from "./go-quote.ts";

/** The text is not a URL; the message is Go's. */
export class UrlError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UrlError";
  }
}

interface UserInfo {
  readonly name: string;
  readonly password: string | undefined;
}

/** Parts of a URL, as texts of one character per byte. */
export interface GoUrl {
  readonly scheme: string;
  readonly opaque: string;
  readonly user: UserInfo | undefined;
  readonly host: string;
  readonly path: string;
  /** The path as written, if escaping `path` would spell it differently; otherwise "". */
  readonly rawPath: string;
  readonly omitHost: boolean;
  /** Whether the URL ends with a bare `?`. */
  readonly forceQuery: boolean;
  readonly rawQuery: string;
  readonly fragment: string;
  readonly rawFragment: string;
}

const empty: GoUrl = {
  scheme: "",
  opaque: "",
  user: undefined,
  host: "",
  path: "",
  rawPath: "",
  omitHost: false,
  forceQuery: false,
  rawQuery: "",
  fragment: "",
  rawFragment: "",
};

type Part = "path" | "host" | "zone" | "user" | "query" | "fragment";

const hostSafe = /[A-Za-z0-9\-_.~!"$&'()*+,:;<=>[\]]/;
/** Characters that need no escape in each part. */
const safe: Readonly<Record<Part, RegExp>> = {
  path: /[A-Za-z0-9\-_.~$&+,/:;=@]/,
  host: hostSafe,
  zone: hostSafe,
  user: /[A-Za-z0-9\-_.~$&+,;=]/,
  query: /[A-Za-z0-9\-_.~]/,
  fragment: /[A-Za-z0-9\-_.~!$&()*+,/:;=?@]/,
};

/** Implements url(): the strict parser must accept the text, and the lenient one handles fragments. */
export function parseUrl(text: string): GoUrl {
  parseRequestUri(text);
  return parseReference(text);
}

/** Go's url.Parse, which also accepts relative URLs. Throws UrlError. */
export function parseReference(text: string): GoUrl {
  const [main, fragment] = cut(text, "#");
  const url = named(main, () => parse(toBytes(main), false));
  if (fragment === undefined || fragment === "") return url;
  const raw = toBytes(fragment);
  const plain = named(text, () => unescapePart(raw, "fragment"));
  return { ...url, fragment: plain, rawFragment: escapePart(plain, "fragment") === raw ? "" : raw };
}

/** Strict parser: an absolute URL or an absolute path. Throws UrlError. */
export function parseRequestUri(text: string): GoUrl {
  return named(text, () => parse(toBytes(text), true));
}

/** Adds the text to the error of a step, as Go does. */
function named<T>(text: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof UrlError)) throw error;
    throw new UrlError(`parse ${goQuote(text)}: ${error.message}`);
  }
}

function parse(bytes: string, strict: boolean): GoUrl {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(bytes)) {
    throw new UrlError("net/url: invalid control character in URL");
  }
  if (bytes === "" && strict) throw new UrlError("empty url");
  if (bytes === "*") return { ...empty, path: "*" };
  const [scheme, afterScheme] = splitScheme(bytes);
  const forceQuery = afterScheme.indexOf("?") === afterScheme.length - 1 && afterScheme !== "";
  const [rest, query] = cut(afterScheme, "?");
  const url = { ...empty, scheme, forceQuery, rawQuery: forceQuery ? "" : (query ?? "") };
  if (!rest.startsWith("/")) {
    if (scheme !== "") return { ...url, opaque: rest };
    if (strict) throw new UrlError("invalid URI for request");
    if (cut(rest, "/")[0].includes(":")) {
      throw new UrlError("first path segment in URL cannot contain colon");
    }
  }
  return parseRest(url, rest, strict);
}

function parseRest(url: GoUrl, rest: string, strict: boolean): GoUrl {
  const mayHaveHost = url.scheme !== "" || (!strict && !rest.startsWith("///"));
  if (!mayHaveHost || !rest.startsWith("//")) {
    const omitHost = url.scheme !== "" && rest.startsWith("/");
    return { ...url, omitHost, ...parsePath(rest) };
  }
  const slash = rest.indexOf("/", 2);
  const authority = rest.slice(2, slash < 0 ? undefined : slash);
  return {
    ...url,
    ...parseAuthority(url.scheme, authority),
    ...parsePath(slash < 0 ? "" : rest.slice(slash)),
  };
}

function splitScheme(bytes: string): [string, string] {
  const match = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(bytes);
  if (match !== null) return [(match[1] ?? "").toLowerCase(), bytes.slice(match[0].length)];
  if (bytes.startsWith(":")) throw new UrlError("missing protocol scheme");
  return ["", bytes];
}

function parsePath(raw: string): Pick<GoUrl, "path" | "rawPath"> {
  const path = unescapePart(raw, "path");
  return { path, rawPath: escapePart(path, "path") === raw ? "" : raw };
}

function parseAuthority(scheme: string, authority: string): Pick<GoUrl, "user" | "host"> {
  const at = authority.lastIndexOf("@");
  const host = parseHost(scheme, authority.slice(at + 1));
  if (at < 0) return { user: undefined, host };
  const info = authority.slice(0, at);
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(info)) {
    throw new UrlError("net/url: invalid userinfo");
  }
  const [name, password] = cut(info, ":");
  return {
    user: {
      name: unescapePart(name, "user"),
      password: password === undefined ? undefined : unescapePart(password, "user"),
    },
    host,
  };
}

function parseHost(scheme: string, host: string): string {
  const open = host.lastIndexOf("[");
  if (open > 0) throw new UrlError("invalid IP-literal");
  if (open === 0) return parseBracketHost(host);
  const colon = host.indexOf(":");
  if (colon >= 0) {
    // Colons before the port are allowed only with schemes other than HTTP.
    const isHttp = scheme === "http" || scheme === "https";
    checkPort(host.slice(isHttp ? colon : host.lastIndexOf(":")));
  }
  return unescapePart(host, "host");
}

function parseBracketHost(host: string): string {
  const close = host.lastIndexOf("]");
  if (close < 0) throw new UrlError("missing ']' in host");
  const port = host.slice(close + 1);
  checkPort(port);
  const name = host.slice(1, close);
  const zone = name.indexOf("%25");
  const plain =
    zone < 0
      ? unescapePart(name, "host")
      : unescapePart(name.slice(0, zone), "host") + unescapePart(name.slice(zone), "zone");
  if (parseHostAddress(plain).bits === 32) throw new UrlError("invalid IP-literal");
  return `[${plain}]${port}`;
}

function parseHostAddress(text: string): ReturnType<typeof parseIpAddress> {
  try {
    return parseIpAddress(fromBytes(text));
  } catch (error) {
    if (error instanceof AddressError) throw new UrlError(`invalid host: ${error.message}`);
    throw error;
  }
}

const portRegex = /^(:[0-9]*)?$/;

function checkPort(port: string): void {
  if (portRegex.test(port)) return;
  throw new UrlError(`invalid port ${goQuote(fromBytes(port))} after host`);
}

const escapeRegex = /^%[0-9A-Fa-f]{2}/;

function unescapePart(text: string, part: Part): string {
  let out = "";
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === "%") {
      out += unescapeByte(text.slice(at, at + 3), part);
      at += 2;
    } else if (char === "+" && part === "query") out += " ";
    else {
      if ((part === "host" || part === "zone") && char < "\u0080" && !hostSafe.test(char)) {
        throw new UrlError(`invalid character ${goQuote(char)} in host name`);
      }
      out += char;
    }
  }
  return out;
}

function unescapeByte(escape: string, part: Part): string {
  const fault = (): UrlError => new UrlError(`invalid URL escape ${goQuote(fromBytes(escape))}`);
  if (!escapeRegex.test(escape)) throw fault();
  const byte = Number.parseInt(escape.slice(1), 16);
  // In a host only non-ASCII bytes may be escaped; in a zone also the percent sign and the space.
  if (escape !== "%25") {
    if (part === "host" && byte < 0x80) throw fault();
    const char = String.fromCharCode(byte);
    if (part === "zone" && char !== " " && !hostSafe.test(char)) throw fault();
  }
  return String.fromCharCode(byte);
}

function escapePart(bytes: string, part: Part): string {
  let out = "";
  for (const char of bytes) {
    if (safe[part].test(char)) out += char;
    else if (char === " " && part === "query") out += "+";
    else out += `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return out;
}

const validPath = /^[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]%/]*$/;
const validFragment = /^[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]%/?]*$/;

/** The path with its original escapes, where they are valid. */
export function escapedPath(url: GoUrl): string {
  if (url.rawPath !== "" && validPath.test(url.rawPath)) return url.rawPath;
  return url.path === "*" ? "*" : escapePart(url.path, "path");
}

function escapedFragment(url: GoUrl): string {
  if (url.rawFragment !== "" && validFragment.test(url.rawFragment)) return url.rawFragment;
  return escapePart(url.fragment, "fragment");
}

export function hostText(url: GoUrl): string {
  return fromBytes(url.host);
}

/** The host without port and brackets. */
export function hostnameText(url: GoUrl): string {
  const colon = url.host.lastIndexOf(":");
  const hasPort = colon >= 0 && portRegex.test(url.host.slice(colon));
  const name = hasPort ? url.host.slice(0, colon) : url.host;
  return fromBytes(name.startsWith("[") && name.endsWith("]") ? name.slice(1, -1) : name);
}

export function portText(url: GoUrl): string {
  const colon = url.host.lastIndexOf(":");
  const hasPort = colon >= 0 && portRegex.test(url.host.slice(colon));
  return hasPort ? url.host.slice(colon + 1) : "";
}

/** Go's limit of query parameters (net/url, since 1.26). */
const parametersMax = 10_000;

/** The parameters in order of first use. Invalid ones are omitted; too many make the result empty. */
export function queryValues(url: GoUrl): Map<string, string[]> {
  const values = new Map<string, string[]>();
  const parts = url.rawQuery.split("&");
  if (parts.length > parametersMax) return values;
  for (const part of parts) {
    if (part === "" || part.includes(";")) continue;
    const [name, value] = cut(part, "=").map(unescapeParameter);
    if (name === undefined) continue;
    if (part.includes("=") && value === undefined) continue;
    const known = values.get(name);
    if (known === undefined) values.set(name, [value ?? ""]);
    else known.push(value ?? "");
  }
  return values;
}

function unescapeParameter(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return fromBytes(unescapePart(text, "query"));
  } catch (error) {
    if (error instanceof UrlError) return undefined;
    throw error;
  }
}

/** The whole URL; equal URLs have equal texts. */
export function urlText(url: GoUrl): string {
  const scheme = url.scheme === "" ? "" : `${url.scheme}:`;
  const query = url.forceQuery || url.rawQuery !== "" ? `?${url.rawQuery}` : "";
  const fragment = url.fragment === "" ? "" : `#${escapedFragment(url)}`;
  return fromBytes(scheme + (url.opaque || hierarchyText(url, scheme)) + query + fragment);
}

function hierarchyText(url: GoUrl, scheme: string): string {
  const path = escapedPath(url);
  let out = authorityText(url);
  if (path !== "" && !path.startsWith("/") && url.host !== "") out += "/";
  if (scheme + out === "" && cut(path, "/")[0].includes(":")) out = "./";
  return out + path;
}

function authorityText(url: GoUrl): string {
  const { host, user } = url;
  if (url.scheme === "" && host === "" && user === undefined) return "";
  if (url.omitHost && host === "" && user === undefined) return "";
  if (host === "" && url.path === "" && user === undefined) return "";
  const password = user?.password === undefined ? "" : `:${escapePart(user.password, "user")}`;
  const info = user === undefined ? "" : `${escapePart(user.name, "user")}${password}@`;
  return `//${info}${escapePart(host, "host")}`;
}

function cut(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + mark.length)];
}

/** One character per UTF-8 byte. */
function toBytes(text: string): string {
  if (/^\p{ASCII}*$/u.test(text)) return text;
  let out = "";
  for (const byte of new TextEncoder().encode(text)) out += String.fromCharCode(byte);
  return out;
}

function fromBytes(bytes: string): string {
  if (/^\p{ASCII}*$/u.test(bytes)) return bytes;
  return new TextDecoder().decode(Uint8Array.from(bytes, (char) => char.charCodeAt(0)));
}
