/** One small object of every kind that can be created, each with the path that discovery gives for it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { root } from "./harness.ts";
import type { Json, KubeHttp } from "./kube-http.ts";

export interface KindSample {
  readonly kind: string;
  readonly namespaced: boolean;
  readonly body: Json;
  /** Of its list; `namespace` counts only where there is one. */
  readonly path: (namespace: string) => string;
  /** Its name in a round: what a name must look like decides whether rounds share it. */
  readonly name: (round: string) => string;
}

/** Names with a form of their own: rounds share them, and find them taken now and then. */
const fixedNames = new Set([
  "APIService",
  "CSINode",
  "CustomResourceDefinition",
  "IPAddress",
  "ServiceCIDR",
]);
/** Made and deleted by the rounds themselves, or harmful to the other objects of a namespace. */
const passedOver = new Set(["LimitRange", "Namespace", "ResourceQuota"]);
const manifest = join(root, "test", "kubectl", "manifests", "every-kind.yaml");

export async function kindSamples(http: KubeHttp): Promise<readonly KindSample[]> {
  const places = await discoveredPlaces(http);
  const documents = parseAllDocuments(readFileSync(manifest, "utf8"));
  return documents
    .map((document) => document.toJS() as Json)
    .filter(({ kind }) => !passedOver.has(String(kind)))
    .map((body) => sampleOf(body, places));
}

interface Place {
  readonly prefix: string;
  readonly resource: string;
  readonly namespaced: boolean;
}

function sampleOf(body: Json, places: ReadonlyMap<string, Place>): KindSample {
  const kind = String(body["kind"]);
  const place = places.get(`${String(body["apiVersion"])}/${kind}`);
  if (place === undefined) throw new Error(`discovery does not know ${kind}`);
  const { prefix, resource, namespaced } = place;
  const own = String(body["metadata"]?.["name"]);
  return {
    kind,
    namespaced,
    body,
    path: (namespace) =>
      namespaced ? `${prefix}/namespaces/${namespace}/${resource}` : `${prefix}/${resource}`,
    name: (round) => (namespaced || fixedNames.has(kind) ? own : `${own}-${round}`),
  };
}

async function discoveredPlaces(http: KubeHttp): Promise<ReadonlyMap<string, Place>> {
  const { body: index } = await http.request("GET", "/apis");
  const versions = listOf(index, "groups").flatMap((group) =>
    listOf(group, "versions").map((version) => String(version["groupVersion"])),
  );
  const places = new Map<string, Place>();
  for (const version of ["v1", ...versions]) {
    const prefix = version === "v1" ? "/api/v1" : `/apis/${version}`;
    const { body } = await http.request("GET", prefix);
    for (const { kind, name, namespaced } of listOf(body, "resources")) {
      if (String(name).includes("/")) continue;
      const place = { prefix, resource: String(name), namespaced: Boolean(namespaced) };
      places.set(`${version}/${String(kind)}`, place);
    }
  }
  return places;
}

function listOf(body: Json, field: string): readonly Json[] {
  return (body[field] ?? []) as readonly Json[];
}
