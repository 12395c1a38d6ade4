/** What is written: definitions with a schema of some 2 KB, and objects of 2 KB, custom and built-in. */
import type { JsonObject } from "#api/object.ts";
import type { Target } from "./target.ts";
import { after, send } from "./target.ts";

export const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const configMaps = "/api/v1/namespaces/default/configmaps";

/** Five rules, about strings, an optional field, a regular expression, a list and the old object. */
export const ruleTexts = [
  "self.field0.startsWith('x')",
  "self.field1.size() <= 256 && self.field2 != 'y'",
  "!has(self.field3) || self.field3.matches('^[a-z]+$')",
  "[self.field4, self.field5].all(f, f == self.field6)",
  "!has(oldSelf.n) || self.n == oldSelf.n",
];

const text = "x".repeat(100);

export function specSchema(rules: readonly string[] = []): JsonObject {
  const field = (at: string | number): JsonObject => ({
    type: "string",
    maxLength: 256,
    description: `What field ${at} says of the object`,
  });
  const fields = Array.from({ length: 20 }, (_, at) => [`field${at}`, field(at)]);
  const properties = { ...Object.fromEntries(fields), n: field("n") };
  const ruled = rules.length === 0 ? {} : { "x-kubernetes-validations": rules.map(ruleOf) };
  return { type: "object", properties, ...ruled };
}

function ruleOf(rule: string): JsonObject {
  return { rule };
}

function groupOf(n: number): string {
  return `g${Math.floor(n / 10)}.bench.example.com`;
}

/** Ten definitions are one group. */
export function definition(n: number, rules?: readonly string[]): object {
  const status = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const schema = { type: "object", properties: { spec: specSchema(rules), status } };
  const version = { name: "v1", served: true, storage: true, subresources: { status: {} } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: nameOf(n) },
    spec: {
      group: groupOf(n),
      scope: "Namespaced",
      names: { plural: `things${n}`, singular: `thing${n}`, kind: `Thing${n}` },
      versions: [{ ...version, schema: { openAPIV3Schema: schema } }],
    },
  };
}

function nameOf(n: number): string {
  return `things${n}.${groupOf(n)}`;
}

export function thingsPath(n: number): string {
  return `/apis/${groupOf(n)}/v1/namespaces/default/things${n}`;
}

/** Creates it; returns when it is established. */
export async function define(target: Target, n: number, rules?: readonly string[]): Promise<void> {
  await send(target, "POST", definitions, definition(n, rules));
  const path = `${definitions}/${nameOf(n)}`;
  while (!isEstablished((await target.client.request("GET", path)).body)) await after(1);
}

/** Asks until its objects can be listed: a stock server serves a kind some time after it is established. */
export async function untilServed(target: Target, n: number): Promise<void> {
  while ((await target.client.request("GET", thingsPath(n))).status !== 200) await after(20);
}

export function isEstablished(object: unknown): boolean {
  const { status } = object as { status?: { conditions?: { type: string; status: string }[] } };
  return (status?.conditions ?? []).some(
    (condition) => condition.type === "Established" && condition.status === "True",
  );
}

/** An object of definition `kind`. */
export function custom(kind: number, name: string): object {
  const fields = Array.from({ length: 18 }, (_, at) => [`field${at}`, text]);
  const spec = { ...Object.fromEntries(fields), n: "0" };
  return { apiVersion: `${groupOf(kind)}/v1`, kind: `Thing${kind}`, metadata: { name }, spec };
}

export function configMap(name: string): object {
  const fields = Array.from({ length: 18 }, (_, at) => [`field${at}`, text]);
  return { metadata: { name }, data: { ...Object.fromEntries(fields), n: "0" } };
}
