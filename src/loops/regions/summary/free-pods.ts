/** Estimates from a region's summary how many pods of a template still fit there. */
import type { Pod } from "#api/gen/types.ts";
import { tolerates } from "#api/selectors/node-match.ts";
import { podRoom, type NodeClass, type RegionSummary } from "./region-summary.ts";
import { fitting } from "./room-cells.ts";

/** Node classes with a taint that the pod does not tolerate have no room for it. Node selectors are not evaluated. */
export function freePods(summary: RegionSummary, template: Pod): number {
  const room = podRoom(template);
  const open = summary.classes.filter((each) => toleratesAll(template, each));
  return open.reduce((all, { cells }) => all + fitting(cells, room), 0);
}

function toleratesAll(pod: Pod, { taints }: NodeClass): boolean {
  return taints.every((text) => {
    const [, key = "", value = "", effect = ""] = /^([^=]*)=([^:]*):(\w+)$/.exec(text) ?? [];
    return tolerates(pod.spec?.tolerations ?? [], { key, value, effect });
  });
}
