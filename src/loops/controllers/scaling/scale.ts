/** Finds kinds with a `scale` subresource in discovery. */
import { parseApiVersion, qualifiedResource } from "#api/object.ts";
import type { Client, ResourceRef } from "#client/client.ts";

interface ResourceList {
  readonly resources?: readonly { readonly name: string; readonly kind: string }[];
}

/** The resource of a kind; undefined when it is not served. Throws when it has no scale. */
export async function findScaledResource(
  client: Client,
  apiVersion: string,
  kind: string,
): Promise<ResourceRef | undefined> {
  const gv = parseApiVersion(apiVersion);
  if (gv === undefined) return undefined;
  const base = gv.group === "" ? "/api" : `/apis/${gv.group}`;
  const list = (await client.raw(`${base}/${gv.version}`)) as ResourceList;
  const all = list.resources ?? [];
  const found = all.find((one) => one.kind === kind && !one.name.includes("/"));
  if (found === undefined) return undefined;
  const ref = { ...gv, resource: found.name };
  if (all.some(({ name }) => name === `${found.name}/scale`)) return ref;
  throw new Error(`${qualifiedResource(ref)} does not implement the scale subresource`);
}
