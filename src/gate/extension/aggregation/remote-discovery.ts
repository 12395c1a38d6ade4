/**
 * Reads the discovery document of a remote group-version: its aggregated document, or one made from its plain document.
 *
 * Holds  only known fields of the group-version are copied: a remote adds nothing else to this server's documents.
 *        Errors are thrown: the caller then marks its kept document as stale.
 * Bounds `discoveryBytesMax`, `discoveryMs`.
 */
import type { RemoteResource, RemoteSubresource } from "#apiserver/discovery/merged.ts";
import { aggregatorUser } from "./availability.ts";
import type { AggregationLimits } from "./limits.ts";
import type { Fetched, Remote } from "./remote.ts";

export interface Discovered {
  readonly resources: readonly RemoteResource[];
  /** ETag of the answer, or "" if it had none. */
  readonly etag: string;
}

const form = (version: string): string =>
  `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
const accepted = `${form("v2")},${form("v2beta1")}`;

export async function discoverRemote(
  limits: AggregationLimits,
  remote: Remote,
  before: Discovered | undefined,
  signal: AbortSignal,
): Promise<Discovered> {
  const shared = { timeoutMs: limits.discoveryMs, bytesMax: limits.discoveryBytesMax, signal };
  const tag = before?.etag ?? "";
  const headers = { accept: accepted, ...(tag === "" ? {} : { "if-none-match": tag }) };
  const answer = await remote.fetch({ ...shared, path: "/apis", user: aggregatorUser, headers });
  if (answer.status === 304 && before !== undefined) return before;
  if (answer.status === 503) throw new Error("non-success response code: 503");
  if (answer.status === 200 && isAggregated(answer)) return ofAggregated(remote, answer);
  const { group, version } = remote.spec;
  const path = `/apis/${group}/${version}`;
  const user = { name: aggregatorUser.name, groups: [] };
  const plain = { accept: "application/json" };
  const legacy = await remote.fetch({ ...shared, path, user, headers: plain });
  if (legacy.status !== 200) throw new Error(`failed to download legacy discovery for ${path}`);
  return { resources: ofPlainList(record(json(legacy)), group, version), etag: "" };
}

function isAggregated({ headers }: Fetched): boolean {
  const type = (headers["content-type"] ?? "").replaceAll(" ", "");
  const isList =
    type.includes("as=APIGroupDiscoveryList") && type.includes("g=apidiscovery.k8s.io");
  return isList && /;v=v2(beta1)?(;|$)/.test(type);
}

function json({ body }: Fetched): unknown {
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
}

function ofAggregated({ spec }: Remote, answer: Fetched): Discovered {
  const groups = list(record(json(answer))["items"]).map(record);
  const group = groups.find((one) => record(one["metadata"])["name"] === spec.group);
  const versions = list(group?.["versions"]).map(record);
  const version = versions.find((one) => one["version"] === spec.version);
  const resources = list(version?.["resources"]).map((one) => aggregatedResource(record(one)));
  return { resources, etag: answer.headers["etag"] ?? "" };
}

function aggregatedResource(row: Fields): RemoteResource {
  return {
    resource: text(row["resource"]),
    responseKind: kindOf(row["responseKind"]),
    scope: row["scope"] === "Namespaced" ? "Namespaced" : "Cluster",
    singularResource: text(row["singularResource"]),
    verbs: texts(row["verbs"]),
    ...optional("shortNames", texts(row["shortNames"])),
    ...optional("categories", texts(row["categories"])),
    ...optional("subresources", list(row["subresources"]).map(record).map(aggregatedSubresource)),
  };
}

function aggregatedSubresource(row: Fields): RemoteSubresource {
  return {
    subresource: text(row["subresource"]),
    responseKind: kindOf(row["responseKind"]),
    verbs: texts(row["verbs"]),
  };
}

function kindOf(value: unknown): RemoteResource["responseKind"] {
  const { group, version, kind } = record(value);
  return { group: text(group), version: text(version), kind: text(kind) };
}

/** Reads an APIResourceList: `flunders` and `flunders/status` become one resource with a subresource. */
function ofPlainList(document: Fields, group: string, version: string): readonly RemoteResource[] {
  const rows = list(document["resources"]).map(record);
  const kind = (row: Fields): RemoteResource["responseKind"] => ({
    group: text(row["group"]) || group,
    version: text(row["version"]) || version,
    kind: text(row["kind"]),
  });
  const subresources = Map.groupBy(
    rows.filter((row) => text(row["name"]).includes("/")),
    (row) => text(row["name"]).split("/")[0] ?? "",
  );
  return rows
    .filter((row) => !text(row["name"]).includes("/"))
    .map((row) => ({
      resource: text(row["name"]),
      responseKind: kind(row),
      scope: row["namespaced"] === true ? "Namespaced" : "Cluster",
      singularResource: text(row["singularName"]),
      verbs: texts(row["verbs"]),
      ...optional("shortNames", texts(row["shortNames"])),
      ...optional("categories", texts(row["categories"])),
      ...optional(
        "subresources",
        (subresources.get(text(row["name"])) ?? []).map((sub) => ({
          subresource: text(sub["name"]).split("/")[1] ?? "",
          responseKind: kind(sub),
          verbs: texts(sub["verbs"]),
        })),
      ),
    }));
}

type Fields = Readonly<Record<string, unknown>>;

function record(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function texts(value: unknown): readonly string[] {
  return list(value).filter((one) => typeof one === "string");
}

function optional<K extends string, T>(key: K, value: readonly T[]): { [key in K]?: readonly T[] } {
  return value.length === 0 ? {} : ({ [key]: value } as { [key in K]: readonly T[] });
}
