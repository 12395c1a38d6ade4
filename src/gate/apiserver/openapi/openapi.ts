/**
 * The encoded OpenAPI documents: each is encoded at its first request and kept with its ETag.
 *
 * Holds  a kept document equals the document that the current surface would give. A change of the surface drops only
 *        the documents whose resources or definitions it changed. Each document is made once for all concurrent
 *        requests (`LazyProducts`), and at most `makersMax` are made at a time.
 * Cost   nothing before the first request. The index needs the hash of every version 3 document: about 0.1 s once for
 *        the built-in ones. The version 2 document takes about 0.1 s and 2.4 MB.
 * Bound  one document per group-version. The bytes depend on the number of CRDs: 9 MB without CRDs, and as much in
 *        protobuf. `forgetBodies` frees them; it is called after some minutes without a request.
 */
import { apiVersionOf, type GroupVersion, type JsonObject } from "#api/object.ts";
import { stepsInTurns } from "#base/steps.ts";
import { LazyProducts, Makers } from "#platform/lazy-products.ts";
import type { Pace } from "#platform/pace.ts";
import { hasOpenapiV3, openapiV2Steps, openapiV3Names, openapiV3Steps } from "./documents.ts";
import { mergeV2 } from "./merge-v2.ts";
import { encodeJson, encodeJsonSteps, withHash, type EncodedDocument } from "./encoded-document.ts";
import type { ApiSurface } from "./model.ts";
import { openapiV2ProtobufSteps } from "./proto-v2.ts";
import { openapiV3ProtobufSteps } from "./proto-v3.ts";

/** Number of steps per turn; a step takes up to 0.2 ms. */
const stepsPerTurn = 64;

/** Maximum number of documents made at once; each is held in memory until it is encoded. */
const makersMax = 2;

type DocumentForm = "json" | "protobuf";

/** Yields to the event loop between the steps of a document. */
type Turns = Pick<Pace, "turn">;

export class OpenapiDocuments {
  readonly #readSurface: () => ApiSurface;
  /** Undefined: the surface has changed, and no document has been requested since. */
  #known: ApiSurface | undefined;
  #others: readonly JsonObject[] = [];
  readonly #v2: LazyProducts<EncodedDocument>;
  readonly #v3: LazyProducts<EncodedDocument>;
  /** The index has a maker of its own, because it waits for the makers of bodies. */
  readonly #index = new LazyProducts<EncodedDocument>(new Makers(1));

  constructor(readSurface: () => ApiSurface) {
    this.#readSurface = readSurface;
    const makers = new Makers(makersMax);
    this.#v2 = new LazyProducts(makers);
    this.#v3 = new LazyProducts(makers);
  }

  /**
   * Call when resources were added or removed; unchanged rows and definitions must be the same objects. The call costs
   * nothing: the surface is read at the next request for a document.
   */
  surfaceChanged(): void {
    this.#known = undefined;
  }

  get #surface(): ApiSurface {
    if (this.#known !== undefined) return this.#known;
    const surface = this.#readSurface();
    const known = new Set(openapiV3Names(surface).flatMap((name) => forms.map(keyOf(name))));
    this.#v3.retain((key) => known.has(key));
    this.#known = surface;
    return surface;
  }

  /** Sets the version 2 documents of other servers, which are merged into this server's. */
  setOthers(others: readonly JsonObject[]): void {
    this.#others = others;
  }

  /** Drops the bodies; requests make them again. The index stays: it is small and needs all documents. */
  forgetBodies(): void {
    this.#v2.forget();
    this.#v3.forget();
  }

  hasV3(name: string): boolean {
    return hasOpenapiV3(this.#surface, name);
  }

  /** Document of `/openapi/v3`: paths with their hashes. */
  v3Index(pace: Turns): Promise<EncodedDocument> {
    return this.#index.get("index", {
      sources: () => [this.#surface],
      make: () => this.#makeIndex(pace),
    });
  }

  async #makeIndex(pace: Turns): Promise<EncodedDocument> {
    const paths: [string, object][] = [];
    for (const name of openapiV3Names(this.#surface)) {
      const document = await this.v3(name, "json", pace);
      // The document was removed meanwhile, so this index will not be kept.
      if (document === undefined) continue;
      paths.push([name, { serverRelativeURL: `/openapi/v3/${name}?hash=${document.hash}` }]);
      await pace.turn();
    }
    return encodeJson({ paths: Object.fromEntries(paths) });
  }

  /**
   * Returns `/openapi/v3/<name>`. Undefined: the name is not in the index. Both forms have the hash of the JSON form,
   * which is the hash in the index.
   */
  async v3(name: string, form: DocumentForm, pace: Turns): Promise<EncodedDocument | undefined> {
    if (!this.hasV3(name)) return undefined;
    return this.#v3.get(keyOf(name)(form), {
      sources: () => this.#madeOf(name),
      make: () => this.#makeV3(name, form, pace),
    });
  }

  async #makeV3(name: string, form: DocumentForm, pace: Turns): Promise<EncodedDocument> {
    const turn = (): Promise<void> => pace.turn();
    const sources = this.#madeOf(name);
    const steps = openapiV3Steps(this.#surface, name);
    // Empty if the name was removed while this waited for a free maker; the product is not read again.
    const document = (await stepsInTurns(steps, turn, stepsPerTurn)) ?? {};
    const inJson =
      this.#v3.kept(keyOf(name)("json"), sources)?.value ??
      (await stepsInTurns(encodeJsonSteps(document), turn, stepsPerTurn));
    if (form === "json") return inJson;
    const body = await stepsInTurns(openapiV3ProtobufSteps(document), turn, stepsPerTurn);
    return { body, hash: inJson.hash };
  }

  /** Document of `/openapi/v2`; its protobuf form is that of gnostic. */
  v2(form: DocumentForm, pace: Turns): Promise<EncodedDocument> {
    return this.#v2.get(form, {
      sources: () => [this.#surface, this.#others],
      make: () => this.#makeV2(form, pace),
    });
  }

  async #makeV2(form: DocumentForm, pace: Turns): Promise<EncodedDocument> {
    const turn = (): Promise<void> => pace.turn();
    const others = this.#others;
    const own = await stepsInTurns(openapiV2Steps(this.#surface), turn, stepsPerTurn);
    const document = mergeV2(own, others);
    await turn();
    return form === "json"
      ? stepsInTurns(encodeJsonSteps(document), turn, stepsPerTurn)
      : withHash(await stepsInTurns(openapiV2ProtobufSteps(document), turn, stepsPerTurn));
  }

  #madeOf(name: string): readonly object[] {
    return sourcesOf(this.#surface).get(name) ?? [];
  }
}

const forms: readonly DocumentForm[] = ["json", "protobuf"];

function keyOf(name: string): (form: DocumentForm) => string {
  return (form) => `${form} ${name}`;
}

/** The rows and definitions that each document is made of, found once per surface. */
const sources = new WeakMap<ApiSurface, ReadonlyMap<string, readonly object[]>>();

function sourcesOf(surface: ApiSurface): ReadonlyMap<string, readonly object[]> {
  const known = sources.get(surface);
  if (known !== undefined) return known;
  const made = new Map<string, object[]>();
  const add = (gv: GroupVersion, source: object): void => {
    const name = `${gv.group === "" ? "api" : "apis"}/${apiVersionOf(gv)}`;
    const others = made.get(name);
    if (others === undefined) made.set(name, [source]);
    else others.push(source);
  };
  for (const row of surface.resources) add(row, row);
  for (const definition of surface.custom) {
    for (const gvk of definition.kinds) add(gvk, definition);
  }
  sources.set(surface, made);
  return made;
}
