/**
 * The OpenAPI documents as they are sent: encoded once when first asked for, kept with their ETag.
 *
 * Holds  a kept document equals what the current surface would make. A change of the surface drops
 *        only the documents whose resources or definitions it touched.
 * Cost   nothing until asked. The index needs the hash of every version 3 document: about 0.1 s once
 *        for the built-in ones; the version 2 document about 0.1 s and 2.4 MB.
 * Bound  documents are as many as group-versions; bytes follow the number of CRDs: 9 MB without any, and as much in protobuf.
 *        `forgetBodies` lets go of them; it is called when nobody has asked for some minutes.
 */
import { apiVersionOf, type GroupVersion, type JsonObject } from "#api/object.ts";
import { stepsInTurns } from "#base/steps.ts";
import type { Pace } from "#platform/pace.ts";
import {
  hasOpenapiV3,
  openapiV2Document,
  openapiV2Steps,
  openapiV3Document,
  openapiV3Names,
  openapiV3Steps,
} from "./documents.ts";
import { mergeV2 } from "./merge-v2.ts";
import { encodeJson, encodeJsonSteps, withHash, type EncodedDocument } from "./encoded-document.ts";
import type { ApiSurface } from "./model.ts";
import { encodeOpenapiV2, openapiV2ProtobufSteps } from "./proto-v2.ts";
import { encodeOpenapiV3, openapiV3ProtobufSteps } from "./proto-v3.ts";

/** A step takes up to 0.2 ms. */
const stepsPerTurn = 64;

type DocumentForm = "json" | "protobuf";

interface Kept extends EncodedDocument {
  /** The rows and definitions it was made of, compared by identity. */
  readonly made: readonly object[];
}

export class OpenapiDocuments {
  readonly #readSurface: () => ApiSurface;
  /** Undefined: it changed, and nobody has asked since. */
  #known: ApiSurface | undefined;
  #others: readonly JsonObject[] = [];
  readonly #v3: Readonly<Record<DocumentForm, Map<string, Kept>>> = {
    json: new Map(),
    protobuf: new Map(),
  };
  #index: EncodedDocument | undefined;
  #v2Json: EncodedDocument | undefined;
  #v2Protobuf: EncodedDocument | undefined;

  constructor(readSurface: () => ApiSurface) {
    this.#readSurface = readSurface;
  }

  /**
   * Call when resources were added or removed; unchanged rows and definitions must be the same objects.
   * Costs nothing: the surface is read when somebody asks for a document.
   */
  surfaceChanged(): void {
    this.#known = undefined;
    this.#index = undefined;
    this.#v2Json = undefined;
    this.#v2Protobuf = undefined;
  }

  get #surface(): ApiSurface {
    if (this.#known !== undefined) return this.#known;
    const surface = this.#readSurface();
    const names = new Set(openapiV3Names(surface));
    for (const kept of Object.values(this.#v3)) {
      for (const name of kept.keys()) if (!names.has(name)) kept.delete(name);
    }
    this.#known = surface;
    return surface;
  }

  /** Version 2 documents of other servers, merged into this one's. */
  setOthers(others: readonly JsonObject[]): void {
    this.#others = others;
    this.#v2Json = undefined;
    this.#v2Protobuf = undefined;
  }

  /** What is asked for again is made again. The index stays: it is small, and needs all documents to be made. */
  forgetBodies(): void {
    for (const kept of Object.values(this.#v3)) kept.clear();
    this.#v2Json = undefined;
    this.#v2Protobuf = undefined;
  }

  /** Makes what the index needs, in turns of the loop: `v3Index` is quick afterwards. */
  async prepareV3Index(pace: Pace): Promise<void> {
    for (const name of openapiV3Names(this.#surface)) {
      if (this.#index !== undefined) return;
      this.v3(name);
      await pace.turn();
    }
  }

  /** The same for one version 3 document in one of its forms: nothing for a name that is not in the index. */
  async prepareV3(name: string, form: DocumentForm, pace: Pace): Promise<void> {
    if (this.#keptV3(name, form) !== undefined) return;
    const made = this.#madeOf(name);
    const turn = (): Promise<void> => pace.turn();
    const document = await stepsInTurns(openapiV3Steps(this.#surface, name), turn, stepsPerTurn);
    if (document === undefined) return;
    const body =
      form === "json"
        ? undefined
        : await stepsInTurns(openapiV3ProtobufSteps(document), turn, stepsPerTurn);
    // What has changed meanwhile is not kept.
    if (!sameItems(made, this.#madeOf(name))) return;
    const { hash } = this.#keptV3(name, "json") ?? this.#keepV3(name, "json", encodeJson(document));
    if (body !== undefined) this.#keepV3(name, "protobuf", { body, hash });
  }

  /** The same for the version 2 document in one of its forms. */
  async prepareV2(form: DocumentForm, pace: Pace): Promise<void> {
    const made = form === "json" ? this.#v2Json : this.#v2Protobuf;
    if (made !== undefined) return;
    const surface = this.#surface;
    const others = this.#others;
    const turn = (): Promise<void> => pace.turn();
    const own = await stepsInTurns(openapiV2Steps(surface), turn, stepsPerTurn);
    const document = mergeV2(own, others);
    await pace.turn();
    const encoded =
      form === "json"
        ? await stepsInTurns(encodeJsonSteps(document), turn, stepsPerTurn)
        : withHash(await stepsInTurns(openapiV2ProtobufSteps(document), turn, stepsPerTurn));
    // Of a surface that has changed meanwhile nothing is kept.
    if (surface !== this.#surface || others !== this.#others) return;
    if (form === "json") this.#v2Json ??= encoded;
    else this.#v2Protobuf ??= encoded;
  }

  /** `/openapi/v3`: paths with their hashes. */
  v3Index(): EncodedDocument {
    this.#index ??= encodeJson({ paths: this.#v3Paths() });
    return this.#index;
  }

  hasV3(name: string): boolean {
    return hasOpenapiV3(this.#surface, name);
  }

  /** `/openapi/v3/<name>`; undefined for a name that is not in the index. */
  v3(name: string): EncodedDocument | undefined {
    const kept = this.#keptV3(name, "json");
    if (kept !== undefined) return kept;
    const document = openapiV3Document(this.#surface, name);
    return document === undefined ? undefined : this.#keepV3(name, "json", encodeJson(document));
  }

  /** The same in gnostic's protobuf; the hash is that of the JSON form, which the index gives. */
  v3Protobuf(name: string): EncodedDocument | undefined {
    const kept = this.#keptV3(name, "protobuf");
    if (kept !== undefined) return kept;
    const document = openapiV3Document(this.#surface, name);
    const hash = this.v3(name)?.hash;
    if (document === undefined || hash === undefined) return undefined;
    return this.#keepV3(name, "protobuf", { body: encodeOpenapiV3(document), hash });
  }

  #keptV3(name: string, form: DocumentForm): EncodedDocument | undefined {
    const kept = this.#v3[form].get(name);
    return kept !== undefined && sameItems(kept.made, this.#madeOf(name)) ? kept : undefined;
  }

  #keepV3(name: string, form: DocumentForm, document: EncodedDocument): EncodedDocument {
    const kept = { ...document, made: this.#madeOf(name) };
    this.#v3[form].set(name, kept);
    return kept;
  }

  v2Json(): EncodedDocument {
    this.#v2Json ??= encodeJson(this.#v2Document());
    return this.#v2Json;
  }

  /** Gnostic's protobuf form. */
  v2Protobuf(): EncodedDocument {
    this.#v2Protobuf ??= withHash(encodeOpenapiV2(this.#v2Document()));
    return this.#v2Protobuf;
  }

  #v2Document(): JsonObject {
    return mergeV2(openapiV2Document(this.#surface), this.#others);
  }

  #v3Paths(): object {
    const entries = openapiV3Names(this.#surface).map((name) => {
      const hash = this.v3(name)?.hash ?? "";
      return [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` }];
    });
    return Object.fromEntries(entries);
  }

  #madeOf(name: string): readonly object[] {
    return sourcesOf(this.#surface).get(name) ?? [];
  }
}

/** Rows and definitions each document is made of, once per surface. */
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

function sameItems(a: readonly object[], b: readonly object[]): boolean {
  return a.length === b.length && a.every((item, at) => item === b[at]);
}
