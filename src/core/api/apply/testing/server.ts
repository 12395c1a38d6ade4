/** A little API server for tests of server-side apply: one object, applied to and updated. */
import { convert } from "../../convert/convert.ts";
import type { AnyObject, ManagedFieldsEntry } from "../../object.ts";
import { parseApiVersion } from "../../object.ts";
import { schemaOf, schemaOfKind } from "../../schema/schema.ts";
import { applyPatch, trackUpdate } from "../field-manager.ts";
import type { FieldManagement } from "../field-manager.ts";
import { applyTypes } from "../updater.ts";

export const second = 1000;
export const t0 = Date.UTC(2026, 0, 1);

/** Options for a built-in kind, from the generated schemas. */
export function managementOf(kind: string, apiVersion: string, more: object = {}): FieldManagement {
  const types = applyTypes({
    schema: (version) => {
      const gv = parseApiVersion(version);
      return gv === undefined ? undefined : schemaOfKind({ ...gv, kind });
    },
    lookup: schemaOf,
    convert,
  });
  return { types, apiVersion, subresource: "", resetFields: [["status"]], ...more };
}

export const deployments = managementOf("Deployment", "apps/v1");
export const pods = managementOf("Pod", "v1");

export function deployment(more: { metadata?: object; spec?: object; status?: object }): AnyObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    ...more,
    metadata: { name: "d", namespace: "n", ...more.metadata },
  };
}

export function container(name: string, more: object = {}): object {
  return { name, ...more };
}

export function withContainers(...containers: object[]): object {
  return { template: { spec: { containers } } };
}

/** A little server: holds one object and applies or updates it. */
export class Server {
  object: AnyObject | undefined;
  readonly #management: FieldManagement;
  #now = t0;

  constructor(management: FieldManagement, object?: AnyObject) {
    this.#management = management;
    this.object = object;
  }

  tick(): void {
    this.#now += second;
  }

  apply(manager: string, applied: AnyObject, force = false): AnyObject {
    const request = { live: this.object, applied, manager, force, nowMs: this.#now };
    this.object = applyPatch(this.#management, request).object;
    return this.object;
  }

  update(manager: string, next: AnyObject): AnyObject {
    const request = { live: this.object, next, manager, nowMs: this.#now };
    this.object = trackUpdate(this.#management, request);
    return this.object;
  }

  entry(manager: string): ManagedFieldsEntry | undefined {
    return this.object?.metadata?.managedFields?.find((e) => e.manager === manager);
  }
}
