/** Objects as Structs, read back with protobuf's own definition. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { structMessage } from "./struct-message.ts";
import { decode } from "./testing/envoy-definitions.ts";

/** As JSON says it. */
function plain(value: unknown): unknown {
  const [[kind, held] = ["", null]] = Object.entries(value as object);
  if (kind === "nullValue" || kind === "null_value") return null;
  if (kind === "structValue" || kind === "struct_value") return struct(held);
  if (kind !== "listValue" && kind !== "list_value") return held as unknown;
  return ((held as { values?: readonly unknown[] }).values ?? []).map(plain);
}

function struct(value: unknown): unknown {
  const { fields = {} } = value as { readonly fields?: object };
  return Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, plain(one)]));
}

test("an object comes back from a Struct as it was", () => {
  const object = {
    "": "",
    text: "é",
    zero: 0,
    less: -1.5,
    big: 2 ** 53,
    yes: true,
    no: false,
    none: null,
    empty: {},
    list: [],
    nested: { list: [1, [null, { a: "b" }]] },
  };
  const bytes = structMessage(object);
  assert.ok(bytes);
  assert.deepEqual(struct(decode("x/google.protobuf.Struct", bytes)), object);
});

test("what is nested deeper than readers take is no Struct", () => {
  let [deep, lists]: unknown[] = [{}, []];
  for (let i = 0; i < 100; i++) [deep, lists] = [{ deep }, [lists]];
  assert.equal(structMessage(deep as object), undefined);
  assert.equal(structMessage({ lists }), undefined);
});
