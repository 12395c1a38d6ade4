/** NodePorts: host ports are had by one Pod per node and address. */
import { portsClash } from "../cache.ts";
import type { FilterPlugin } from "../framework.ts";
import { reasonId } from "../reasons.ts";

const taken = reasonId(
  "NodePorts",
  "node(s) didn't have free ports for the requested pod ports",
  true,
);

export const portsFilter: FilterPlugin = {
  name: "NodePorts",
  filter(cycle) {
    const wanted = cycle.info.hostPorts;
    if (wanted.length === 0) return;
    cycle.keep((slot) => {
      const held = cycle.cache.portsOn(slot);
      return wanted.some((port) => held.some((h) => portsClash(port, h))) ? taken : -1;
    });
  },
};
