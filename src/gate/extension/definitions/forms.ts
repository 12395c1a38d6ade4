/**
 * Converts objects of one definition between the stored version and the requested version.
 *
 * write   schema of the version that was sent (decode, default) -> converter -> schema of the stored version
 * read    stored bytes as they are when this epoch wrote them (epoch.ts); else the schema of the version
 *         they are in -> conversion -> schema of the version that is asked for
 * status  a new object is stored without the status that its creator sent, and without the defaults of a status: as in
 *         upstream, they are filled in at each read, until the first update stores them
 *
 * Holds  an object that needs a webhook's conversion is never shown without it: `show` and `json` need `hold` first. An
 *        object that was converted for an outdated definition is never shown.
 */
import type { AnyObject, JsonObject } from "#api/object.ts";
import { apiVersionOf, parseApiVersion } from "#api/object.ts";
import { coerceMetadata } from "#api/structural/coerce.ts";
import { applyStructuralDefaults, dropNulls } from "#api/structural/default.ts";
import { prune } from "#api/structural/prune.ts";
import type { Structural } from "#api/structural/structural.ts";
import { assert, must } from "#base/assert.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { MemoPool } from "#forms/memo-pool.ts";
import { type Converter, withApiVersion } from "./conversion.ts";
import { ConvertedObjects } from "./converted-objects.ts";
import { type Definition, storageVersionOf } from "./definition.ts";
import type { Epoch } from "./epoch.ts";
import type { Schemas } from "./schemas.ts";

interface FormsDeps {
  readonly definition: Definition;
  readonly epoch: Epoch;
  readonly schemas: Schemas;
  /** Converter of the definition. Undefined: its strategy is None. */
  readonly converter: Converter | undefined;
  readonly convertedObjects: MemoPool;
}

const encoder = new TextEncoder();

export class Forms {
  readonly #deps: FormsDeps;
  readonly #apiVersion: string;
  readonly #storedApiVersion: string;
  /** With strategy None: by stored object, the object in this version. A result is also mapped to itself. */
  readonly #shown = new WeakMap<AnyObject, AnyObject>();
  /** Whether the bytes of a stored object contain the defaults of its status. */
  readonly #complete = new WeakMap<CachedObject, boolean>();
  readonly #converted: ConvertedObjects;
  #statusDefaults: boolean | undefined;

  constructor(deps: FormsDeps, apiVersion: string) {
    const { definition, epoch } = deps;
    const { group } = definition.spec;
    this.#deps = deps;
    this.#apiVersion = apiVersion;
    this.#storedApiVersion = apiVersionOf({ group, version: storageVersionOf(definition) });
    this.#converted = new ConvertedObjects(deps.convertedObjects, (objects) =>
      this.#convertStored(objects),
    );
    if (deps.converter !== undefined) epoch.onEnd(() => this.#converted.clear());
  }

  isAsStored(cached: CachedObject): boolean {
    return this.#isOwn(cached.revision) && this.#hasItsStatus(cached);
  }

  /** Returns whether the object is stored in this version and was written under this epoch. */
  #isOwn(revision: number): boolean {
    return this.#apiVersion === this.#storedApiVersion && this.#deps.epoch.isSettled(revision);
  }

  #hasItsStatus(cached: CachedObject): boolean {
    if (!this.#fillsStatus) return true;
    const known = this.#complete.get(cached);
    if (known !== undefined) return known;
    const isComplete = this.#filled(cached.object) === cached.object;
    this.#complete.set(cached, isComplete);
    return isComplete;
  }

  get #fillsStatus(): boolean {
    this.#statusDefaults ??= hasStatusDefaults(this.#schemaOf(this.#apiVersion));
    return this.#statusDefaults;
  }

  #filled(object: AnyObject): AnyObject {
    return withDefaults(object, this.#schemaOf(this.#apiVersion));
  }

  /** Returns whether `show` and `json` can return the object at once. */
  isReady(cached: CachedObject): boolean {
    return !this.#needsConverter(cached) || this.#converted.find(cached) !== undefined;
  }

  /** Makes all objects ready, until the result is disposed of. */
  hold(objects: readonly CachedObject[]): Promise<Disposable> {
    return this.#converted.hold(objects.filter((cached) => this.#needsConverter(cached)));
  }

  show(cached: CachedObject): AnyObject {
    if (this.#needsConverter(cached)) return this.#held(cached).object;
    return this.isAsStored(cached) ? cached.object : this.#made(cached.object);
  }

  json(cached: CachedObject): Uint8Array {
    if (this.#needsConverter(cached)) return this.#held(cached).json;
    if (this.isAsStored(cached)) return cached.json;
    return encoder.encode(JSON.stringify(this.#made(cached.object)));
  }

  /** Completes a stored object. With a converter it must be in this version already. */
  fromStored(object: AnyObject): AnyObject {
    if (this.#deps.converter !== undefined) {
      const { apiVersion } = object;
      assert(apiVersion === this.#apiVersion, "an object was not converted", { apiVersion });
    } else if (!this.#isOwn(Number(object.metadata?.resourceVersion ?? 0))) {
      return this.#made(object);
    }
    return this.#fillsStatus ? this.#filled(object) : object;
  }

  /** Converts an object of any version of the definition to another one. Needs a converter. */
  async convert(object: AnyObject, to: string): Promise<AnyObject> {
    const converter = must(this.#deps.converter, "nobody converts");
    const [made] = await converter.convertMany([object], to);
    const converted = must(made, "a conversion without its object");
    return decode(converted, this.#schemaOf(to), true).object;
  }

  async read(cached: CachedObject): Promise<AnyObject> {
    if (this.#deps.converter === undefined) return this.show(cached);
    using _held = await this.hold([cached]);
    return this.show(cached);
  }

  write(object: AnyObject): AnyObject | Promise<AnyObject> {
    const to = this.#storedApiVersion;
    if (to === object.apiVersion) return object;
    const { converter } = this.#deps;
    if (converter === undefined) return this.#normalise(withApiVersion(object, to));
    const converted = converter.convertMany([object], to);
    return converted.then(([made]) =>
      this.#normalise(must(made, "a conversion without its object")),
    );
  }

  #needsConverter(cached: CachedObject): boolean {
    if (this.#deps.converter === undefined || this.#isOwn(cached.revision)) return false;
    // Settled objects are in the stored version, so they need not be parsed to find their version.
    if (this.#deps.epoch.isSettled(cached.revision)) return true;
    return cached.object.apiVersion !== this.#apiVersion;
  }

  #held(cached: CachedObject): { readonly object: AnyObject; readonly json: Uint8Array } {
    return must(this.#converted.find(cached), "an object is shown before it is converted");
  }

  async #convertStored(objects: readonly CachedObject[]): Promise<readonly AnyObject[]> {
    const { epoch } = this.#deps;
    const converter = must(this.#deps.converter, "nobody converts");
    const read = objects.map(({ object }) => this.#normalise(object));
    const converted = await converter.convertMany(read, this.#apiVersion);
    if (epoch.hasEnded) throw epoch.changed();
    return converted.map((made, at) => this.#settle(made, read[at]?.apiVersion));
  }

  #made(object: AnyObject): AnyObject {
    const known = this.#shown.get(object);
    if (known !== undefined) return known;
    const read = this.#normalise(object);
    const shown = this.#settle(withApiVersion(read, this.#apiVersion), object.apiVersion);
    this.#shown.set(object, shown);
    this.#shown.set(shown, shown);
    return shown;
  }

  /** Prunes the object and adds defaults, by the schema of the object's own version. */
  #normalise(object: AnyObject): AnyObject {
    const structural = this.#schemaOf(object.apiVersion);
    return withDefaults(decode(object, structural, true).object, structural);
  }

  /** Removes the fields that the requested version does not know from a converted object. */
  #settle(object: AnyObject, from: string | undefined): AnyObject {
    if (from === this.#apiVersion) return object;
    return decode(object, this.#schemaOf(this.#apiVersion), true).object;
  }

  #schemaOf(apiVersion: string | undefined): Structural | undefined {
    return this.#deps.schemas.of(parseApiVersion(apiVersion ?? "")?.version ?? "");
  }
}

interface Decoded {
  readonly object: AnyObject;
  readonly unknown: readonly string[];
  readonly error: string | undefined;
}

/** Orders the fields: the object's own metadata, the rest of the object, then the metadata of embedded objects. */
function inUpstreamsOrder(
  ofMetadata: readonly string[],
  pruned: readonly string[],
): readonly string[] {
  const isOwn = (path: string): boolean => path.startsWith("metadata.");
  const embedded = ofMetadata.filter((path) => !isOwn(path));
  return [...ofMetadata.filter(isOwn), ...pruned, ...embedded];
}

export function decode(
  object: AnyObject,
  structural: Structural | undefined,
  dropInvalid = false,
): Decoded {
  const data = object as unknown as JsonObject; // objects are plain JSON data
  const coerced = coerceMetadata(data, structural, { dropInvalid, isResourceRoot: true });
  if (coerced.error !== undefined) {
    const { field, message } = coerced.error;
    // For the object's own metadata, the decoder's message does not contain the value.
    const isOwn = field === "metadata" || field.startsWith("metadata.");
    const own = message.replace(/^Invalid value: [^]*?: (?=json: )/, "");
    return { object, unknown: [], error: isOwn ? own : `${field}: ${message}` };
  }
  const pruned = prune(coerced.object, structural, true);
  const unknown = inUpstreamsOrder(coerced.unknownFields, pruned.unknownFields);
  const kept = structural === undefined ? pruned.object : dropNulls(pruned.object, structural);
  return { object: kept as unknown as AnyObject, unknown, error: undefined };
}

function hasStatusDefaults(structural: Structural | undefined): boolean {
  const status = structural?.property("status");
  return status !== undefined && status.hasDefaults;
}

export function withDefaults(object: AnyObject, structural: Structural | undefined): AnyObject {
  if (structural === undefined) return object;
  const data = object as unknown as JsonObject; // objects are plain JSON data
  return applyStructuralDefaults(data, structural) as unknown as AnyObject;
}
