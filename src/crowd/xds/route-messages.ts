/**
 * Routes as Envoy's API has them: what a request must be like, and what becomes of it.
 *
 * After  envoyproxy/envoy api/envoy/config/route/v3/route_components.proto, field numbers in the calls;
 *        envoy/type/matcher/v3 StringMatcher { exact = 1, safe_regex = 5 }, RegexMatcher { regex = 2 },
 *        RegexMatchAndSubstitute { pattern = 1, substitution = 2 }. Read back by `gateway/*.test.ts`.
 */
import { bytesField, message, numberField, textField, textFields } from "./message-fields.ts";

export interface TextMatch {
  readonly kind: "exact" | "regex";
  /** Name of the header or query parameter. */
  readonly name: string;
  readonly text: string;
}

export interface RouteMatch {
  /** `path`: equal to the text; `prefix`: begins with the text; `regex`: RE2 for the whole path. */
  readonly kind: "path" | "prefix" | "regex";
  readonly text: string;
  readonly headers?: readonly TextMatch[];
  readonly queries?: readonly TextMatch[];
}

export interface HeaderChanges {
  readonly set: readonly (readonly [name: string, value: string])[];
  readonly add: readonly (readonly [name: string, value: string])[];
  readonly remove: readonly string[];
}

interface ChangedHeaders {
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
}

export interface WeightedCluster extends ChangedHeaders {
  readonly cluster: string;
  readonly weight: number;
}

export interface PathChange {
  readonly kind: "prefix" | "full";
  readonly text: string;
}

export interface Mirroring {
  readonly cluster: string;
  readonly millionths: number;
}

interface Forwarding {
  readonly kind: "forward";
  /** At least one cluster; the sum of weights is above zero. */
  readonly clusters: readonly WeightedCluster[];
  readonly host?: string;
  readonly path?: PathChange;
  /** Timeout in ms; 0 for none. Absent: the proxy's default. */
  readonly timeoutMs?: number;
  /** Timeout that proxyless gRPC reads in place of `timeoutMs`. */
  readonly streamMs?: number;
  readonly mirrors?: readonly Mirroring[];
}

interface Redirecting {
  readonly kind: "redirect";
  readonly scheme?: string;
  readonly host?: string;
  readonly port?: number;
  readonly path?: PathChange;
  readonly status: number;
}

export type RouteAction =
  | Forwarding
  | Redirecting
  | { readonly kind: "answer"; readonly status: number };

export interface Route extends ChangedHeaders {
  readonly match: RouteMatch;
  readonly action: RouteAction;
}

export interface VirtualHost {
  readonly name: string;
  readonly domains: readonly string[];
  readonly routes: readonly Route[];
}

/** Name of a cluster that does not exist: requests routed to it are answered with 500. */
export const refusedCluster = "refused-backend";

export function forwardTo(cluster: string): Forwarding {
  return { kind: "forward", clusters: [{ cluster, weight: 1 }] };
}

/** config/route/v3/route.proto RouteConfiguration: name = 1, virtual_hosts = 2, each made by `virtualHost`. */
export function routeConfiguration(name: string, hosts: readonly Uint8Array[]): Uint8Array {
  return message(textField(1, name), ...hosts.map((host) => bytesField(2, host)));
}

/** VirtualHost: name = 1, domains = 2, routes = 3. */
export function virtualHost({ name, domains, routes }: VirtualHost): Uint8Array {
  return message(
    textField(1, name),
    textFields(2, domains),
    ...routes.map((route) => bytesField(3, routeMessage(route))),
  );
}

/** Route: match = 1, an action, request_headers_to_add = 9, .._remove = 12, response_.. = 10 and 11. */
function routeMessage(route: Route): Uint8Array {
  return message(
    bytesField(1, matchMessage(route.match)),
    actionField(route.action),
    ...headerFields(route, { request: [9, 12], response: [10, 11] }),
  );
}

/** RouteMatch: prefix = 1, path = 2, safe_regex = 10, headers = 6, query_parameters = 7. */
function matchMessage({ kind, text, headers = [], queries = [] }: RouteMatch): Uint8Array {
  const path = {
    prefix: () => textField(1, text),
    path: () => textField(2, text),
    regex: () => bytesField(10, regexMatcher(text)),
  };
  return message(
    path[kind](),
    // HeaderMatcher and QueryParameterMatcher: name = 1, string_match = 13 and 5.
    ...headers.map((one) => bytesField(6, namedMatcher(one, 13))),
    ...queries.map((one) => bytesField(7, namedMatcher(one, 5))),
  );
}

function namedMatcher({ kind, name, text }: TextMatch, field: number): Uint8Array {
  // A oneof's member is written even when empty.
  const exact = textFields(1, [text]);
  const matcher = kind === "exact" ? exact : bytesField(5, regexMatcher(text));
  return message(textField(1, name), bytesField(field, matcher));
}

function regexMatcher(text: string): Uint8Array {
  return message(textField(2, text));
}

/** Route: route = 2, redirect = 3, direct_response = 7 { status = 1 }. */
function actionField(action: RouteAction): Uint8Array {
  switch (action.kind) {
    case "forward":
      return bytesField(2, forwardMessage(action));
    case "redirect":
      return bytesField(3, redirectMessage(action));
    case "answer":
      return bytesField(7, numberField(1, action.status));
    default:
      return action satisfies never;
  }
}

/** ClusterNotFoundResponseCode.INTERNAL_SERVER_ERROR. */
const answers500 = 2;

/**
 * RouteAction: cluster = 1, weighted_clusters = 3, prefix_rewrite = 5, host_rewrite_literal = 6, timeout = 8,
 * cluster_not_found_response_code = 20, request_mirror_policies = 30, regex_rewrite = 32,
 * max_stream_duration = 36 { max_stream_duration = 1 }.
 */
function forwardMessage(action: Forwarding): Uint8Array {
  const { clusters, host = "", path, timeoutMs, streamMs, mirrors = [] } = action;
  const refuses = clusters.some(({ cluster }) => cluster === refusedCluster);
  return message(
    clustersField(clusters),
    path?.kind === "prefix" ? textField(5, path.text) : nothing,
    textField(6, host),
    timeoutMs === undefined ? nothing : bytesField(8, duration(timeoutMs)),
    numberField(20, refuses ? answers500 : 0),
    ...mirrors.map((one) => bytesField(30, mirrorMessage(one))),
    path?.kind === "full" ? bytesField(32, wholePath(path.text)) : nothing,
    streamMs === undefined ? nothing : bytesField(36, bytesField(1, duration(streamMs))),
  );
}

const nothing = new Uint8Array(0);

/** WeightedCluster: clusters = 1 { name = 1, weight = 2, request_headers_to_add = 4, ... }. */
function clustersField(clusters: readonly WeightedCluster[]): Uint8Array {
  const [first] = clusters;
  const isPlain = first?.requestHeaders === undefined && first?.responseHeaders === undefined;
  if (clusters.length === 1 && first !== undefined && isPlain) return textField(1, first.cluster);
  const members = clusters.map((one) =>
    message(
      textField(1, one.cluster),
      bytesField(2, numberField(1, one.weight)),
      ...headerFields(one, { request: [4, 9], response: [5, 6] }),
    ),
  );
  return bytesField(3, message(...members.map((one) => bytesField(1, one))));
}

/** RequestMirrorPolicy: cluster = 1, runtime_fraction = 3 { default_value = 1 { numerator = 1, denominator = 2 } }. */
function mirrorMessage({ cluster, millionths }: Mirroring): Uint8Array {
  const ofMillion = message(numberField(1, millionths), numberField(2, 2));
  return message(textField(1, cluster), bytesField(3, bytesField(1, ofMillion)));
}

/** RegexMatchAndSubstitute that replaces the whole path, without its query. */
function wholePath(text: string): Uint8Array {
  const pattern = regexMatcher("^/.*$");
  return message(bytesField(1, pattern), textField(2, text.replaceAll("\\", "\\\\")));
}

/** RedirectResponseCode. */
const redirectCodes: ReadonlyMap<number, number> = new Map([
  [301, 0],
  [302, 1],
  [303, 2],
  [307, 3],
  [308, 4],
]);

/** RedirectAction: host_redirect = 1, path_redirect = 2, response_code = 3, prefix_rewrite = 5, scheme_redirect = 7, port_redirect = 8. */
function redirectMessage({
  scheme = "",
  host = "",
  port = 0,
  path,
  status,
}: Redirecting): Uint8Array {
  return message(
    textField(1, host),
    path?.kind === "full" ? textField(2, path.text) : nothing,
    numberField(3, redirectCodes.get(status) ?? 1),
    path?.kind === "prefix" ? textField(5, path.text) : nothing,
    textField(7, scheme),
    numberField(8, port),
  );
}

interface HeaderFields {
  readonly request: readonly [add: number, remove: number];
  readonly response: readonly [add: number, remove: number];
}

function headerFields(
  { requestHeaders, responseHeaders }: ChangedHeaders,
  { request, response }: HeaderFields,
): readonly Uint8Array[] {
  return [...changeFields(requestHeaders, request), ...changeFields(responseHeaders, response)];
}

/** HeaderAppendAction. */
const appends = 0;
const overwrites = 2;

function changeFields(
  changes: HeaderChanges | undefined,
  [add, remove]: readonly [number, number],
): readonly Uint8Array[] {
  if (changes === undefined) return [];
  return [
    ...changes.set.map((pair) => bytesField(add, headerOption(pair, overwrites))),
    ...changes.add.map((pair) => bytesField(add, headerOption(pair, appends))),
    textFields(remove, changes.remove),
  ];
}

/**
 * HeaderValueOption: header = 1 { key = 1, value = 2 }, append_action = 3, keep_empty_value = 4. Escapes percent
 * signs, which begin a command.
 */
function headerOption([name, value]: readonly [string, string], action: number): Uint8Array {
  const header = message(textField(1, name), textField(2, value.replaceAll("%", "%%")));
  return message(bytesField(1, header), numberField(3, action), numberField(4, 1));
}

/** google.protobuf.Duration: seconds = 1, nanos = 2. */
function duration(ms: number): Uint8Array {
  return message(numberField(1, Math.floor(ms / 1000)), numberField(2, (ms % 1000) * 1e6));
}
