/** kubernetes.Semver version 1: semantic versions, parsed leniently if a second argument is true. */
import {
  accepts,
  boolOf,
  declare,
  free,
  member,
  noSuchOverload,
  parsed,
  textOf,
  types,
} from "./library.ts";
import type { Library, LibraryFunction } from "./library.ts";
import {
  SemanticVersionError,
  compareVersions,
  parseLooseVersion,
  parseSemanticVersion,
  versionText,
} from "./semantic-version.ts";
import type { SemanticVersion } from "./semantic-version.ts";
import { OpaqueValue } from "./values.ts";
import type { Value } from "./values.ts";

class SemverValue extends OpaqueValue {
  readonly version: SemanticVersion;

  constructor(version: SemanticVersion) {
    super(types.semver.name);
    this.version = version;
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof SemverValue && compareVersions(this.version, other.version) === 0;
  }

  override print(): string {
    return versionText(this.version);
  }
}

/** From a field with a semantic version. @throws SemanticVersionError for other texts. */
export function semverOfText(text: string): Value {
  return new SemverValue(parseSemanticVersion(text));
}

function versionOf(value: Value | undefined): SemanticVersion {
  if (!(value instanceof SemverValue)) throw noSuchOverload();
  return value.version;
}

function read(text: Value | undefined, loose: boolean): SemanticVersion {
  return loose ? parseLooseVersion(textOf(text)) : parseSemanticVersion(textOf(text));
}

function semver(text: Value | undefined, loose: boolean): SemverValue {
  return new SemverValue(parsed(SemanticVersionError, () => read(text, loose)));
}

function order(a: Value | undefined, b: Value | undefined): number {
  return compareVersions(versionOf(a), versionOf(b));
}

const two = [types.semver, types.semver];

function numberOf(name: "major" | "minor" | "patch"): LibraryFunction {
  return declare(
    name,
    // As in upstream's conversion, numbers beyond int64 wrap around.
    member(`semver_${name}`, [types.semver], types.int, (version) =>
      BigInt.asIntN(64, versionOf(version)[name]),
    ),
  );
}

export const semverLibrary: Library = {
  name: "kubernetes.Semver",
  since: 33,
  functions: [
    declare(
      "semver",
      free("string_to_semver", [types.string], types.semver, (text) => semver(text, false)),
      free("string_bool_to_semver", [types.string, types.bool], types.semver, (text, loose) =>
        semver(text, boolOf(loose)),
      ),
    ),
    declare(
      "isSemver",
      free("is_semver_string", [types.string], types.bool, (text) =>
        accepts(SemanticVersionError, () => read(text, false)),
      ),
      free("is_semver_string_bool", [types.string, types.bool], types.bool, (text, loose) =>
        accepts(SemanticVersionError, () => read(text, boolOf(loose))),
      ),
    ),
    declare(
      "isGreaterThan",
      member("semver_is_greater_than", two, types.bool, (a, b) => order(a, b) > 0),
    ),
    declare(
      "isLessThan",
      member("semver_is_less_than", two, types.bool, (a, b) => order(a, b) < 0),
    ),
    declare(
      "compareTo",
      member("semver_compare_to", two, types.int, (a, b) => BigInt(order(a, b))),
    ),
    numberOf("major"),
    numberOf("minor"),
    numberOf("patch"),
  ],
};
