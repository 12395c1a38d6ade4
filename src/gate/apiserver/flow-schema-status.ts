/** Condition Dangling of each FlowSchema, as upstream: whether the priority level that it names exists. */
import type { FlowSchema, FlowSchemaCondition } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import { formatTime } from "#api/values/time.ts";
import type { Clock } from "#platform/clock.ts";
import type { ResourceStore } from "#registry/resource-store.ts";
import type { Catalog } from "./kind.ts";

const group = "flowcontrol.apiserver.k8s.io";

/** Updates the condition of each FlowSchema whose condition is out of date. */
export async function tellDangling({
  catalog,
  clock,
}: {
  readonly catalog: Catalog;
  readonly clock: Clock;
}): Promise<void> {
  const schemas = catalog.find(group, "v1", "flowschemas")?.store;
  const levels = catalog.find(group, "v1", "prioritylevelconfigurations")?.store;
  if (schemas === undefined || levels === undefined) return;
  const writes = schemas
    .peekList("")
    .filter(({ object }) => isNews(object, levels))
    .map(({ name }) => tell(schemas, levels, name, formatTime(clock.nowMs())));
  await Promise.all(writes);
}

async function tell(
  schemas: ResourceStore,
  levels: ResourceStore,
  name: string,
  lastTransitionTime: string,
): Promise<void> {
  try {
    await schemas.update(
      "",
      name,
      (current = {}) =>
        withCondition(current, { ...conditionOf(current, levels), lastTransitionTime }),
      { subresource: "status", dryRun: false },
    );
  } catch (error) {
    // The FlowSchema has been deleted.
    if (!(error instanceof ApiError) || error.code !== 404) throw error;
  }
}

function isNews(schema: FlowSchema, levels: ResourceStore): boolean {
  const known = schema.status?.conditions?.find(({ type }) => type === "Dangling");
  const { status, reason, message } = conditionOf(schema, levels);
  if (known === undefined) return true;
  return known.status !== status || known.reason !== reason || known.message !== message;
}

function conditionOf({ spec }: FlowSchema, levels: ResourceStore): FlowSchemaCondition {
  const name = spec?.priorityLevelConfiguration.name ?? "";
  const isFound = levels.peek("", name) !== undefined;
  const what = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(name)}`;
  return isFound
    ? { type: "Dangling", status: "False", reason: "Found", message: `${what} and it exists` }
    : {
        type: "Dangling",
        status: "True",
        reason: "NotFound",
        message: `${what} but there is no such object`,
      };
}

function withCondition(schema: FlowSchema, condition: FlowSchemaCondition): AnyObject {
  const known = schema.status?.conditions ?? [];
  const at = known.findIndex(({ type }) => type === condition.type);
  const conditions = at < 0 ? [...known, condition] : known.with(at, condition);
  return { ...schema, status: { ...schema.status, conditions } };
}
