/** Printer columns by the hundred: their author chooses how many there are and where they lead. */
import { type Api, type Attack, json } from "../attack.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };

function list<T>(count: number, item: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => item(index));
}

interface Columns {
  readonly name: string;
  readonly paths: readonly string[];
  readonly spec: object;
}

/** 56,000 values. */
const wide = Object.fromEntries(list(7_000, (at) => [`k${at}`, [1, 2, 3, 4, 5, 6]]));
const deep = list(400, (at) => at).reduce<object>((below) => ({ a: below }), { a: 1 });

const printed: readonly Columns[] = [
  {
    name: "500 columns of one path that visits all",
    paths: list(500, () => ".spec..b"),
    spec: wide,
  },
  { name: "500 paths that visit all", paths: list(500, (at) => `.spec..b${at}`), spec: wide },
  { name: "5,000 paths that visit all", paths: list(5_000, (at) => `.spec..b${at}`), spec: wide },
  { name: "20 paths below 400 levels", paths: list(20, (at) => `.spec..a..b${at}`), spec: deep },
  {
    name: "1,000 columns of one long text",
    paths: list(1_000, () => ".spec.text"),
    spec: { text: "x".repeat(500_000) },
  },
  { name: "1,000 columns of a large object", paths: list(1_000, () => ".spec"), spec: wide },
];

const group = (at: number): string => `columns${at}.example.com`;
const pathOf = (at: number): string => `/apis/${group(at)}/v1/namespaces/default/things`;

function definition(at: number, paths: readonly string[]): string {
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const version = {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schema },
    additionalPrinterColumns: paths.map((jsonPath, column) => ({
      name: `C${column}`,
      type: "string",
      jsonPath,
    })),
  };
  const names = { plural: "things", singular: "thing", kind: "Thing" };
  const spec = { group: group(at), scope: "Namespaced", names, versions: [version] };
  return JSON.stringify({ metadata: { name: `things.${group(at)}` }, spec });
}

function thing(at: number, name: string, spec: object): string {
  return JSON.stringify({ apiVersion: `${group(at)}/v1`, kind: "Thing", metadata: { name }, spec });
}

async function prepare(plane: Api, at: number, { paths, spec }: Columns): Promise<void> {
  const post = (path: string, body: string) =>
    plane.send({ method: "POST", path, contentType: json, body: () => body });
  const made = await post(definitions, definition(at, paths));
  if (made.status !== 201) throw new Error(`${made.status}: ${made.text.slice(0, 500)}`);
  for (let asked = 0; asked < 500; asked++) {
    const found = await plane.send({ method: "GET", path: `${pathOf(at)}?limit=1` });
    if (found.status === 200) break;
  }
  for (const name of ["one", "two"]) await post(pathOf(at), thing(at, name, spec));
}

export const columnAttacks: readonly Attack[] = printed.map((columns, at) => ({
  name: columns.name,
  prepare: (plane: Api) => prepare(plane, at, columns),
  requests: [
    { method: "GET", path: `${pathOf(at)}/one`, headers: table },
    { method: "GET", path: pathOf(at), headers: table },
    { method: "GET", path: `${pathOf(at)}?watch=1&timeoutSeconds=1`, headers: table },
    {
      method: "POST",
      path: pathOf(at),
      contentType: json,
      headers: table,
      body: () => thing(at, "three", columns.spec),
    },
  ],
  expect: [200, 201],
}));
