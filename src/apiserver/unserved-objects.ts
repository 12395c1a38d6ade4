/** What an older release stored of kinds that this one refuses: said once, at the start, in the log. */
import { unservedKinds, unservedText } from "#admission/unserved-kinds.ts";
import type { Log } from "#platform/log.ts";
import type { Catalog } from "./kind.ts";

/** Names in one line of the log. */
const namesMax = 5;

export function logUnservedObjects(catalog: Catalog, log: Log): void {
  for (const row of unservedKinds) {
    if (row.onWrite !== "refuse") continue;
    const objects = catalog.find(row.group, "v1", row.resource)?.store?.peekList("") ?? [];
    if (objects.length === 0) continue;
    const names = objects.slice(0, namesMax).map(({ object }) => object.metadata?.name ?? "");
    const count = objects.length;
    log.warn(`stored objects are not enforced: ${unservedText(row)}`, { count, names });
  }
}
