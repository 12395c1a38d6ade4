/**
 * Options of list, watch and deletecollection, parsed and checked as upstream checks them (apimachinery
 * pkg/apis/meta/internalversion/validation): 400 for values that do not parse, 422 of kind ListOptions for invalid
 * combinations.
 */
import { clampToSafe, parseInt64, parseInt64Error } from "#api/go/go-integer.ts";
import { checkFieldSelector } from "#api/selectors/selectable-fields.ts";
import { type FieldSelector, parseFieldSelector } from "#api/selectors/field-selector.ts";
import {
  type LabelSelector,
  parseLabelSelector,
  SelectorError,
} from "#api/selectors/label-selector.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { badRequest, type FieldError, invalid } from "#api/status.ts";
import { forbiddenField } from "#api/validation/errors.ts";
import { given } from "#base/given.ts";
import { isTrue } from "#server/request-info.ts";

export interface ListQuery {
  readonly labels?: LabelSelector;
  readonly fields?: FieldSelector;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: "NotOlderThan" | "Exact" | "";
  /** Maximum number of objects; 0 means no limit. */
  readonly limit: number;
  readonly continue: string;
  readonly watch: boolean;
  readonly allowWatchBookmarks: boolean;
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds?: number;
}

/** @throws ApiError 400, 422. `extraFields`: selectable fields of a custom resource. */
export function listQuery(
  info: ResourceInfo,
  query: URLSearchParams,
  watch: boolean,
  extraFields: readonly string[] = [],
): ListQuery {
  const labels = selector(query.get("labelSelector"), parseLabelSelector);
  const fields = selector(query.get("fieldSelector"), (text) =>
    checkFieldSelector(
      info.group,
      info.resource,
      parseFieldSelector(text),
      extraFields,
      info.isCustom === true,
    ),
  );
  const initial = query.get("sendInitialEvents");
  const timeoutSeconds = integer(query, "timeoutSeconds");
  const parsed: ListQuery = {
    ...given({ labels, fields }),
    resourceVersion: query.get("resourceVersion") ?? "",
    // Checked below; an invalid value is never returned.
    resourceVersionMatch: (query.get("resourceVersionMatch") ??
      "") as ListQuery["resourceVersionMatch"],
    limit: Math.max(0, integer(query, "limit") ?? 0),
    continue: query.get("continue") ?? "",
    watch,
    allowWatchBookmarks: isTrue(query.get("allowWatchBookmarks")),
    ...(initial === null ? {} : { sendInitialEvents: isTrue(initial) }),
    ...given({ timeoutSeconds }),
  };
  const errors = watch ? watchFaults(parsed) : listFaults(parsed);
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", errors);
  return parsed;
}

/** Parses a selector. An empty one selects everything, like an absent one. */
function selector<T>(text: string | null, parse: (text: string) => T): T | undefined {
  if (text === null || text === "") return undefined;
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message);
    throw error;
  }
}

function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = parseInt64(text);
  if (value === undefined) throw badRequest(parseInt64Error(text));
  return clampToSafe(value);
}

const matches: readonly string[] = ["", "Exact", "NotOlderThan"];

function unsupportedMatchError(value: string, supported: readonly string[]): FieldError {
  const list = supported.map((item) => JSON.stringify(item)).join(", ");
  return {
    reason: "FieldValueNotSupported",
    field: "resourceVersionMatch",
    message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`,
  };
}

function listFaults(options: ListQuery): readonly FieldError[] {
  const { resourceVersion, resourceVersionMatch: match } = options;
  const initial = forbiddenField("sendInitialEvents", "sendInitialEvents is forbidden for list");
  const last = options.sendInitialEvents === undefined ? [] : [initial];
  if (match === "") return last;
  const errors: FieldError[] = [];
  const field = "resourceVersionMatch";
  if (resourceVersion === "") {
    const why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
    errors.push(forbiddenField(field, why));
  }
  if (options.continue !== "") {
    errors.push(
      forbiddenField(field, "resourceVersionMatch is forbidden when continue is provided"),
    );
  }
  if (!matches.includes(match)) errors.push(unsupportedMatchError(match, matches));
  if (match === "Exact" && resourceVersion === "0") {
    const why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"';
    errors.push(forbiddenField(field, why));
  }
  return [...errors, ...last];
}

function watchFaults(options: ListQuery): readonly FieldError[] {
  const match = options.resourceVersionMatch;
  const field = "resourceVersionMatch";
  const errors: FieldError[] = [];
  if (options.sendInitialEvents === undefined) {
    if (match !== "") {
      const why =
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
      errors.push(forbiddenField(field, why));
      if (match !== "NotOlderThan") errors.push(unsupportedMatchError(match, ["NotOlderThan"]));
    }
    return errors;
  }
  if (match !== "NotOlderThan") {
    const why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    errors.push(forbiddenField(field, why));
    if (match !== "") errors.push(unsupportedMatchError(match, ["NotOlderThan"]));
  }
  if (options.continue !== "") {
    const why = "continue is forbidden when sendInitialEvents is provided";
    errors.push(forbiddenField("continue", why));
  }
  return errors;
}
