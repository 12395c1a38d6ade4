/**
 * Image references as far as the pull policy needs them: the grammar of distribution/reference, with the names that
 * Docker leaves out. What the grammar refuses has no tag, not even `latest`.
 */

const component = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?";
const host = `(?:${component}(?:\\.${component})*|\\[[a-fA-F0-9:]+\\])`;
const pathComponent = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const tag = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}";
const digest = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
const grammar = new RegExp(
  `^(?:${host}(?::[0-9]+)?/)?(${pathComponent}(?:/${pathComponent})*)(?::(${tag}))?(?:@(${digest}))?$`,
);

/** Characters of the path that follows the registry's name; source: distribution/reference. */
const pathLengthMax = 255;
/** The grammar allows no longer reference than registry, path, tag and digest; this is far above them. */
const referenceLengthMax = 4096;
/** A reference that looks like the digest of an image is none. */
const identifier = /^[a-f0-9]{64}$/;

/** By algorithm: hexadecimal digits. */
const digestLengths: ReadonlyMap<string, number> = new Map([
  ["sha256", 64],
  ["sha384", 96],
  ["sha512", 128],
]);

/** `latest` for a reference with neither tag nor digest; "" for one with only a digest, and for what is none. */
export function imageTag(reference: string): string {
  if (reference.length > referenceLengthMax || identifier.test(reference)) return "";
  const [, path = "", given = "", pinned = ""] = grammar.exec(withRegistry(reference)) ?? [];
  if (path === "" || path.length > pathLengthMax) return "";
  if (pinned !== "" && !isDigest(pinned)) return "";
  return given === "" && pinned === "" ? "latest" : given;
}

function isDigest(text: string): boolean {
  const [algorithm = "", digits = ""] = text.split(":");
  return digits.length === digestLengths.get(algorithm) && /^[a-f0-9]+$/.test(digits);
}

/** `a` is docker.io/library/a; a first part that cannot be a path is a registry. */
function withRegistry(reference: string): string {
  const slash = reference.indexOf("/");
  const first = reference.slice(0, Math.max(slash, 0));
  if (slash < 0) return `docker.io/library/${reference}`;
  const isRegistry = first === "localhost" || /[.:]/.test(first) || first !== first.toLowerCase();
  return isRegistry ? reference : `docker.io/${reference}`;
}

/** Always for `latest`, else IfNotPresent. */
export function pullPolicyFor(reference: string): "Always" | "IfNotPresent" {
  return imageTag(reference) === "latest" ? "Always" : "IfNotPresent";
}
