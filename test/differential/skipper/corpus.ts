/**
 * Compares with Skipper's own corpus: YAML of Ingresses and RouteGroups, and the routes it makes of them.
 *
 *   git clone https://github.com/zalando/skipper
 *   node test/differential/skipper/corpus.ts skipper/dataclients/kubernetes/testdata [-v]
 *
 * Prints how many pairs agree, by folder, and the names of those that do not. Not part of the tests: it needs the clone.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments, parse } from "yaml";
import { isRecord } from "#base/is-record.ts";
import { parseFilters, parseRoutes } from "#skipper/eskip-parser.ts";
import { printRoute } from "#skipper/eskip-print.ts";
import {
  type AnnotationRule,
  algorithmOr,
  type SkipperOptions,
  standardOptions,
} from "#skipper/options.ts";
import type { Call, Route } from "#skipper/route.ts";
import { hasLabels, kindOf, naiveRoutes } from "#skipper/testing/naive-routes.ts";
import { routeForZone } from "#skipper/zones.ts";

interface Case {
  readonly folder: string;
  readonly name: string;
  /** By extension. */
  readonly files: ReadonlyMap<string, string>;
}

/** As the reference's test reads its options. */
interface KubeOptions {
  readonly [name: string]: unknown;
}

function casesIn(root: string): readonly Case[] {
  const cases: Case[] = [];
  const folders = readdirSync(root, { recursive: true, withFileTypes: true });
  const byName = new Map<string, Map<string, string>>();
  for (const file of folders) {
    const extension = /\.([a-z-]+)$/.exec(file.name)?.[1];
    if (extension === undefined) continue;
    const stem = join(file.parentPath, file.name.slice(0, -extension.length - 1));
    const files = byName.get(stem) ?? new Map<string, string>();
    byName.set(stem, files.set(extension, join(file.parentPath, file.name)));
  }
  for (const [stem, files] of byName) {
    if (!files.has("eskip") || !files.has("yaml")) continue;
    const [folder = "", name = ""] = /([^/]+\/[^/]+)\/([^/]+)$/.exec(stem)?.slice(1) ?? [];
    cases.push({ folder, name, files });
  }
  return cases;
}

/** Texts as Go reads them: `True` as a name is one. */
function readYaml(path: string): unknown {
  return parse(readFileSync(path, "utf8"), { uniqueKeys: false });
}

function optionsOf(kube: KubeOptions, files: Case["files"]): SkipperOptions {
  const is = (name: string): boolean => kube[name] === true;
  const text = (name: string): string => (typeof kube[name] === "string" ? kube[name] : "");
  const allowed = (kube["allowedExternalNames"] ?? []) as readonly string[];
  return {
    ...standardOptions,
    ...(text("kubernetes-ingress-class") === ""
      ? {}
      : { ingressClass: new RegExp(text("kubernetes-ingress-class")) }),
    httpsRedirect: is("httpsRedirect"),
    httpsRedirectCode:
      typeof kube["httpsRedirectCode"] === "number" ? kube["httpsRedirectCode"] : 308,
    catchAll: !is("disableCatchAllRoutes"),
    eastWest: is("eastWest"),
    eastWestDomain: text("eastWestDomain") || (is("eastWest") ? "skipper.cluster.local" : ""),
    eastWestRangeDomains: (kube["eastWestRangeDomains"] ?? []) as readonly string[],
    eastWestRangePredicates: calls(kube["eastWestRangePredicatesAppend"]),
    annotationPredicates: rules(kube["kubernetesAnnotationPredicates"], "predicates"),
    annotationFilters: rules(kube["kubernetesAnnotationFiltersAppend"], "filters"),
    eastWestRangeAnnotationPredicates: rules(
      kube["kubernetesEastWestRangeAnnotationPredicates"],
      "predicates",
    ),
    eastWestRangeAnnotationFilters: rules(
      kube["kubernetesEastWestRangeAnnotationFiltersAppend"],
      "filters",
    ),
    externalNames: is("enableExternalNames"),
    externalNamePreserveHost: is("externalNamePreserveHost"),
    allowedExternalNames: is("onlyAllowedExternalNames")
      ? allowed.map((one) => new RegExp(one))
      : undefined,
    forceService: is("force-kubernetes-service"),
    trafficAlgorithm: (text("backend-traffic-algorithm") ||
      "traffic-predicate") as SkipperOptions["trafficAlgorithm"],
    lbAlgorithm: algorithmOr(text("default-lb-algorithm")),
    forwardBackendUrl: text("forward-backend-url"),
    backendNameTracingTag: is("backendNameTracingTag"),
    applicationLabel: text("kubernetes-application-annotation-label"),
    defaultFilters: defaultFilters(files.get("default-filters")),
    legacyEndpoints: !is("enable-kubernetes-endpointslices"),
  };
}

function calls(value: unknown): readonly Call[] {
  const list = Array.isArray(value)
    ? (value as { name: string | boolean; args?: readonly (string | number)[] }[])
    : [];
  return list.map(({ name, args = [] }) => ({
    name: typeof name === "boolean" ? (name ? "True" : "False") : name,
    args: args.map((one) => (typeof one === "string" ? one : Number(one))),
  }));
}

function rules(value: unknown, of: string): readonly AnnotationRule[] {
  const list = Array.isArray(value) ? (value as Record<string, unknown>[]) : [];
  return list.map((one) => ({
    key: String(one["key"]),
    value: String(one["value"]),
    calls: calls(one[of]),
  }));
}

/** Files `SERVICE.NAMESPACE` in a folder. */
function defaultFilters(folder: string | undefined): SkipperOptions["defaultFilters"] {
  const filters = new Map<string, readonly Call[]>();
  if (folder === undefined) return filters;
  for (const name of readdirSync(folder)) {
    const [service, namespace, ...more] = name.split(".");
    if (namespace === undefined || more.length > 0) continue;
    try {
      filters.set(
        `${namespace}/${service}`,
        parseFilters(readFileSync(join(folder, name), "utf8")),
      );
    } catch {
      continue;
    }
  }
  return filters;
}

const selectors: Readonly<Record<string, string>> = {
  Ingress: "kubernetes-ingresses-label-selector",
  Service: "kubernetes-services-label-selector",
  Endpoints: "kubernetes-endpoints-label-selector",
};

function objectsOf(path: string, kube: KubeOptions): readonly unknown[] {
  const documents = parseAllDocuments(readFileSync(path, "utf8"), { uniqueKeys: false });
  const objects = documents.map((one): unknown => one.toJS()).filter(isRecord);
  return objects.filter((object) => {
    const wanted = kube[selectors[kindOf(object)] ?? ""];
    if (!isRecord(wanted)) return true;
    const texts = Object.entries(wanted).map(([key, value]) => [
      key,
      typeof value === "string" ? value : JSON.stringify(value ?? ""),
    ]);
    return hasLabels(object, Object.fromEntries(texts) as Record<string, string>);
  });
}

/** What counts of a route: the order of predicates of one name, and of endpoints, does not. */
function canonical(routes: readonly Route[]): readonly string[] {
  return routes
    .map((route) => {
      const by = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
      const predicates = route.predicates.toSorted((a, b) => by(a.name, b.name));
      const { backend } = route;
      const sorted =
        backend.kind === "lb"
          ? {
              ...backend,
              endpoints: backend.endpoints
                .map(({ address }) => ({ address, zone: "" }))
                .sort((a, b) => by(a.address, b.address)),
            }
          : backend;
      return printRoute({ ...route, predicates, backend: sorted }, { zones: false });
    })
    .sort();
}

function differences({ files }: Case): readonly string[] {
  const kubeFile = files.get("kube");
  const kube = (kubeFile === undefined ? {} : readYaml(kubeFile)) as KubeOptions;
  const options = optionsOf(kube ?? {}, files);
  const expected = canonical(parseRoutes(readFileSync(files.get("eskip") ?? "", "utf8")));
  const zone = typeof kube?.["topology-zone"] === "string" ? kube["topology-zone"] : "";
  const made = naiveRoutes(objectsOf(files.get("yaml") ?? "", kube ?? {}), options);
  const actual = canonical(zone === "" ? made : made.map((route) => routeForZone(route, zone)));
  return [
    ...expected.filter((line) => !actual.includes(line)).map((line) => `- ${line}`),
    ...actual.filter((line) => !expected.includes(line)).map((line) => `+ ${line}`),
  ];
}

function main(root: string, isVerbose: boolean): void {
  const counts = new Map<string, [good: number, all: number]>();
  for (const one of casesIn(root)) {
    const count = counts.get(one.folder) ?? [0, 0];
    counts.set(one.folder, count);
    count[1]++;
    let found: readonly string[];
    try {
      found = differences(one);
    } catch (error) {
      found = [`failed: ${error instanceof Error ? (error.stack ?? "") : String(error)}\n`];
    }
    if (found.length === 0) count[0]++;
    else
      console.log(
        `differs: ${one.folder}/${one.name}\n${isVerbose ? found.join("") : ""}`.trimEnd(),
      );
  }
  let [good, all] = [0, 0];
  for (const [folder, [same, of]] of [...counts].sort()) {
    console.log(`${folder}: ${same} of ${of}`);
    [good, all] = [good + same, all + of];
  }
  console.log(`all: ${good} of ${all}`);
}

const [root, flag] = process.argv.slice(2);
if (root === undefined) throw new Error("which folder? skipper/dataclients/kubernetes/testdata");
main(root, flag === "-v");
