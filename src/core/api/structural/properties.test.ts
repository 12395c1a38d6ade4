/** Properties of pruning, defaulting and validation over random schemas and objects. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../object.ts";
import { applyStructuralDefaults, dropNulls } from "./default.ts";
import { prune } from "./prune.ts";
import { type Structural, trustStructural } from "./structural.ts";
import { defaultedLiterally, prunedLiterally } from "./testing/literal-forms.ts";
import { fitsLiterally } from "./testing/literal.ts";
import { schemaArb, valueArb } from "./testing/random-schemas.ts";
import { schemaErrors } from "./validate.ts";

const runs = 2_000;
const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);

function check(property: (schema: JsonObject, node: Structural, value: JsonObject) => void): void {
  fc.assert(
    fc.property(schemaArb, valueArb, (schema, value) => {
      property(schema, trustStructural(schema), value);
    }),
    { numRuns: runs, seed },
  );
}

test("pruning twice is pruning once, and what is pruned has no unknown fields", () => {
  check((_schema, node, value) => {
    const before = JSON.stringify(value);
    const once = prune(value, node, false);
    const twice = prune(once.object, node, false);
    assert.equal(twice.object, once.object);
    assert.deepEqual(twice.unknownFields, []);
    assert.equal(JSON.stringify(value), before);
  });
});

test("defaulting twice is defaulting once, and changes no object it was given", () => {
  check((_schema, node, value) => {
    const before = JSON.stringify(value);
    const once = applyStructuralDefaults(dropNulls(value, node), node);
    assert.equal(applyStructuralDefaults(once, node), once);
    assert.equal(JSON.stringify(value), before);
  });
});

test("pruning and defaulting keep out of each other's way", () => {
  check((_schema, node, value) => {
    const pruned = applyStructuralDefaults(dropNulls(prune(value, node, false).object, node), node);
    assert.deepEqual(prune(pruned, node, false).object, pruned);
  });
});

test("pruning keeps what a literal reading of the schema keeps", () => {
  check((schema, node, value) => {
    assert.deepEqual(prune(value, node, false).object, prunedLiterally(schema, value));
  });
});

test("defaulting fills what a literal reading of the schema fills", () => {
  let changed = 0;
  check((schema, node, value) => {
    const filled = applyStructuralDefaults(dropNulls(value, node), node);
    assert.deepEqual(filled, defaultedLiterally(schema, value));
    if (filled !== value) changed++;
  });
  assert.ok(changed > runs / 20, `${changed} objects were filled`);
});

/** A schema and a value, and every pair of a schema and a value below them. */
function* pairs(schema: JsonObject, value: JsonValue): Generator<readonly [JsonObject, JsonValue]> {
  yield [schema, value];
  if (typeof value !== "object" || value === null) return;
  for (const [name, below] of Object.entries(value)) {
    const properties = schema["properties"] as JsonObject | undefined;
    const next = schema["items"] ?? schema["additionalProperties"] ?? properties?.[name];
    if (next !== undefined) yield* pairs(next as JsonObject, below as JsonValue);
  }
}

test("the validator finds something exactly where a literal reading of the schema does", () => {
  let fitting = 0;
  let failing = 0;
  check((schema, node, value) => {
    const object = applyStructuralDefaults(dropNulls(prune(value, node, false).object, node), node);
    for (const [part, below] of pairs(schema, object)) {
      const fits = fitsLiterally(part, below);
      if (fits) fitting++;
      else failing++;
      const found = schemaErrors(below, trustStructural(part));
      assert.equal(found.length === 0, fits, JSON.stringify({ part, below, found }));
    }
  });
  assert.ok(fitting > runs / 20, `${fitting} values fit`);
  assert.ok(failing > runs / 20, `${failing} values do not fit`);
});

test("a write that changes nothing finds at most what stands on the whole object", () => {
  check((schema, node, value) => {
    const object = prune(value, node, false).object;
    // Fields without a schema count as changed, so only objects without them are unchanged.
    if (JSON.stringify(schema).includes("preserve-unknown")) return;
    assert.deepEqual(schemaErrors(object, node, object), []);
  });
});

test("an update finds no more than a create of the same object", () => {
  fc.assert(
    fc.property(schemaArb, valueArb, valueArb, (schema, value, old) => {
      const node = trustStructural(schema);
      const all = new Set(schemaErrors(value, node).map((one) => `${one.field} ${one.message}`));
      for (const one of schemaErrors(value, node, old)) {
        const isJunctor = one.message.includes("validate");
        assert.ok(isJunctor || all.size > 0);
      }
      if (all.size === 0) assert.deepEqual(schemaErrors(value, node, old), []);
    }),
    { numRuns: runs, seed },
  );
});
