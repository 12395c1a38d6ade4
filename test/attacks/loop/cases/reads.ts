/** Answers that are dear to make: documents, lists of many objects in every form, initial events. */
import { type Attack, json } from "../attack.ts";
import { makeConfigMaps } from "./many.ts";

const many = 20_000;
const configMaps = "/api/v1/namespaces/many/configmaps";
const tableType = "application/json;as=Table;g=meta.k8s.io;v=v1";
const metadataType = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const protobufType = "application/vnd.kubernetes.protobuf";

function get(name: string, path: string, headers: Readonly<Record<string, string>> = {}): Attack {
  return { name, requests: [{ method: "GET", path, headers }], expect: 200 };
}

function list(name: string, query: string, accept: string): Attack {
  return get(`${many} objects as ${name}`, `${configMaps}?${query}`, { accept });
}

const initialEvents =
  "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=2";

export const readAttacks: readonly Attack[] = [
  get("the index of OpenAPI version 3, never asked before", "/openapi/v3"),
  get("OpenAPI version 2 in protobuf, never asked before", "/openapi/v2", {
    accept: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
  }),
  get("OpenAPI version 2 in JSON, never asked before", "/openapi/v2"),
  get("OpenAPI version 2, compressed", "/openapi/v2", { "accept-encoding": "gzip" }),
  get("aggregated discovery, never asked before", "/apis", {
    accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  }),
  get("metrics", "/metrics"),
  { ...list("JSON", "", json), prepare: (plane) => makeConfigMaps(plane, "many", many) },
  list("JSON once more", "", json),
  get(`${many} objects as compressed JSON`, configMaps, { "accept-encoding": "gzip" }),
  list("protobuf", "", protobufType),
  list("a table", "", tableType),
  list("a table of whole objects", "includeObject=Object", tableType),
  list("metadata", "", metadataType),
  list("YAML", "", "application/yaml"),
  list("indented JSON", "pretty=true", json),
  list("a selected list", "labelSelector=app%20notin%20(a1%2Ca2)%2Ctier", json),
  list("a list by name", "fieldSelector=metadata.name%21%3Do1", json),
  list("a watch with initial events", initialEvents, json),
  list("a watch of tables with initial events", initialEvents, tableType),
  list("a watch of protobuf with initial events", initialEvents, protobufType),
  get("the metrics of many objects", "/metrics"),
  {
    name: "the deletion of a collection",
    requests: [{ method: "DELETE", path: configMaps }],
    expect: 200,
  },
  {
    name: "the deletion of a namespace",
    requests: [{ method: "DELETE", path: "/api/v1/namespaces/many" }],
    expect: 200,
  },
];
