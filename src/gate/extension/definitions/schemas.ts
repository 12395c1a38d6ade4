/** Structural schemas of a definition's versions, each compiled when first used. */
import type { JsonObject } from "#api/object.ts";
import { compileStructural, type Structural, trustStructural } from "#api/structural/structural.ts";
import { internalError } from "#api/status.ts";
import { type DefinedVersion, type Definition, findCondition } from "./definition.ts";

export class Schemas {
  readonly #versions: ReadonlyMap<string, DefinedVersion>;
  readonly #made = new Map<string, Structural | undefined>();
  readonly #isStructural: boolean;

  constructor(definition: Definition) {
    const { versions } = definition.spec;
    this.#versions = new Map(versions.map((version) => [version.name, version]));
    this.#isStructural = findCondition(definition, "NonStructuralSchema") === undefined;
  }

  /** Returns the schema of a version. Undefined: it has none, so the fields of its objects are unknown. */
  of(version: string): Structural | undefined {
    if (this.#made.has(version)) return this.#made.get(version);
    const schema = this.#versions.get(version)?.schema?.openAPIV3Schema;
    // A validated definition contains only plain JSON.
    const data = schema as unknown as JsonObject | undefined;
    const made = data === undefined ? undefined : this.#compile(data);
    this.#made.set(version, made);
    return made;
  }

  /** Compiles a schema. One that an older release stored may not be structural: then it fails instead of guessing. */
  #compile(schema: JsonObject): Structural {
    if (this.#isStructural) return trustStructural(schema);
    const { structural } = compileStructural(schema);
    if (structural === undefined) throw internalError("error resolving resource");
    return structural;
  }

  isServed(version: string): boolean {
    return this.#versions.get(version)?.served === true;
  }
}
