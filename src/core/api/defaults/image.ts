/**
 * Parses image references as far as the pull policy needs: the grammar of distribution/reference, with the names that
 * Docker leaves out. A text that the grammar refuses has no tag, not even `latest`.
 */

const component = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?";
const host = `(?:${component}(?:\\.${component})*|\\[[a-fA-F0-9:]+\\])`;
const pathComponent = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const tag = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}";
const digest = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
const grammar = new RegExp(
  `^(?:${host}(?::[0-9]+)?/)?(${pathComponent}(?:/${pathComponent})*)(?::(${tag}))?(?:@(${digest}))?$`,
);

/** Maximum length of the path after the registry's name; source: distribution/reference. */
const pathLengthMax = 255;
/** Far above the longest reference that the grammar allows. */
const referenceLengthMax = 4096;
/** A text that looks like an image digest is not a reference. */
const identifier = /^[a-f0-9]{64}$/;

/** Number of hexadecimal digits by algorithm. */
const digestLengths: ReadonlyMap<string, number> = new Map([
  ["sha256", 64],
  ["sha384", 96],
  ["sha512", 128],
]);

/** `latest` without tag and digest; "" with only a digest, and for an invalid reference. */
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

/** `a` means docker.io/library/a; a first component that cannot be part of a path is a registry. */
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
