/**
 * Serves componentstatuses: deprecated and read-only, but still used. The objects are made on each request from the
 * server's knowledge of its components.
 */
import type { AnyObject } from "#api/object.ts";
import { compactFields, compactLabels } from "#api/selectors/compact-selector.ts";
import { notFound } from "#api/status.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import type { Negotiated } from "#forms/negotiate.ts";
import { objectResponse } from "#server/respond.ts";
import { answerObject, contentHeaders, formFor, isList } from "./answer.ts";
import type { ServedKind } from "./kind.ts";
import { listQuery } from "./list-options.ts";
import { includeObject, partial, tableOf } from "./table.ts";

export interface Component {
  readonly name: string;
  /** Undefined: the component is healthy. */
  readonly problem: string | undefined;
}

const deprecated = "v1 ComponentStatus is deprecated in v1.19+";

export function serveComponents(
  context: RequestContext,
  kind: ServedKind,
  components: readonly Component[],
): PlainResponse {
  const form = formFor(context, kind);
  context.warnings.add(deprecated);
  const statuses = components.map(componentStatus);
  const { name } = context.place;
  if (name !== "") {
    const found = statuses.find((item) => item.metadata?.name === name);
    if (found === undefined) throw notFound(singular, name);
    return answerObject(context, kind, form, 200, { ...componentType, ...found });
  }
  const items = selected(context, kind, statuses);
  const shown = shownList(context, kind, form.transform, items);
  return objectResponse(context.request, 200, shown, form, contentHeaders(form));
}

/** The resource as upstream names it in a 404. */
const singular = { group: "", resource: "componentstatus" };
const componentType = { kind: "ComponentStatus", apiVersion: "v1" };

/** Applies the selectors. Component statuses have no labels, and the name is their only field. */
function selected(
  context: RequestContext,
  kind: ServedKind,
  items: readonly AnyObject[],
): readonly AnyObject[] {
  const { labels, fields } = listQuery(kind.resource, context.query, false, []);
  return items.filter(({ metadata }) => {
    if (labels !== undefined && !compactLabels(labels).matches({})) return false;
    const name = (field: string): string =>
      field === "metadata.name" ? (metadata?.name ?? "") : "";
    return fields === undefined || compactFields(fields).matches(name);
  });
}

function shownList(
  context: RequestContext,
  kind: ServedKind,
  wanted: Negotiated["transform"],
  items: readonly AnyObject[],
): object {
  if (wanted === undefined)
    return { kind: "ComponentStatusList", apiVersion: "v1", metadata: {}, items };
  switch (wanted.kind) {
    case "Table": {
      const options = { includeObject: includeObject(context.query), nowMs: context.nowMs };
      return tableOf(kind, wanted.version, items, options);
    }
    case "PartialObjectMetadata":
      throw isList(kind);
    case "PartialObjectMetadataList": {
      const { version } = wanted;
      const apiVersion = `meta.k8s.io/${version}`;
      const metadata = items.map((item) => partial(item, version));
      return { kind: wanted.kind, apiVersion, metadata: {}, items: metadata };
    }
    default:
      return wanted.kind satisfies never;
  }
}

function componentStatus(component: Component): AnyObject {
  const { name, problem } = component;
  const condition =
    problem === undefined
      ? { type: "Healthy", status: "True", message: "ok" }
      : { type: "Healthy", status: "False", message: problem };
  return { metadata: { name }, conditions: [condition] };
}
