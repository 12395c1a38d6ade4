/**
 * Installs the definitions that the coordinator needs at home, and those for global services in a region. Objects
 * that already are as wanted are not written.
 */
import { parseApiVersion } from "#api/object.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { Client } from "#client/client.ts";
import { managerName } from "../names.ts";
import { homeObjects } from "./definitions.ts";
import { serviceDefinitions } from "./service-definitions.ts";

/** @throws ApiError when a permission is missing. */
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

/** Installs the definitions for global services in a region. Definitions of another implementation are kept. */
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
