/** Records the day of a legacy token's last use in its Secret, like upstream: at most one write per day and Secret. */
import { resourceByPath } from "#api/schema/resources.ts";
import type { AnyObject } from "#api/object.ts";
import { must } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { OpenRegistry } from "#registry/registry.ts";

const label = "kubernetes.io/legacy-token-last-used";

/** Returns at once and writes in the background. A failed write is repeated at the next use. */
export function legacyUseNoter(deps: {
  readonly clock: Clock;
  readonly log: Log;
  readonly registry: OpenRegistry;
}): (namespace: string, secretName: string) => void {
  const info = must(resourceByPath("", "v1", "secrets"), "secrets are built in");
  const store = deps.registry.store(info);
  const writing = new Set<string>();
  return (namespace, name) => {
    const today = new Date(deps.clock.nowMs()).toISOString().slice(0, 10);
    const key = `${namespace}/${name}`;
    const labels = store.peek(namespace, name)?.object.metadata?.labels;
    if (labels?.[label] === today || writing.has(key)) return;
    writing.add(key);
    const noted = (current: AnyObject | undefined): AnyObject => ({
      ...current,
      metadata: {
        ...current?.metadata,
        labels: { ...current?.metadata?.labels, [label]: today },
      },
    });
    store
      .update(namespace, name, noted, { subresource: "", dryRun: false })
      .catch((error: unknown) =>
        deps.log.warn("the use of a legacy token was not noted", { key, error: String(error) }),
      )
      .finally(() => writing.delete(key));
  };
}
