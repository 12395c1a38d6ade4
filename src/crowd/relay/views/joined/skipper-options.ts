/**
 * Options of the view `skipper-routes` in the operator's file, named as Skipper's flags are:
 *
 *   options:
 *     ingress-class: skipper
 *     https-redirect: true
 *     east-west-range-domains: [ingress.cluster.local]
 *     east-west-range-predicates: 'ClientIP("10.2.0.0/16")'
 *     annotation-filters: [{key: zalando.org/zone, value: a, add: 'comment("a")'}]
 *     default-filters: {shop/web: 'setPath("/")'}
 */
import { EskipError } from "#skipper/eskip-lexer.ts";
import { parseFilters, parsePredicates } from "#skipper/eskip-parser.ts";
import {
  type AnnotationRule,
  isAlgorithm,
  pathModes,
  type SkipperOptions,
  standardOptions,
  trafficAlgorithms,
} from "#skipper/options.ts";
import type { Call } from "#skipper/route.ts";
import type { FieldPath, Fields, YamlFields } from "#wire/yaml-fields.ts";
import type { RouteForm } from "./skipper-plan.ts";

export interface SkipperView extends RouteForm {
  readonly options: SkipperOptions;
  /** Whether the relay starts in a cluster without the definition of RouteGroups. */
  readonly routeGroups: "required" | "if-defined";
}

const known = [
  "ingress-class",
  "routegroup-class",
  "routegroups",
  "path-mode",
  "https-redirect",
  "https-redirect-code",
  "disable-catchall-routes",
  "east-west",
  "east-west-domain",
  "east-west-range-domains",
  "east-west-range-predicates",
  "annotation-predicates",
  "annotation-filters",
  "east-west-range-annotation-predicates",
  "east-west-range-annotation-filters",
  "external-names",
  "external-name-preserve-host",
  "allowed-external-names",
  "force-service",
  "backend-traffic-algorithm",
  "default-lb-algorithm",
  "forward-backend-url",
  "backend-name-tracing-tag",
  "application-annotation-label",
  "default-filters",
  "legacy-endpoints",
  "endpoint-zones",
];

export function readSkipperOptions(yaml: YamlFields, value: unknown, path: FieldPath): SkipperView {
  const read = new OptionReader(yaml, yaml.map(value, path, known), path);
  const routeGroups = read.oneOf("routegroups", ["if-defined", "required"] as const);
  return { options: read.options(), routeGroups, endpointZones: read.flag("endpoint-zones") };
}

class OptionReader {
  readonly #yaml: YamlFields;
  readonly #map: Fields;
  readonly #path: FieldPath;

  constructor(yaml: YamlFields, map: Fields, path: FieldPath) {
    this.#yaml = yaml;
    this.#map = map;
    this.#path = path;
  }

  options(): SkipperOptions {
    const eastWest = this.flag("east-west");
    const domain = this.#text("east-west-domain").replace(/^\.+|\.+$/g, "");
    return {
      ingressClass: this.#pattern("ingress-class") ?? standardOptions.ingressClass,
      routeGroupClass: this.#pattern("routegroup-class") ?? standardOptions.routeGroupClass,
      pathMode: this.oneOf("path-mode", pathModes),
      httpsRedirect: this.flag("https-redirect"),
      httpsRedirectCode: this.#code(),
      catchAll: !this.flag("disable-catchall-routes"),
      eastWest,
      eastWestDomain: domain || (eastWest ? "skipper.cluster.local" : ""),
      eastWestRangeDomains: this.#texts("east-west-range-domains"),
      eastWestRangePredicates: this.#calls("east-west-range-predicates", parsePredicates),
      annotationPredicates: this.#rules("annotation-predicates", parsePredicates),
      annotationFilters: this.#rules("annotation-filters", parseFilters),
      eastWestRangeAnnotationPredicates: this.#rules(
        "east-west-range-annotation-predicates",
        parsePredicates,
      ),
      eastWestRangeAnnotationFilters: this.#rules(
        "east-west-range-annotation-filters",
        parseFilters,
      ),
      externalNames: this.flag("external-names"),
      externalNamePreserveHost: this.flag("external-name-preserve-host"),
      allowedExternalNames: this.#allowed(),
      forceService: this.flag("force-service"),
      trafficAlgorithm: this.oneOf("backend-traffic-algorithm", trafficAlgorithms),
      lbAlgorithm: this.#algorithm(),
      forwardBackendUrl: this.#text("forward-backend-url"),
      backendNameTracingTag: this.flag("backend-name-tracing-tag"),
      applicationLabel: this.#text("application-annotation-label"),
      defaultFilters: this.#defaultFilters(),
      legacyEndpoints: this.flag("legacy-endpoints"),
    };
  }

  flag(name: string): boolean {
    const value = this.#map[name] ?? false;
    if (typeof value !== "boolean") this.#problem(name, "must be true or false");
    return value === true;
  }

  /** Reads one of `values`; an absent option has the first. */
  oneOf<const T extends string>(name: string, values: readonly [T, ...T[]]): T {
    const value = this.#map[name] ?? values[0];
    const found = values.find((one) => one === value);
    if (found === undefined) this.#problem(name, `must be one of ${values.join(", ")}`);
    return found ?? values[0];
  }

  #text(name: string): string {
    return this.#yaml.text(this.#map, this.#path, name);
  }

  #texts(name: string): readonly string[] {
    return this.#yaml.texts(this.#map, this.#path, name);
  }

  #pattern(name: string): RegExp | undefined {
    return this.#yaml.parsed([...this.#path, name], this.#text(name), (text) => new RegExp(text));
  }

  #code(): number {
    const { httpsRedirectCode } = standardOptions;
    const code = this.#yaml.wholeNumber(
      this.#map,
      this.#path,
      "https-redirect-code",
      httpsRedirectCode,
    );
    if (code < 300 || code > 399) this.#problem("https-redirect-code", "must be 300 to 399");
    return code;
  }

  #algorithm(): string {
    const name = this.#text("default-lb-algorithm");
    if (name === "" || isAlgorithm(name)) return name || standardOptions.lbAlgorithm;
    this.#problem("default-lb-algorithm", "must be an algorithm of Skipper, such as roundRobin");
    return standardOptions.lbAlgorithm;
  }

  #allowed(): readonly RegExp[] | undefined {
    if (this.#map["allowed-external-names"] === undefined) return undefined;
    const path = [...this.#path, "allowed-external-names"];
    const texts = this.#texts("allowed-external-names");
    return texts.flatMap((text) => this.#yaml.parsed(path, text, (one) => new RegExp(one)) ?? []);
  }

  #calls(name: string, parse: (text: string) => readonly Call[]): readonly Call[] {
    return this.#parsed([...this.#path, name], this.#text(name), parse);
  }

  #parsed(
    path: FieldPath,
    text: string,
    parse: (text: string) => readonly Call[],
  ): readonly Call[] {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof EskipError)) throw error;
      this.#yaml.problem(path, error.message);
      return [];
    }
  }

  #rules(name: string, parse: (text: string) => readonly Call[]): readonly AnnotationRule[] {
    const list = this.#map[name] ?? [];
    if (!Array.isArray(list)) {
      this.#problem(name, "must be a list of {key, value, add}");
      return [];
    }
    return list.map((one: unknown, at) => {
      const path = [...this.#path, name, at];
      const rule = this.#yaml.map(one, path, ["key", "value", "add"]);
      const text = (field: string): string => this.#yaml.requiredText(rule, path, field);
      return {
        key: text("key"),
        value: text("value"),
        calls: this.#parsed(path, text("add"), parse),
      };
    });
  }

  #defaultFilters(): SkipperOptions["defaultFilters"] {
    const name = "default-filters";
    const path = [...this.#path, name];
    const map = this.#yaml.map(this.#map[name] ?? {}, path);
    return new Map(
      Object.keys(map).map((service) => {
        const text = this.#yaml.text(map, path, service);
        return [service, this.#parsed([...path, service], text, parseFilters)];
      }),
    );
  }

  #problem(name: string, text: string): void {
    this.#yaml.problem([...this.#path, name], text);
  }
}
