/**
 * What a read asks for, when it asks in a way the mirror can answer exactly.
 *
 * Everything else is "pass": what does not parse, fields the table does not know, media types the
 * relay cannot make, combinations that mean nothing. The upstream answers those, in its own words.
 */
import {
  type FieldSelector,
  parseFieldSelector,
  printFieldSelector,
} from "#api/selectors/field-selector.ts";
import { type LabelSelector, parseLabelSelector } from "#api/selectors/label-selector.ts";
import { checkFieldSelector } from "#api/selectors/selectable-fields.ts";
import { negotiate, type Negotiated, protobufType } from "#forms/negotiate.ts";
import { hasProtobufForm } from "#forms/protobuf/envelope.ts";
import type { Place } from "#server/place.ts";
import { isTrue } from "#server/request-info.ts";
import type { PlainRequest } from "#platform/http.ts";
import { compilePredicate, type Predicate } from "#watch/predicate.ts";
import type { MirroredKind } from "../mirror/mirrored-kind.ts";

export type Version =
  /** Most recent: at least as new as the request itself. */
  | { readonly kind: "latest" }
  /** resourceVersion "0": any state. */
  | { readonly kind: "any" }
  | { readonly kind: "atLeast"; readonly revision: number }
  | { readonly kind: "exact"; readonly revision: number };

export interface Selectors {
  readonly labels: LabelSelector | undefined;
  readonly fields: FieldSelector | undefined;
}

export interface ListQuery extends Selectors {
  readonly form: Negotiated;
  readonly predicate: Predicate;
  /** Whether the list has no selector: then the remaining items can be counted, and the body can be shared. */
  readonly plain: boolean;
  readonly version: Version;
  /** Maximum number of items; 0: no limit. */
  readonly limit: number;
  readonly continue: string;
}

export interface WatchQuery {
  readonly form: Negotiated;
  readonly predicate: Predicate;
  /** Revision strictly after which the events begin. Undefined: the watch begins with the state. */
  readonly after: number | undefined;
  readonly version: Version;
  /** Whether a bookmark marks the end of the initial events. */
  readonly marker: boolean;
  readonly allowBookmarks: boolean;
  /** Whether bookmarks contain a checksum of the view. The parameter is Pilothouse's own; other servers ignore it. */
  readonly checksums: boolean;
  /** Whether the watch gets at most one event per object and window. The parameter is Pilothouse's own too. */
  readonly latestOnly: boolean;
  readonly timeoutSeconds: number;
}

type Pass = "pass";

/** `?watch=true&allowWatchBookmarks=true&viewChecksums=true` */
export const checksumsParameter = "viewChecksums";
/** `?watch=true&latestOnly=true` */
const latestOnlyParameter = "latestOnly";

export function listQuery(
  kind: MirroredKind,
  place: Place,
  request: PlainRequest,
  query: URLSearchParams,
): ListQuery | Pass {
  const form = formOf(kind, request, query);
  const selectors = selectorsOf(kind, query);
  const limit = count(query.get("limit"));
  if (form === "pass" || selectors === "pass" || limit === "pass") return "pass";
  if (query.has("sendInitialEvents") || count(query.get("timeoutSeconds")) === "pass")
    return "pass";
  const token = query.get("continue") ?? "";
  const version = listVersion(query, limit, token);
  if (version === "pass") return "pass";
  return {
    ...selectors,
    form,
    predicate: predicateOf(kind, place.namespace, selectors),
    plain: isPlain(selectors),
    version,
    limit: version.kind === "any" ? 0 : limit,
    continue: token,
  };
}

/** Parses the query of a watch. */
export function watchQuery(
  kind: MirroredKind,
  place: Place,
  request: PlainRequest,
  query: URLSearchParams,
): WatchQuery | Pass {
  const form = formOf(kind, request, query);
  const selectors = selectorsOf(kind, query);
  const timeoutSeconds = count(query.get("timeoutSeconds"));
  if (form === "pass" || selectors === "pass" || timeoutSeconds === "pass") return "pass";
  if (place.name !== "" || query.has("continue")) return "pass";
  const start = watchStart(query);
  if (start === "pass") return "pass";
  return {
    form,
    predicate: predicateOf(kind, place.namespace, selectors),
    ...start,
    allowBookmarks: isTrue(query.get("allowWatchBookmarks")),
    checksums: query.get(checksumsParameter) === "true",
    latestOnly: query.get(latestOnlyParameter) === "true",
    timeoutSeconds,
  };
}

/** Returns the version for a GET of one object, where "latest" passes through. Undefined: the query has no such parameter. */
export function getVersion(query: URLSearchParams): Version | Pass {
  return asked(query.get("resourceVersion"));
}

export function formOf(
  kind: MirroredKind,
  request: PlainRequest,
  query: URLSearchParams,
): Negotiated | Pass {
  try {
    const form = negotiate(request.headers, query, hasProtobufForm(kind) ? "objects" : "custom");
    if (form.mediaType === protobufType) return form;
    return form.mediaType === "application/json" && !form.isPretty ? form : "pass";
  } catch {
    return "pass";
  }
}

export function selectorsOf(kind: MirroredKind, query: URLSearchParams): Selectors | Pass {
  const labels = query.get("labelSelector") ?? "";
  const fields = query.get("fieldSelector") ?? "";
  try {
    return {
      labels: labels === "" ? undefined : parseLabelSelector(labels),
      fields: fields === "" ? undefined : checkFields(kind, parseFieldSelector(fields)),
    };
  } catch {
    return "pass";
  }
}

function checkFields(kind: MirroredKind, selector: FieldSelector): FieldSelector {
  const { group, resource, custom } = kind;
  return checkFieldSelector(group, resource, selector, custom?.selectableFields);
}

/** Predicate that selects everything, as most informers do; all of them share it. */
const everything = compilePredicate({ namespace: "", namespaced: false });

export function predicateOf(
  kind: MirroredKind,
  namespace: string,
  selectors: Selectors,
): Predicate {
  if (namespace === "" && isPlain(selectors)) return everything;
  return compilePredicate({ ...selectors, namespace, namespaced: kind.namespaced });
}

function isPlain(selectors: Selectors): boolean {
  const { labels, fields } = selectors;
  return (labels?.requirements.length ?? 0) + (fields?.requirements.length ?? 0) === 0;
}

/** Returns a canonical text, equal for all spellings of the same field selector. */
export function fieldText(selectors: Selectors): string {
  return selectors.fields === undefined ? "" : printFieldSelector(selectors.fields);
}

function listVersion(query: URLSearchParams, limit: number, token: string): Version | Pass {
  const version = asked(query.get("resourceVersion"));
  const match = query.get("resourceVersionMatch") ?? "";
  if (version === "pass") return "pass";
  if (token !== "") return match === "" && version.kind !== "atLeast" ? { kind: "latest" } : "pass";
  switch (match) {
    case "":
      if (version.kind !== "atLeast" || limit === 0) return version;
      return { kind: "exact", revision: version.revision };
    case "NotOlderThan":
      return version.kind === "latest" ? "pass" : version;
    case "Exact":
      return version.kind === "atLeast" ? { kind: "exact", revision: version.revision } : "pass";
    default:
      return "pass";
  }
}

function watchStart(
  query: URLSearchParams,
): Pick<WatchQuery, "after" | "version" | "marker"> | Pass {
  const version = asked(query.get("resourceVersion"));
  const match = query.get("resourceVersionMatch") ?? "";
  if (version === "pass") return "pass";
  const initial = query.get("sendInitialEvents");
  if (initial === null) {
    if (match !== "") return "pass";
    const after = version.kind === "atLeast" ? version.revision : undefined;
    return { after, version: after === undefined ? version : { kind: "any" }, marker: false };
  }
  // Without the initial events, the mirror cannot prove any position to be the most recent one.
  if (!isTrue(initial) || match !== "NotOlderThan") return "pass";
  return { after: undefined, version, marker: isTrue(query.get("allowWatchBookmarks")) };
}

function asked(text: string | null): Version | Pass {
  if (text === null || text === "") return { kind: "latest" };
  if (!/^[0-9]{1,15}$/.test(text)) return "pass";
  const revision = Number(text);
  return revision === 0 ? { kind: "any" } : { kind: "atLeast", revision };
}

function count(text: string | null): number | Pass {
  if (text === null || text === "") return 0;
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : "pass";
}
