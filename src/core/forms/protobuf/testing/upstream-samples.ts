/** Upstream's samples of every kind with every field set, as JSON and protobuf; they lie beside the checkout, or nowhere. */
import { existsSync } from "node:fs";
import { join } from "node:path";

const beside = join(import.meta.dirname, "..", "..", "..", "..", "..", "..", "shared", "data");
const folder = join(
  process.env["PILOTHOUSE_TESTDATA"] ?? beside,
  "kubernetes-1.36",
  "api-testdata",
);

/** Why tests that need them are skipped, or false. */
export const withoutSamples: string | false = existsSync(folder)
  ? false
  : `${folder} is absent: upstream's encoded objects are not here`;

/** The sample's path without ending; undefined when upstream has none of this kind. */
export function samplePath(info: {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}): string | undefined {
  const { group, version, kind } = info;
  const path = join(folder, `${group === "" ? "core" : group}.${version}.${kind}`);
  return existsSync(`${path}.pb`) ? path : undefined;
}
