/**
 * The libraries of Kubernetes' CEL environment by version, as upstream's environment/base.go turns them
 * on. Not on in any version: math, encoders, protos, bindings and regex extensions of cel-go.
 */
import { authorizerLibrary, authorizerSelectorsLibrary } from "./authorizer-library.ts";
import { formatLibrary } from "./format-library.ts";
import { cidrLibrary, ipLibrary } from "./ip-library.ts";
import type { Library } from "./library.ts";
import { listExtension } from "./list-extension.ts";
import { listsLibrary } from "./lists-library.ts";
import { quantityLibrary } from "./quantity-library.ts";
import { regexLibrary } from "./regex-library.ts";
import { semverLibrary } from "./semver-library.ts";
import { setsLibrary } from "./sets-library.ts";
import { stringsLibrary } from "./strings-library.ts";
import { urlLibrary } from "./url-library.ts";

const libraries: readonly Library[] = [
  urlLibrary,
  regexLibrary,
  listsLibrary,
  stringsLibrary,
  authorizerLibrary,
  quantityLibrary,
  setsLibrary,
  ipLibrary,
  cidrLibrary,
  formatLibrary,
  authorizerSelectorsLibrary,
  semverLibrary,
  listExtension,
];

/** Functions that the strings library has since Kubernetes 1.29. */
const stringsOf29: ReadonlySet<string> = new Set(["format", "strings.quote"]);

/** @param minor the compatibility version 1.x: stored expressions have 36, new ones 35. */
export function librariesOf(minor: number): readonly Library[] {
  const known = libraries.filter((library) => library.since <= minor);
  if (minor >= 29) return known;
  return known.map((library) => (library === stringsLibrary ? oldStrings : library));
}

const oldStrings: Library = {
  ...stringsLibrary,
  functions: stringsLibrary.functions.filter(({ name }) => !stringsOf29.has(name)),
};
