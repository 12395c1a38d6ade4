/** An API server that serves custom resources, on a memory store and virtual time. */
import { builtinResources } from "#api/schema/resources.ts";
import type { AnyObject } from "#api/object.ts";
import { ask, openPlane, type Plane } from "#apiserver/testing/plane.ts";
import { silentLog } from "#platform/log.ts";
import type { ConverterOf } from "../definitions/conversion.ts";
import { type Definitions, serveDefinitions } from "../definitions/definitions.ts";
import { rulesWith } from "../definitions/rules/rules.ts";
import { ExpressionRunner, type ExpressionThread } from "../expressions/runner.ts";
import { strategiesWithExpressions } from "../expressions/written-expressions.ts";

export interface CustomPlane extends Plane {
  readonly definitions: Definitions;
}

interface CustomOptions {
  readonly converterOf?: ConverterOf;
  readonly convertedBytesMax?: number;
  readonly thread?: ExpressionThread;
}

export async function openCustomPlane(
  options: Parameters<typeof openPlane>[0] = {},
  custom: CustomOptions = {},
): Promise<CustomPlane> {
  const runner = new ExpressionRunner(custom.thread);
  const strategyFor = strategiesWithExpressions(runner);
  const plane = await openPlane({ strategyFor, ...options });
  const { clock, registry } = plane;
  const { catalog } = plane.server;
  const shared = { clock, log: silentLog, registry, catalog, rulesOf: rulesWith(runner) };
  const deps = { ...shared, convertedBytesMax: 2 ** 26, ...custom };
  const definitions = serveDefinitions(deps, builtinResources());
  const close = async (): Promise<void> => {
    await definitions.close();
    await plane.close();
  };
  return { ...plane, definitions, close };
}

export async function withCustomPlane(f: (plane: CustomPlane) => Promise<void>): Promise<void> {
  const plane = await openCustomPlane();
  try {
    await f(plane);
  } finally {
    await plane.close();
  }
}

export const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const cronTabs = "/apis/stable.example.com/v1/namespaces/default/crontabs";

/** Returns `crontabs.stable.example.com` with one version. Fields of `version` and `spec` replace its own. */
export function cronTabDefinition(version: object = {}, spec: object = {}): AnyObject {
  const one = { name: "v1", served: true, storage: true, schema: cronTabSchema, ...version };
  const names = { plural: "crontabs", singular: "crontab", kind: "CronTab", shortNames: ["ct"] };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "crontabs.stable.example.com" },
    spec: { group: "stable.example.com", scope: "Namespaced", names, versions: [one], ...spec },
  };
}

const cronTabSchema = {
  openAPIV3Schema: {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          cronSpec: { type: "string" },
          image: { type: "string", default: "busybox" },
          replicas: { type: "integer", minimum: 0 },
        },
      },
      status: {
        type: "object",
        properties: { replicas: { type: "integer" }, labelSelector: { type: "string" } },
      },
    },
  },
};

export function cronTab(name: string, spec: object = { cronSpec: "* * * * *" }): AnyObject {
  return { apiVersion: "stable.example.com/v1", kind: "CronTab", metadata: { name }, spec };
}

/** Creates a definition, and waits until it is established. */
export async function define(plane: CustomPlane, definition: AnyObject): Promise<void> {
  const { name = "" } = definition.metadata ?? {};
  const created = await ask(plane, "POST", definitionsPath, { body: definition });
  if (created.status !== 201) throw new Error(`${created.status}: ${created.text}`);
  await settled(plane, name, (stored) => conditionOf(stored, "Established") === "True");
}

/** Runs turns of the loop until the stored definition is as wanted. */
export async function settled(
  plane: CustomPlane,
  name: string,
  isSo: (definition: AnyObject) => boolean,
): Promise<AnyObject> {
  for (let turns = 0; turns < 1000; turns++) {
    const { status, json } = await ask(plane, "GET", `${definitionsPath}/${name}`);
    if (status === 200 && isSo(json)) return json;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`${name} did not settle`);
}

export function conditionOf(definition: AnyObject, type: string): string | undefined {
  const { conditions = [] } = (definition["status"] ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
  return conditions.find((condition) => condition.type === type)?.status;
}
