/** Installs what the coordinator needs at home, and in a region for global services; what is there as it should be is not written. */
import { parseApiVersion } from "#api/object.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { Client } from "#client/client.ts";
import { managerName } from "../names.ts";
import { homeObjects } from "./definitions.ts";
import { serviceDefinitions } from "./service-definitions.ts";

/** Throws ApiError when a right is missing. */
export async function installAtHome(client: Client): Promise<void> {
  for (const { resource, object } of homeObjects) {
    const { group = "", version = "v1" } = parseApiVersion(object.apiVersion ?? "") ?? {};
    const options = { fieldManager: managerName, force: true };
    const name = object.metadata?.name ?? "";
    await client.patch({ group, version, resource }, "", name, "apply", object, options);
  }
}

const definitions = {
  group: "apiextensions.k8s.io",
  version: "v1",
  resource: "customresourcedefinitions",
};

/** In a region; definitions of another implementation stay. */
export async function installServiceDefinitions(client: Client): Promise<void> {
  for (const object of serviceDefinitions) {
    const name = object.metadata?.name ?? "";
    try {
      await client.get(definitions, "", name);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await client.patch(definitions, "", name, "apply", object, { fieldManager: managerName });
    }
  }
}
