/** Versions that --runtime-config leaves off: every verb, discovery and schemas, and a definition that claims one. */
import { get, patch, post, put, remove, type Case, type Step, type Suite } from "../exchange.ts";

/** In groups of which another version is served. */
const besideServed = [
  "/apis/coordination.k8s.io/v1beta1/namespaces/{ns}/leasecandidates",
  "/apis/networking.k8s.io/v1beta1/servicecidrs",
  "/apis/resource.k8s.io/v1beta1/namespaces/{ns}/resourceclaims",
  "/apis/scheduling.k8s.io/v1alpha2/namespaces/{ns}/workloads",
];
/** In groups of which nothing is. */
const alone = [
  "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions",
  "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations",
];
const yaml = "application/yaml";
const protobuf = "application/vnd.kubernetes.protobuf";

function everyVerb(collection: string): readonly Step[] {
  const one = `${collection}/a`;
  return [
    get(collection),
    get(`${collection}?watch=true`),
    get(`${collection}?fieldSelector=metadata.name=a&resourceVersion=none`),
    get(collection, { headers: { accept: yaml } }),
    get(collection, { headers: { accept: protobuf } }),
    get(collection, { headers: { accept: "text/html" } }),
    post(collection, {}),
    remove(collection),
    get(one),
    { method: "HEAD", path: one },
    put(one, {}),
    patch("merge", one, {}),
    patch("apply", `${one}?fieldManager=a`, {}),
    remove(one),
    get(`${one}/status`),
    { method: "OPTIONS", path: collection },
  ];
}

function documentsOf(collection: string): readonly Step[] {
  const [, , group, version] = collection.split("/");
  return [
    get(`/apis/${group}`),
    get(`/apis/${group}/${version}`),
    get(`/openapi/v3/apis/${group}/${version}`),
  ];
}

const cases: readonly Case[] = [...besideServed, ...alone].map((collection) => ({
  name: collection.replace("/namespaces/{ns}", ""),
  steps: [...documentsOf(collection), ...everyVerb(collection)],
}));

export const versions: Suite = { name: "versions", cases };
