/**
 * Reads the OpenAPI documents of a remote group-version: the whole version 2 document, because it is merged; only the
 * location of the version 3 document, because requests for it are passed on.
 *
 * Holds  only paths below `/apis/G/V/` and their definitions are copied. A document that this server could not encode
 *        again is refused here, not where it is served.
 * Bounds `openapiBytesMax` and `openapiIndexBytesMax`, read in the background, while no request waits.
 */
import type { JsonObject } from "#api/object.ts";
import { mergeV2, partOfV2 } from "#apiserver/openapi/merge-v2.ts";
import { encodeOpenapiV2 } from "#apiserver/openapi/proto-v2.ts";
import type { AggregationLimits } from "./limits.ts";
import type { FetchOptions, Remote } from "./remote.ts";

export interface RemoteOpenapi {
  /** Document of version 2. Absent: the server has none. */
  readonly v2?: JsonObject;
  /** Size of the answer with version 2. It counts towards the bound of all kept documents. */
  readonly v2Bytes: number;
  readonly v2Etag: string;
  /** `/openapi/v3/apis/G/V?hash=...`, or "" if the server has no version 3. */
  readonly v3Url: string;
}

const user = { name: "system:aggregator", groups: [] };
const decoder = new TextDecoder("utf-8", { fatal: true });

export async function fetchOpenapi(
  limits: AggregationLimits,
  remote: Remote,
  before: RemoteOpenapi | undefined,
  signal: AbortSignal,
): Promise<RemoteOpenapi> {
  const shared = { user, timeoutMs: limits.openapiMs, signal };
  const v3Url = await fetchV3(remote, {
    ...shared,
    path: "/openapi/v3",
    headers: { accept: "application/json" },
    bytesMax: limits.openapiIndexBytesMax,
  });
  const tag = before?.v2Etag ?? "";
  const answer = await remote.fetch({
    ...shared,
    path: "/openapi/v2",
    headers: { accept: "application/json", ...(tag === "" ? {} : { "if-none-match": tag }) },
    bytesMax: limits.openapiBytesMax,
  });
  const { status, headers, body } = answer;
  if (status === 304 && before !== undefined) return { ...before, v3Url };
  if (status === 404) return { v2Bytes: 0, v2Etag: "", v3Url };
  if (status !== 200) throw new Error(`failed to retrieve openAPI spec, http error: ${status}`);
  const v2 = readV2(remote, body);
  return { v2, v2Bytes: body.length, v2Etag: headers["etag"] ?? "", v3Url };
}

function readV2({ spec: { group, version } }: Remote, body: Uint8Array): JsonObject {
  const document = JSON.parse(decoder.decode(body)) as JsonObject; // checked by partOfV2
  const part = partOfV2(document, `/apis/${group}/${version}/`);
  encodeOpenapiV2(mergeV2({ swagger: "2.0", info: {}, paths: {}, definitions: {} }, [part]));
  return part;
}

async function fetchV3(remote: Remote, options: FetchOptions): Promise<string> {
  const { status, body } = await remote.fetch(options);
  if (status === 404) return "";
  if (status !== 200) throw new Error(`failed to retrieve openAPI v3 index, http error: ${status}`);
  const { group, version } = remote.spec;
  const name = `apis/${group}/${version}`;
  const { paths = {} } = JSON.parse(decoder.decode(body)) as {
    readonly paths?: Readonly<Record<string, { readonly serverRelativeURL?: unknown }>>;
  };
  const entry = Object.hasOwn(paths, name) ? paths[name] : undefined;
  if (entry === undefined) return "";
  const own = `/openapi/v3/${name}`;
  const { serverRelativeURL: url } = entry;
  const isOwn = typeof url === "string" && url.split("?")[0] === own && /^[\w/.?=%&-]+$/.test(url);
  return isOwn ? url : own;
}
