/** Upstream's conformance behaviours of custom resources, through @kubernetes/client-node; README.md has the table. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  ApiException,
  ApiextensionsV1Api,
  CustomObjectsApi,
  type KubernetesObject,
  Watch,
} from "@kubernetes/client-node";
import { type ClientWorld, openClientWorld } from "./client-world.ts";

const group = "nodes.example.com";
const things = { group, version: "v1", namespace: "default", plural: "things" };
const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `things.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural: "things", singular: "thing", kind: "Thing" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        selectableFields: [{ jsonPath: ".spec.color" }],
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { color: { type: "string", maxLength: 5 } } },
            },
          },
        },
      },
    ],
  },
};
const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ofThings = { fieldSelector: `metadata.name=things.${group}` };
const thing = (name: string, color: string): object => ({
  apiVersion: `${group}/v1`,
  kind: "Thing",
  metadata: { name },
  spec: { color },
});

describe("client-node", () => {
  let world: ClientWorld;
  let objects: CustomObjectsApi;
  let definitions: ApiextensionsV1Api;
  before(async () => {
    world = await openClientWorld();
    objects = world.config.makeApiClient(CustomObjectsApi);
    definitions = world.config.makeApiClient(ApiextensionsV1Api);
  });
  after(() => world.stop());

  /** The watch is over when `isLast` says so of an event. */
  async function watched(
    path: string,
    query: object,
    isLast: (phase: string, object: KubernetesObject) => boolean,
    act: () => Promise<unknown>,
  ): Promise<readonly string[]> {
    const seen: string[] = [];
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    const controller = await new Watch(world.config).watch(
      path,
      query as Record<string, string>,
      (phase, object: KubernetesObject) => {
        seen.push(`${phase} ${object.metadata?.name}`);
        if (isLast(phase, object)) end();
      },
      () => end(),
    );
    await act();
    await ended;
    controller.abort();
    return seen;
  }

  test("CustomResourceDefinition Watch: watch on custom resource definition objects", async () => {
    const isEstablished = (_phase: string, object: KubernetesObject): boolean => {
      const { conditions = [] } =
        (object as { status?: { conditions?: { type: string; status: string }[] } }).status ?? {};
      return conditions.some(({ type, status }) => type === "Established" && status === "True");
    };
    const seen = await watched(definitionsPath, ofThings, isEstablished, () =>
      definitions.createCustomResourceDefinition({ body: definition }),
    );
    assert.equal(seen[0], `ADDED things.${group}`);
    assert.ok(
      seen.slice(1).every((event) => event === `MODIFIED things.${group}`),
      seen.join(),
    );
  });

  test("custom objects are created, read, refused and listed", async () => {
    await objects.createNamespacedCustomObject({ ...things, body: thing("a", "red") });
    const read = await objects.getNamespacedCustomObject({ ...things, name: "a" });
    assert.deepEqual((read as { spec: object }).spec, { color: "red" });
    await assert.rejects(
      objects.createNamespacedCustomObject({ ...things, body: thing("b", "violet") }),
      (error: ApiException<unknown>) =>
        error.code === 422 && String(error.body).includes("Too long: may not be more than 5 bytes"),
    );
  });

  test("CustomResourceFieldSelectors MUST list and watch custom resources matching the field selector", async () => {
    const fieldSelector = "spec.color=blue";
    const path = `/apis/${group}/v1/namespaces/default/things`;
    const last = (phase: string): boolean => phase === "DELETED";
    const seen = await watched(path, { fieldSelector }, last, async () => {
      await objects.createNamespacedCustomObject({ ...things, body: thing("c", "blue") });
      await objects.createNamespacedCustomObject({ ...things, body: thing("d", "green") });
      const listed = await objects.listNamespacedCustomObject({ ...things, fieldSelector });
      const { items } = listed as { items: readonly KubernetesObject[] };
      assert.deepEqual(
        items.map(({ metadata }) => metadata?.name),
        ["c"],
      );
      const { metadata } = items[0] ?? {};
      const changed = { ...thing("c", "red"), metadata };
      await objects.replaceNamespacedCustomObject({ ...things, name: "c", body: changed });
    });
    assert.deepEqual(seen, ["ADDED c", "DELETED c"]);
  });

  test("creating/deleting custom resource definition objects works", async () => {
    const isGone = (phase: string): boolean => phase === "DELETED";
    await watched(definitionsPath, ofThings, isGone, () =>
      definitions.deleteCustomResourceDefinition({ name: `things.${group}` }),
    );
    await assert.rejects(
      objects.listNamespacedCustomObject(things),
      (error: ApiException<unknown>) => error.code === 404,
    );
  });
});
