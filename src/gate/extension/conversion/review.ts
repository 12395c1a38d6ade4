/**
 * ConversionReview: builds the question to a conversion webhook, and checks its answer.
 *
 * Holds  a converted object has the requested version and kind, and the name, namespace and UID of its original. Its
 *        metadata may differ only in labels and annotations.
 * After  apiextensions-apiserver pkg/apiserver/conversion/webhook_converter.go; texts are its own.
 */
import { given } from "#base/given.ts";
import { isJsonObject } from "#api/json/json-value.ts";
import { validateAnnotations, validateLabels } from "#api/meta.ts";
import type { AnyObject, JsonObject, JsonValue, ObjectMeta } from "#api/object.ts";
import type { FieldError } from "#api/status.ts";
import { dictionary } from "#base/own.ts";
import type { ConversionFailure } from "./metrics.ts";

export type ReviewVersion = "v1" | "v1beta1";

/** A fault of an answer. The message follows after `conversion webhook for <kind> `. */
export class ConversionError extends Error {
  /** Whether the message is complete without that text before it, as some of upstream are. */
  readonly isWhole: boolean;
  /** Step that failed, for metrics. */
  failure: ConversionFailure = "conversion_webhook_call_failure";

  constructor(message: string, isWhole = false) {
    super(message);
    this.isWhole = isWhole;
  }
}

interface Asked {
  readonly version: ReviewVersion;
  readonly uid: string;
  readonly apiVersion: string;
  /** Objects to convert, at least one. */
  readonly objects: readonly AnyObject[];
}

export function conversionQuestion({ version, uid, apiVersion, objects }: Asked): Uint8Array {
  const request = { uid, desiredAPIVersion: apiVersion, objects };
  const type = { kind: "ConversionReview", apiVersion: `apiextensions.k8s.io/${version}` };
  return new TextEncoder().encode(JSON.stringify({ ...type, request }));
}

/** Returns the first version that both sides know. Undefined: there is none. */
export function reviewVersionOf(versions: readonly string[]): ReviewVersion | undefined {
  return versions.find((version) => version === "v1" || version === "v1beta1");
}

/** Returns the converted objects, equal in number and order to the requested ones. @throws ConversionError */
export function readConverted(bytes: Uint8Array, asked: Asked): readonly AnyObject[] {
  // Upstream's client decodes the answer as a part of the call, so this failure counts as one of the call.
  const review = during("conversion_webhook_call_failure", () => parse(bytes));
  const malformed = "conversion_webhook_malformed_response_failure";
  const converted = during(malformed, () => convertedOf(review, asked));
  const partial = "conversion_webhook_partial_response_failure";
  during(partial, () => checkCount(converted, asked));
  const invalid = "conversion_webhook_invalid_converted_object_failure";
  return during(invalid, () => checkedAll(converted, asked));
}

/** Runs a step and marks its ConversionErrors with the failure. */
function during<T>(failure: ConversionFailure, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (error instanceof ConversionError) error.failure = failure;
    throw error;
  }
}

function checkCount(converted: readonly JsonValue[], { objects }: Asked): void {
  if (converted.length !== objects.length) {
    const text = `returned ${converted.length} objects, expected ${objects.length}`;
    throw new ConversionError(text);
  }
}

function checkedAll(
  converted: readonly JsonValue[],
  { objects, apiVersion }: Asked,
): readonly AnyObject[] {
  return objects.map((original, at) => checked(original, converted[at], apiVersion, at));
}

function parse(bytes: Uint8Array): JsonObject {
  let review: unknown;
  try {
    review = JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    const why = `couldn't get version/kind; json parse error: ${(error as Error).message}`;
    throw new ConversionError(`failed: ${why}`);
  }
  if (isJsonObject(review)) return review;
  throw new ConversionError("failed: the answer is no JSON object");
}

/** Returns the converted objects. For v1beta1 neither the answer's kind nor its UID is checked, as upstream. */
function convertedOf(review: JsonObject, { version, uid }: Asked): readonly JsonValue[] {
  if (version === "v1") checkType(review);
  const { response } = review;
  if (!isJsonObject(response)) throw new ConversionError("failed: no response provided");
  const given = response["uid"] ?? "";
  if (version === "v1" && given !== uid) {
    const text = `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(given)}`;
    throw new ConversionError(`failed: ${text}`);
  }
  const result = isJsonObject(response["result"]) ? response["result"] : {};
  const { status = "", message = "" } = result;
  if (status !== "Success") {
    const said = typeof message === "string" && message !== "" ? message : undefined;
    const text = said ?? `response.result.status was '${textOf(status)}', not 'Success'`;
    throw new ConversionError(`failed: ${text}`);
  }
  const objects = response["convertedObjects"] ?? [];
  if (!Array.isArray(objects))
    throw new ConversionError("failed: response.convertedObjects is no list");
  return objects;
}

function checkType(review: JsonObject): void {
  const [apiVersion, kind] = [textOf(review["apiVersion"]), textOf(review["kind"])];
  if (apiVersion === "apiextensions.k8s.io/v1" && kind === "ConversionReview") return;
  const wanted = "apiextensions.k8s.io/v1, Kind=ConversionReview";
  const given = `${apiVersion.includes("/") ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
  throw new ConversionError(`failed: expected webhook response of ${wanted}, got ${given}`);
}

/** Checks one object. Messages are worded as for a single object, because upstream converts a list object by object. */
function checked(
  original: AnyObject,
  value: JsonValue | undefined,
  apiVersion: string,
  at: number,
): AnyObject {
  const which = `returned invalid object at index ${at}`;
  if (!isJsonObject(value)) {
    const given = Array.isArray(value) ? "array" : typeof value;
    const text = `json: cannot unmarshal ${given} into Go value of type map[string]interface {}`;
    throw new ConversionError(text, true);
  }
  const [version, kind] = [textOf(value["apiVersion"]), textOf(value["kind"])];
  if (kind === "") {
    throw new ConversionError(`Object 'Kind' is missing in '${shortened(value)}'`, true);
  }
  if (version !== apiVersion) {
    const why = `invalid groupVersion (expected ${apiVersion}, received ${version})`;
    throw new ConversionError(`${which}: ${why}`);
  }
  if (kind !== original.kind) {
    const why = `invalid kind (expected ${original.kind ?? ""}, received ${kind})`;
    throw new ConversionError(`${which}: ${why}`);
  }
  const metadata = value["metadata"];
  const mismatch = identityError(original.metadata ?? {}, isJsonObject(metadata) ? metadata : {});
  if (mismatch !== undefined) throw new ConversionError(`returned invalid object: ${mismatch}`);
  const restored = restoredMetadata(original, metadata, "returned invalid metadata");
  return { ...(value as unknown as AnyObject), metadata: restored }; // apiVersion, kind and metadata are checked
}

function identityError(original: ObjectMeta, converted: JsonObject): string | undefined {
  const pairs = [
    ["name", original.name, converted["name"]],
    ["namespace", original.namespace, converted["namespace"]],
    ["UID", original.uid, converted["uid"]],
  ] as const;
  for (const [what, before = "", after] of pairs) {
    const given = textOf(after);
    if (before !== given) return `must have the same ${what}: ${before} != ${given}`;
  }
  return undefined;
}

/** Returns the original's metadata, with the labels and annotations of the converted object. */
function restoredMetadata(
  original: AnyObject,
  converted: JsonValue | undefined,
  where: string,
): ObjectMeta {
  if (converted === undefined)
    throw new ConversionError(`${where}: missing metadata in converted object`);
  if (!isJsonObject(converted)) {
    const text = `invalid metadata of type ${goTypeOf(converted)} in converted object`;
    throw new ConversionError(`${where}: ${text}`);
  }
  const { labels: _, annotations: __, ...kept } = original.metadata ?? {};
  const { labels: oldLabels = {}, annotations: oldAnnotations = {} } = original.metadata ?? {};
  const labels = textsOf(converted["labels"], "labels", where);
  const annotations = textsOf(converted["annotations"], "annotations", where);
  if (labels !== undefined && !isSame(labels, oldLabels))
    refuse(validateLabels(labels, "metadata.labels"), where);
  if (annotations !== undefined && !isSame(annotations, oldAnnotations))
    refuse(validateAnnotations(annotations, "metadata.annotation"), where);
  return {
    ...kept,
    ...given({ labels, annotations }),
  };
}

type Texts = Readonly<Record<string, string>>;

function textsOf(value: JsonValue | undefined, field: string, where: string): Texts | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) {
    const text = `invalid metadata.${field} of type ${goTypeOf(value)} in converted object`;
    throw new ConversionError(`${where}: ${text}`);
  }
  const texts = dictionary<string>();
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== "string") {
      const why = `must be a string, but is ${goTypeOf(text)} in converted object`;
      throw new ConversionError(`${where}: metadata.${field}[${key}] ${why}`);
    }
    texts[key] = text;
  }
  return texts;
}

function isSame(a: Texts, b: Texts): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

function refuse(errors: readonly FieldError[], where: string): void {
  if (errors.length === 0) return;
  const texts = errors.map(({ field, message }) => `${field}: ${message}`);
  const said = texts.length === 1 ? texts.join("") : `[${texts.join(", ")}]`;
  throw new ConversionError(`${where}: ${said}`);
}

/** Returns the type of decoded JSON as Go prints it. */
function goTypeOf(value: JsonValue): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return "[]interface {}";
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return "map[string]interface {}";
}

const shownMax = 200;

function shortened(value: JsonObject): string {
  const text = JSON.stringify(value);
  return text.length > shownMax ? `${text.slice(0, shownMax)}...` : text;
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
