/** Reads the zone of each node, only if nodes are silent: nodes of one zone share the cause of a failure. */
import type { KubeObject } from "#api/object.ts";
import type { Client } from "#client/client.ts";
import type { Gap } from "./evidence.ts";

const nodes = { group: "", version: "v1", resource: "nodes" };
const zoneLabel = "topology.kubernetes.io/zone";
const pageNodes = 500;
/** Allows as many nodes as node leases are read. */
const pagesMax = 20;

/** By node name: its zone. Nodes without a zone are left out. Rejects when a page cannot be read. */
export async function readZones(client: Client, gaps: Gap[]): Promise<ReadonlyMap<string, string>> {
  const zones = new Map<string, string>();
  let next = "";
  for (let page = 0; page < pagesMax; page++) {
    const more = next === "" ? {} : { continue: next };
    const call = { limit: pageNodes, metadataOnly: true, ...more };
    const { metadata, items } = await client.list<KubeObject>(nodes, call);
    for (const item of items) keepZone(zones, item);
    next = metadata.continue ?? "";
    if (next === "") return zones;
  }
  const what = `zones of the nodes after the first ${pagesMax * pageNodes}`;
  gaps.push({ what, why: `${pagesMax} pages are read`, right: "-" });
  return zones;
}

/** The server is not trusted, so the types are checked. */
function keepZone(zones: Map<string, string>, item: KubeObject): void {
  const zone: unknown = item?.metadata?.labels?.[zoneLabel];
  const name: unknown = item?.metadata?.name;
  if (typeof zone === "string" && typeof name === "string") zones.set(name, zone);
}
