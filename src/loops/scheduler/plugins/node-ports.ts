/** NodePorts: a host port belongs to one Pod per node and address. */
import { portsClash } from "../cache.ts";
import type { Plugin } from "../plugin.ts";
import { reasonId } from "../reasons.ts";

const name = "NodePorts";
const taken = reasonId(name, "node(s) didn't have free ports for the requested pod ports", true);

export function nodePorts(): Plugin {
  return {
    name,
    filter(cycle) {
      const wanted = cycle.info.hostPorts;
      if (wanted.length === 0) return;
      cycle.keep((slot) => {
        const held = cycle.cache.portsOn(slot);
        return wanted.some((port) => held.some((h) => portsClash(port, h))) ? taken : -1;
      });
    },
    isIdle: ({ hostPorts }) => hostPorts.length === 0,
    isSharedByClass: true,
    hint: ({ kind }) => (kind === "node" || kind === "pod-gone" ? "queue-if-fits" : "skip"),
  };
}
