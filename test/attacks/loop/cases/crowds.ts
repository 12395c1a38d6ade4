/**
 * One change that many watchers are sent: what is made once for all of them is encrypted and copied for each, and
 * selectors are judged for each.
 */
import { type Api, json } from "../attack.ts";

export interface Crowd {
  readonly name: string;
  readonly watches: number;
  /** Of the watch number `at`, without `watch=1` and the resourceVersion. */
  readonly query?: (at: number) => string;
  readonly accept?: string;
  readonly path: string;
  /** Sent to the plane before anybody watches. */
  readonly prepare?: (plane: Api) => Promise<void>;
  readonly object: () => object;
  /** Each watcher is sent so much at least. */
  readonly bytesMin: number;
}

const configMaps = "/api/v1/namespaces/default/configmaps";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const group = "crowds.example.com";
const columns = 5_000;

function configMap(bytes: number): object {
  return { metadata: { generateName: "crowd-" }, data: { key: "x".repeat(bytes) } };
}

/** A text of 60 KB, as long as a head may be. */
const requirements = 19_000;

async function defineColumns(plane: Api): Promise<void> {
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const additionalPrinterColumns = Array.from({ length: columns }, (_, at) => ({
    name: `C${at}`,
    type: "string",
    jsonPath: `.spec.c${at}`,
  }));
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } };
  const names = { plural: "things", singular: "thing", kind: "Thing" };
  const versions = [{ ...version, additionalPrinterColumns }];
  const body = JSON.stringify({
    metadata: { name: `things.${group}` },
    spec: { group, scope: "Namespaced", names, versions },
  });
  await plane.send({ method: "POST", path: definitions, contentType: json, body: () => body });
  for (let asked = 0; asked < 500; asked++) {
    const path = `/apis/${group}/v1/namespaces/default/things?limit=1`;
    if ((await plane.send({ method: "GET", path })).status === 200) return;
  }
  throw new Error(`${group} is not served`);
}

export const crowds: readonly Crowd[] = [
  {
    name: "an object of 1 MB for 100 watches",
    watches: 100,
    path: configMaps,
    object: () => configMap(1_000_000),
    bytesMin: 1_000_000,
  },
  {
    name: "an object of 300 KB for 300 watches of different selections",
    watches: 300,
    query: (at) => `labelSelector=a%21%3Db${at}`,
    path: configMaps,
    object: () => configMap(300_000),
    bytesMin: 300_000,
  },
  {
    name: "an object for 300 watches of 19,000 requirements each",
    watches: 300,
    query: (at) => `labelSelector=!a${at},${Array(requirements).fill("!a").join(",")}`,
    path: configMaps,
    object: () => configMap(10),
    bytesMin: 10,
  },
  {
    name: "an object for 300 watches of 1,500 different requirements each",
    watches: 300,
    query: (at) =>
      `labelSelector=!a${at},${Array.from({ length: 1_500 }, (_, one) => `!b${one}`).join(",")}`,
    path: configMaps,
    object: () => configMap(10),
    bytesMin: 10,
  },
  {
    name: "the first event of 100 watches of a table of 5,000 columns",
    watches: 100,
    accept: table,
    path: `/apis/${group}/v1/namespaces/default/things`,
    prepare: defineColumns,
    object: () => ({
      apiVersion: `${group}/v1`,
      kind: "Thing",
      metadata: { generateName: "crowd-" },
      spec: {},
    }),
    bytesMin: 100 * columns,
  },
];
