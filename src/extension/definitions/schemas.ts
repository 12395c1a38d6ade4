/** The structural schemas of a definition's versions, each compiled when first asked for. */
import type { JsonObject } from "#api/object.ts";
import { type Structural, trustStructural } from "#api/structural/structural.ts";
import type { DefinedVersion, Definition } from "./definition.ts";

export class Schemas {
  readonly #versions: ReadonlyMap<string, DefinedVersion>;
  readonly #made = new Map<string, Structural | undefined>();

  constructor({ spec }: Definition) {
    this.#versions = new Map(spec.versions.map((version) => [version.name, version]));
  }

  /** undefined: the version has no schema, and nothing of its objects is known. */
  of(version: string): Structural | undefined {
    if (this.#made.has(version)) return this.#made.get(version);
    const schema = this.#versions.get(version)?.schema?.openAPIV3Schema;
    // A validated definition holds plain JSON.
    const data = schema as unknown as JsonObject | undefined;
    const made = data === undefined ? undefined : trustStructural(data);
    this.#made.set(version, made);
    return made;
  }

  isServed(version: string): boolean {
    return this.#versions.get(version)?.served === true;
  }
}
