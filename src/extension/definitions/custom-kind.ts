/**
 * The served kind of one version of a definition, under one epoch.
 *
 * write   coerce metadata -> prune -> drop nulls -> default -> (strategy: validate) -> stored version
 * read    stored bytes as they are when this epoch wrote them (epoch.ts); else the same steps without findings
 *
 * What costs memory (schemas, table columns, list blocks, shapes) is made on first use.
 */
import type { AnyObject, JsonObject } from "#api/object.ts";
import { apiVersionOf, parseApiVersion } from "#api/object.ts";
import { must } from "#base/assert.ts";
import type { Printer } from "#api/printers/printer.ts";
import { cannotBeHandled, fieldFindings, findingsMax } from "#api/schema/decode.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { badRequest, internalError } from "#api/status.ts";
import { structuralApplyTypes } from "#api/structural/apply-types.ts";
import { coerceMetadata } from "#api/structural/coerce.ts";
import { applyStructuralDefaults, dropNulls } from "#api/structural/default.ts";
import { prune } from "#api/structural/prune.ts";
import { compileStructural, type Structural, trustStructural } from "#api/structural/structural.ts";
import type { CustomFacts, ServedKind } from "#apiserver/kind.ts";
import type { Registry, ResourceStore } from "#registry/resource-store.ts";
import { ListBlocks } from "#server/list-body.ts";
import type { CachedObject } from "#watch/cached-object.ts";
import type { JsonScan } from "#wire/json-scan.ts";
import { type Converter, withApiVersion } from "./conversion.ts";
import { customStrategy, type RuleCheck } from "./custom-strategy.ts";
import {
  type DefinedVersion,
  type Definition,
  deprecationWarning,
  findCondition,
  storageVersionOf,
} from "./definition.ts";
import type { Epoch } from "./epoch.ts";
import { customPrinter } from "./printer-columns.ts";
import { scaleAccess } from "./scale-paths.ts";

interface KindDeps {
  readonly registry: Registry;
  readonly definition: Definition;
  readonly epoch: Epoch;
  /** Schemas of all versions, compiled once for all kinds of the definition. */
  readonly schemas: Schemas;
  readonly converter: Converter | undefined;
  readonly rulesOf: RulesOf;
}

/** Makes the check of a schema's x-kubernetes-validations; asked only for a schema that has some. */
export type RulesOf = (structural: Structural) => RuleCheck | undefined;

/** The structural schemas of a definition's versions, each compiled when first asked for. */
export class Schemas {
  readonly #versions: ReadonlyMap<string, DefinedVersion>;
  readonly #made = new Map<string, Structural | undefined>();
  readonly #isStructural: boolean;

  constructor(definition: Definition) {
    const { versions } = definition.spec;
    this.#versions = new Map(versions.map((version) => [version.name, version]));
    this.#isStructural = findCondition(definition, "NonStructuralSchema") === undefined;
  }

  /** undefined: the version has no schema, and nothing of its objects is known. */
  of(version: string): Structural | undefined {
    if (this.#made.has(version)) return this.#made.get(version);
    const schema = this.#versions.get(version)?.schema?.openAPIV3Schema;
    // A validated definition holds plain JSON.
    const data = schema as unknown as JsonObject | undefined;
    const made = data === undefined ? undefined : this.#compile(data);
    this.#made.set(version, made);
    return made;
  }

  /** A definition that an older release stored may not be structural: nothing is served by guesses. */
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

export function customKind(
  deps: KindDeps,
  info: ResourceInfo,
  version: DefinedVersion,
): ServedKind {
  const { definition, epoch, registry } = deps;
  const forms = new Forms(deps, apiVersionOf(info));
  const structural = (): Structural | undefined => deps.schemas.of(version.name);
  const lazy = new LazyParts(version, structural, deps.rulesOf);
  const { metadata } = definition;
  const rules = {
    strategy: customStrategy({
      kind: info.kind,
      apiVersion: apiVersionOf(info),
      subresources: version.subresources,
      structural,
      checkRules: () => lazy.rules,
    }),
    beginWrite: (isCreation: boolean) => epoch.beginWrite(isCreation),
    codec: forms,
  };
  let store: ResourceStore | undefined;
  return {
    resource: info,
    apiVersion: apiVersionOf(info),
    formKey: `${apiVersionOf(info)} ${metadata?.uid ?? ""} ${metadata?.generation ?? 0}`,
    isAsStored: (cached) => forms.isAsStored(cached.revision),
    get store() {
      store ??= registry.store(info, rules);
      return store;
    },
    get blocks() {
      return lazy.blocks;
    },
    check(object, duplicates) {
      const decoded = decode(object, structural());
      if (decoded.error !== undefined) throw badRequest(cannotBeHandled(info, decoded.error));
      return { object: decoded.object, findings: findingsOf(decoded.unknown, duplicates) };
    },
    overfull: () => undefined,
    applyDefaults: (object) => withDefaults(object, structural()),
    types: () =>
      structuralApplyTypes({
        structural: (apiVersion) => schemaOfVersion(deps, apiVersion),
        convert: (object, apiVersion) => withApiVersion(object, apiVersion),
      }),
    toStored: (object) => object,
    fromStored: (object) => forms.show(object),
    ...(deps.converter === undefined ? {} : { prepare: (page) => forms.prepare(page) }),
    get printer() {
      return lazy.printer;
    },
    allowCreateOnUpdate: false,
    selectableFields: (version.selectableFields ?? []).map(({ jsonPath }) =>
      jsonPath.replace(/^\./, ""),
    ),
    custom: customFacts(deps, version),
  };
}

function customFacts({ definition, epoch }: KindDeps, version: DefinedVersion): CustomFacts {
  const warning = deprecationWarning(definition, version);
  const paths = version.subresources?.scale;
  return {
    ...(paths === undefined ? {} : { scale: scaleAccess(paths) }),
    ...(warning === undefined ? {} : { warning }),
    get isTerminating() {
      return epoch.isTerminating;
    },
    watches: epoch,
  };
}

class LazyParts {
  readonly #version: DefinedVersion;
  readonly #structural: () => Structural | undefined;
  readonly #rulesOf: RulesOf;
  #blocks: ListBlocks | undefined;
  #printer: Printer | undefined;
  #rules: { readonly check: RuleCheck | undefined } | undefined;

  constructor(version: DefinedVersion, structural: () => Structural | undefined, rulesOf: RulesOf) {
    this.#version = version;
    this.#structural = structural;
    this.#rulesOf = rulesOf;
  }

  get blocks(): ListBlocks {
    this.#blocks ??= new ListBlocks();
    return this.#blocks;
  }

  get printer(): Printer {
    this.#printer ??= customPrinter(this.#version);
    return this.#printer;
  }

  get rules(): RuleCheck | undefined {
    if (this.#rules === undefined) {
      const structural = this.#structural();
      this.#rules = { check: structural === undefined ? undefined : this.#rulesOf(structural) };
    }
    return this.#rules.check;
  }
}

/** null: served without a schema. undefined: not served. */
function schemaOfVersion(deps: KindDeps, apiVersion: string): Structural | null | undefined {
  const gv = parseApiVersion(apiVersion);
  if (gv === undefined || gv.group !== deps.definition.spec.group) return undefined;
  if (!deps.schemas.isServed(gv.version)) return undefined;
  return deps.schemas.of(gv.version) ?? null;
}

/** Objects of one definition between the version that is stored and the one that is asked for. */
class Forms {
  readonly #deps: KindDeps;
  readonly #apiVersion: string;
  readonly #storedApiVersion: string;
  /** Of a stored object, and of what was made of it: itself. */
  readonly #shown = new WeakMap<AnyObject, AnyObject>();

  constructor(deps: KindDeps, apiVersion: string) {
    const { definition } = deps;
    const { group } = definition.spec;
    this.#deps = deps;
    this.#apiVersion = apiVersion;
    this.#storedApiVersion = apiVersionOf({ group, version: storageVersionOf(definition) });
  }

  isAsStored(revision: number): boolean {
    return this.#apiVersion === this.#storedApiVersion && this.#deps.epoch.isSettled(revision);
  }

  show(object: AnyObject): AnyObject {
    if (this.isAsStored(Number(object.metadata?.resourceVersion ?? 0))) return object;
    const known = this.#shown.get(object);
    if (known !== undefined) return known;
    const read = this.#normalise(object);
    const shown = this.#settle(withApiVersion(read, this.#apiVersion), object.apiVersion);
    return this.#remember(object, shown);
  }

  /** With a converter: objects of other versions are converted, a page at once. */
  async prepare(page: readonly CachedObject[]): Promise<void> {
    const { converter } = this.#deps;
    if (converter === undefined) return;
    const missing = page
      .filter(({ revision }) => !this.isAsStored(revision))
      .map(({ object }) => object)
      .filter((object) => !this.#shown.has(object) && object.apiVersion !== this.#apiVersion);
    if (missing.length === 0) return;
    const read = missing.map((object) => this.#normalise(object));
    const converted = await converter.convertMany(read, this.#apiVersion);
    missing.forEach((object, at) => {
      const made = must(converted[at], "a conversion without its object");
      this.#remember(object, this.#settle(made, object.apiVersion));
    });
  }

  read(cached: CachedObject): AnyObject | Promise<AnyObject> {
    if (this.#deps.converter === undefined) return this.show(cached.object);
    return this.prepare([cached]).then(() => this.show(cached.object));
  }

  write(object: AnyObject): AnyObject | Promise<AnyObject> {
    const to = this.#storedApiVersion;
    if (to === this.#apiVersion) return object;
    const { converter } = this.#deps;
    if (converter === undefined) return this.#normalise(withApiVersion(object, to));
    const converted = converter.convertMany([object], to);
    return converted.then(([made]) =>
      this.#normalise(must(made, "a conversion without its object")),
    );
  }

  #remember(object: AnyObject, shown: AnyObject): AnyObject {
    this.#shown.set(object, shown);
    this.#shown.set(shown, shown);
    return shown;
  }

  /** As the schema of the object's own version has it. */
  #normalise(object: AnyObject): AnyObject {
    const structural = this.#schemaOf(object.apiVersion);
    return withDefaults(decode(object, structural, true).object, structural);
  }

  /** A converted object: only what the wanted version knows. */
  #settle(object: AnyObject, from: string | undefined): AnyObject {
    if (from === this.#apiVersion) return object;
    return decode(object, this.#schemaOf(this.#apiVersion), true).object;
  }

  #schemaOf(apiVersion: string | undefined): Structural | undefined {
    return this.#deps.schemas.of(parseApiVersion(apiVersion ?? "")?.version ?? "");
  }
}

/** Duplicates first, as upstream: the text is decoded before it is pruned. */
function findingsOf(
  unknown: readonly string[],
  duplicates: JsonScan | undefined,
): readonly string[] {
  const texts = unknown
    .slice(0, findingsMax)
    .map((path) => `unknown field ${JSON.stringify(path)}`);
  return [...fieldFindings([], duplicates), ...texts].slice(0, findingsMax);
}

interface Decoded {
  readonly object: AnyObject;
  readonly unknown: readonly string[];
  readonly error: string | undefined;
}

function decode(
  object: AnyObject,
  structural: Structural | undefined,
  dropInvalid = false,
): Decoded {
  const data = object as unknown as JsonObject; // objects are plain JSON data
  const coerced = coerceMetadata(data, structural, { dropInvalid, isResourceRoot: true });
  if (coerced.error !== undefined) {
    const { field, message } = coerced.error;
    // Of the object's own metadata the decoder says what is wrong, not with what.
    const isOwn = field === "metadata" || field.startsWith("metadata.");
    const own = message.replace(/^Invalid value: [^]*?: (?=json: )/, "");
    return { object, unknown: [], error: isOwn ? own : `${field}: ${message}` };
  }
  const pruned = prune(coerced.object, structural, true);
  const unknown = [...coerced.unknownFields, ...pruned.unknownFields];
  const kept = structural === undefined ? pruned.object : dropNulls(pruned.object, structural);
  return { object: kept as unknown as AnyObject, unknown, error: undefined };
}

function withDefaults(object: AnyObject, structural: Structural | undefined): AnyObject {
  if (structural === undefined) return object;
  const data = object as unknown as JsonObject; // objects are plain JSON data
  return applyStructuralDefaults(data, structural) as unknown as AnyObject;
}
