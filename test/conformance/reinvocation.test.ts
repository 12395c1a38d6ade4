/**
 * What is asked twice when the object changes: policies before webhooks, both by their reinvocationPolicy. Each
 * mutation appends its letter to a log; the logs are those that a stock kube-apiserver 1.36.3 made. It has no
 * order among policies; here they go by name.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { bindingOf, bindings, policies, policy } from "./policy-world.ts";
import {
  configMap,
  openWebhookWorld,
  pathOf,
  registration,
  type WebhookWorld,
} from "./webhook-world.ts";

const maps = "/api/v1/namespaces/default/configmaps";

/** `policy a IfNeeded` */
type Step = `${"policy" | "webhook"} ${string} ${"IfNeeded" | "Never"}`;

const cases: readonly (readonly [steps: readonly Step[], log: string])[] = [
  [["policy a IfNeeded"], "aa"],
  [["policy a Never"], "a"],
  [["policy a IfNeeded", "policy b IfNeeded"], "abab"],
  [["policy a IfNeeded", "policy b Never"], "aba"],
  [["policy a Never", "policy b IfNeeded"], "abb"],
  [["policy a IfNeeded", "webhook w IfNeeded"], "awaw"],
  [["policy a IfNeeded", "webhook w Never"], "awa"],
  [["policy a Never", "webhook w IfNeeded"], "aw"],
  [["webhook w IfNeeded"], "w"],
  [["webhook v IfNeeded", "webhook w IfNeeded"], "vwvw"],
  [["policy a IfNeeded", "policy b Never", "webhook v IfNeeded", "webhook w Never"], "abvwav"],
];

describe("reinvocation", () => {
  let world: WebhookWorld;
  before(async () => {
    world = await openWebhookWorld();
  });
  after(() => world.stop());

  async function put(kind: string, letter: string, reinvocationPolicy: string): Promise<void> {
    if (kind === "webhook")
      return world.register("mutating", letter, `/${letter}`, { reinvocationPolicy });
    const expression = `Object{data: {'log': object.?data['log'].orValue('') + '${letter}'}}`;
    const applyConfiguration = { expression };
    const mutations = [{ patchType: "ApplyConfiguration", applyConfiguration }];
    const spec = { reinvocationPolicy, mutations };
    const made = await world.create(policies("mutating"), policy("mutating", letter, spec));
    assert.equal(made.status, 201, made.text);
    await world.create(bindings("mutating"), bindingOf("mutating", letter, {}));
  }

  async function clear(): Promise<void> {
    const lists = [
      policies("mutating"),
      bindings("mutating"),
      `${registration}/${pathOf("mutating")}`,
    ];
    for (const list of lists) await world.ask("DELETE", list);
  }

  for (const [steps, log] of cases) {
    test(`${steps.join(", ")}: ${log}`, async () => {
      for (const step of steps) {
        const [kind = "", letter = "", reinvocationPolicy = ""] = step.split(" ");
        world.hooks.on(`/${letter}`, ({ object }) => {
          const data = (object?.["data"] ?? {}) as { readonly log?: string };
          const value = { ...data, log: `${data.log ?? ""}${letter}` };
          const patch = Buffer.from(JSON.stringify([{ op: "add", path: "/data", value }]));
          return { allowed: true, patchType: "JSONPatch", patch: patch.toString("base64") };
        });
        await put(kind, letter, reinvocationPolicy);
      }
      const answer = await world.create(`${maps}?dryRun=All`, configMap("log"));
      await clear();
      assert.deepEqual(answer.json["data"], { log }, answer.text);
    });
  }
});
