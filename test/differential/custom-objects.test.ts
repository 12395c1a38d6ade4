/**
 * What schemas say of custom objects is what a stock server said of them. The server's way of a write is
 * walked here by hand: metadata, pruning, defaults, validation.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "#api/object.ts";
import { coerceMetadata } from "#api/structural/coerce.ts";
import { applyStructuralDefaults, dropNulls } from "#api/structural/default.ts";
import { prune } from "#api/structural/prune.ts";
import { compileStructural } from "#api/structural/structural.ts";
import { validateCustomObject } from "#api/structural/validate.ts";
import { part } from "#api/validation/fields.ts";
import { customObjects } from "./cases/custom-objects.ts";
import { type Case, isCollect, type Recorded, type Step } from "./exchange.ts";
import { readGolden } from "./golden.ts";

interface Cause {
  readonly field?: string;
  readonly message?: string;
  readonly reason?: string;
}

function schemaOfCase(one: Case): JsonObject {
  const [first] = one.steps;
  assert.ok(first !== undefined && !isCollect(first));
  const body = first.body as {
    readonly spec: { readonly versions: readonly { readonly schema: JsonObject }[] };
  };
  return body.spec.versions[0]?.schema["openAPIV3Schema"] as JsonObject;
}

/** The findings, or the object as it would be kept. */
function write(schema: JsonObject, body: JsonObject): readonly string[] | JsonObject {
  const { structural, errors } = compileStructural(schema);
  assert.deepEqual(errors, []);
  assert.ok(structural !== undefined);
  const options = { dropInvalid: false, isResourceRoot: true };
  const coerced = coerceMetadata(body, structural, options);
  if (coerced.error !== undefined) return [`${coerced.error.field}: ${coerced.error.message}`];
  const pruned = prune(coerced.object, structural, true).object;
  const object = applyStructuralDefaults(dropNulls(pruned, structural), structural);
  const found = validateCustomObject(object, structural);
  return found.length === 0
    ? object
    : found.map((one) => `${one.reason} ${one.field}: ${one.message}`);
}

function causesOf(recorded: Recorded): readonly string[] {
  const body = recorded.body as {
    readonly details?: { readonly causes?: readonly Cause[] };
    readonly message?: string;
  };
  const causes = body.details?.causes;
  // The server puts a finding about metadata into a sentence of its own.
  if (causes === undefined) return [(body.message ?? "").replace(/^.* as a Resource: /, "")];
  return causes.map((cause) => `${cause.reason} ${cause.field}: ${cause.message}`);
}

const golden = readGolden("customobjects");
const ownTests = new Set(["pruning and defaults", "ratcheting"]);

describe("schemas of custom objects beside a stock server", () => {
  for (const one of customObjects.cases.filter(({ name }) => !ownTests.has(name))) {
    test(`objects of ${one.name} are told the same`, () => {
      const schema = schemaOfCase(one);
      const answers = golden[one.name] ?? [];
      one.steps.slice(2).forEach((step, at) => {
        const recorded = answers[at + 2];
        assert.ok(recorded !== undefined);
        const body = (step as Step).body as JsonObject;
        const ours = write(schema, body);
        const text = JSON.stringify(body["spec"]);
        if (recorded.status < 400) {
          assert.deepEqual(
            (ours as JsonObject)["spec"],
            (recorded.body as JsonObject)["spec"],
            text,
          );
        } else
          assert.deepEqual([...(ours as string[])].sort(), [...causesOf(recorded)].sort(), text);
      });
    });
  }

  test("pruned and defaulted objects are kept the same, unknown fields are told the same", () => {
    const one = caseOf("pruning and defaults");
    const { structural } = compileStructural(schemaOfCase(one));
    const answers = golden[one.name] ?? [];
    let compared = 0;
    one.steps.forEach((step, at) => {
      const recorded = answers[at];
      if (at < 2 || recorded === undefined || isCollect(step)) return;
      const body = step.body as JsonObject;
      const options = { dropInvalid: false, isResourceRoot: true };
      const coerced = coerceMetadata(body, structural, options);
      const pruned = prune(coerced.object, structural, true);
      assert.ok(structural !== undefined);
      if (recorded.status === 201) {
        const object = applyStructuralDefaults(dropNulls(pruned.object, structural), structural);
        assert.deepEqual(object["spec"], (recorded.body as JsonObject)["spec"]);
        compared++;
      }
      const message = (recorded.body as { readonly message?: string }).message ?? "";
      const unknown = [...pruned.unknownFields, ...coerced.unknownFields];
      const texts = unknown.map((path) => `unknown field "${path}"`).join(", ");
      if (message.includes("unknown field")) {
        assert.ok(message.endsWith(`strict decoding error: ${texts}`), message);
        compared++;
      }
      if (coerced.error !== undefined) {
        assert.ok(message.endsWith(` cannot be handled as a Keep: ${coerced.message}`), message);
        compared++;
      }
    });
    assert.ok(compared >= 8, `${compared} answers compared`);
  });

  test("what was invalid before and did not change stays allowed, as a stock server does it", () => {
    const one = caseOf("ratcheting");
    const tight = one.steps[3] as Step;
    const versions = (tight.body as { readonly spec: { readonly versions: readonly JsonObject[] } })
      .spec.versions;
    const schema = part(part(versions[0] ?? {}, "schema"), "openAPIV3Schema") as JsonObject;
    const { structural } = compileStructural(schema);
    assert.ok(structural !== undefined);
    const old = (one.steps[2] as Step).body as JsonObject;
    const answers = golden[one.name] ?? [];
    one.steps.slice(4).forEach((step, at) => {
      const recorded = answers[at + 4];
      assert.ok(recorded !== undefined && !isCollect(step));
      const change = (step.body as JsonObject)["spec"] as JsonObject;
      const next = { ...old, spec: { ...(old["spec"] as JsonObject), ...change } };
      const found = validateCustomObject(next, structural, old);
      const texts = found.map((error) => `${error.reason} ${error.field}: ${error.message}`);
      const expected = recorded.status < 400 ? [] : causesOf(recorded);
      assert.deepEqual(texts.sort(), [...expected].sort(), JSON.stringify(change));
    });
  });
});

function caseOf(name: string): Case {
  const found = customObjects.cases.find((one) => one.name === name);
  assert.ok(found !== undefined);
  return found;
}
