/**
 * componentstatuses: deprecated, read only, and still asked for by people. Made on each request from
 * what the server knows of its parts.
 */
import type { AnyObject } from "#api/object.ts";
import { notFound } from "#api/status.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { objectResponse } from "#server/respond.ts";
import { answerObject, contentHeaders, formFor } from "./answer.ts";
import type { ServedKind } from "./kind.ts";
import { includeObject, tableOf } from "./table.ts";

export interface Component {
  readonly name: string;
  /** Undefined when well. */
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
  const items = components.map(componentStatus);
  const { name } = context.place;
  if (name !== "") {
    const found = items.find((item) => item.metadata?.name === name);
    if (found === undefined) throw notFound(kind.resource, name);
    return answerObject(context, kind, form, 200, found);
  }
  if (form.transform?.kind === "Table") {
    const options = { includeObject: includeObject(context.query), nowMs: context.nowMs };
    const shown = tableOf(kind, form.transform.version, items, options);
    return objectResponse(context.request, 200, shown, form, contentHeaders(form));
  }
  const list = { kind: "ComponentStatusList", apiVersion: "v1", metadata: {}, items };
  return objectResponse(context.request, 200, list, form);
}

function componentStatus(component: Component): AnyObject {
  const { name, problem } = component;
  const condition =
    problem === undefined
      ? { type: "Healthy", status: "True", message: "ok" }
      : { type: "Healthy", status: "False", message: problem };
  return {
    kind: "ComponentStatus",
    apiVersion: "v1",
    metadata: { name },
    conditions: [condition],
  };
}
