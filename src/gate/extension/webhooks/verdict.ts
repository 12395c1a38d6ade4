/**
 * Reads and checks a webhook's answer before it is used.
 *
 * Holds  a verdict must belong to the request that was sent: uid and, in v1, apiVersion and kind are checked. Texts as
 *        upstream's VerifyAdmissionResponse.
 */
import { isJsonObject } from "#api/json/json-value.ts";
import type { JsonObject, JsonValue } from "#api/object.ts";
import type { Status } from "#api/status.ts";
import { CallError } from "./call-error.ts";
import type { HookType } from "./hook.ts";

export interface Verdict {
  readonly allowed: boolean;
  /** Decoded JSON patch. Undefined: the object stays unchanged. */
  readonly patch: JsonValue | undefined;
  readonly result: Partial<Status> | undefined;
  readonly warnings: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
}

interface Asked {
  readonly type: HookType;
  readonly version: "v1" | "v1beta1";
  readonly uid: string;
}

/** @throws CallError */
export function readVerdict(bytes: Uint8Array, asked: Asked): Verdict {
  const review = parse(bytes);
  const { response } = review;
  if (!isJsonObject(response)) throw invalid("webhook response was absent");
  if (asked.version === "v1") checkIdentity(review, response, asked);
  return {
    allowed: response["allowed"] === true,
    patch: patchOf(response, asked),
    result: statusOf(response["status"]),
    warnings: texts(response["warnings"]),
    annotations: textMap(response["auditAnnotations"]),
  };
}

function parse(bytes: Uint8Array): JsonObject & { readonly response?: JsonValue } {
  let review: unknown;
  try {
    review = JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw undecodable((error as Error).message);
  }
  if (isJsonObject(review)) return review;
  const given = Array.isArray(review) ? "array" : review === null ? "null" : typeof review;
  throw undecodable(`json: cannot unmarshal ${given} into Go value of type AdmissionReview`);
}

function undecodable(why: string): CallError {
  return new CallError(
    `failed to call webhook: couldn't get version/kind; json parse error: ${why}`,
  );
}

function checkIdentity(review: JsonObject, response: JsonObject, { uid }: Asked): void {
  const given = response["uid"] ?? "";
  if (given !== uid)
    throw invalid(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(given)}`);
  const [apiVersion, kind] = [textOf(review["apiVersion"]), textOf(review["kind"])];
  if (apiVersion === "admission.k8s.io/v1" && kind === "AdmissionReview") return;
  const group = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
  const wanted = "admission.k8s.io/v1, Kind=AdmissionReview";
  throw invalid(`expected webhook response of ${wanted}, got ${group}, Kind=${kind}`);
}

function patchOf(response: JsonObject, { type, version }: Asked): JsonValue | undefined {
  const patch = response["patch"] ?? "";
  const patchType = response["patchType"] ?? undefined;
  const isPatched = patch !== "";
  if (type === "validating") {
    if (version === "v1beta1") return undefined;
    if (isPatched) throw invalid("validating webhook may not return response.patch");
    if (patchType !== undefined)
      throw invalid("validating webhook may not return response.patchType");
    return undefined;
  }
  if (version === "v1") checkPatchType(isPatched, patchType);
  return isPatched ? decodePatch(patch) : undefined;
}

function checkPatchType(isPatched: boolean, patchType: JsonValue | undefined): void {
  if (isPatched && patchType === undefined)
    throw invalid("webhook returned response.patch but not response.patchType");
  if (!isPatched && patchType !== undefined)
    throw invalid("webhook returned response.patchType but not response.patch");
  if (patchType === "") throw invalid('webhook returned invalid response.patchType of ""');
  if (patchType === undefined || patchType === "JSONPatch") return;
  throw new CallError(`unsupported patch type ${JSON.stringify(patchType)}`, 400);
}

/** Decodes the base64 of a JSON patch. Values that are no patch operations fail when the patch is applied. */
function decodePatch(patch: JsonValue): JsonValue | undefined {
  try {
    if (typeof patch !== "string") throw new Error("json: cannot unmarshal into a byte slice");
    const value = JSON.parse(Buffer.from(patch, "base64").toString()) as JsonValue;
    if (!Array.isArray(value))
      throw new Error("json: cannot unmarshal into Go value of type jsonpatch.Patch");
    return value.length === 0 ? undefined : value;
  } catch (error) {
    const why = (error as Error).message;
    throw new CallError(`received undecodable patch in webhook response: ${why}`);
  }
}

function invalid(why: string): CallError {
  return new CallError(`received invalid webhook response: ${why}`);
}

/** Returns the status without fields of other types, because it is sent to the client. */
function statusOf(value: JsonValue | undefined): Partial<Status> | undefined {
  if (!isJsonObject(value)) return undefined;
  const { code, message, reason, details } = value;
  return {
    ...(typeof code === "number" ? { code } : {}),
    ...(typeof message === "string" ? { message } : {}),
    ...(typeof reason === "string" ? { reason: reason as NonNullable<Status["reason"]> } : {}), // its own, perhaps
    ...(isJsonObject(details) ? { details: detailsOf(details) } : {}),
  };
}

function detailsOf(details: JsonObject): NonNullable<Status["details"]> {
  const { retryAfterSeconds: seconds, ...rest } = details;
  const isCount = typeof seconds === "number" && Number.isInteger(seconds) && seconds >= 0;
  return { ...rest, ...(isCount ? { retryAfterSeconds: seconds } : {}) };
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function texts(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function textMap(value: JsonValue | undefined): Readonly<Record<string, string>> {
  if (!isJsonObject(value)) return {};
  const entries = Object.entries(value).filter((entry) => typeof entry[1] === "string");
  return Object.fromEntries(entries) as Record<string, string>; // filtered above
}
