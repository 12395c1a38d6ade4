/** Installs what the coordinator needs at home; what is there as it should be is not written. */
import { parseApiVersion } from "#api/object.ts";
import type { Client } from "#client/client.ts";
import { managerName } from "../names.ts";
import { homeObjects } from "./definitions.ts";

/** Throws ApiError when a right is missing. */
export async function installAtHome(client: Client): Promise<void> {
  for (const { resource, object } of homeObjects) {
    const { group = "", version = "v1" } = parseApiVersion(object.apiVersion ?? "") ?? {};
    const options = { fieldManager: managerName, force: true };
    const name = object.metadata?.name ?? "";
    await client.patch({ group, version, resource }, "", name, "apply", object, options);
  }
}
