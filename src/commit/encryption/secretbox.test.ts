/** The box against NaCl's own vector (tests/secretbox.c), and against itself at every length around a block. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openBox, sealBox } from "./secretbox.ts";

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "hex"));
const key = hex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389");
const nonce = hex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37");
const message = hex(
  "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705",
);
const box = hex(
  "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5",
);

test("NaCl's vector is sealed and opened", () => {
  assert.deepEqual(sealBox(key, nonce, message), box);
  assert.deepEqual(openBox(key, nonce, box), message);
});

test("what was sealed opens, and no byte of it can change", () => {
  for (const length of [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1_000]) {
    const text = Uint8Array.from({ length }, (_, at) => at & 255);
    const sealed = sealBox(key, nonce, text);
    assert.deepEqual(openBox(key, nonce, sealed), text);
    for (const at of [0, sealed.length - 1]) {
      const changed = Uint8Array.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      assert.equal(openBox(key, nonce, changed), undefined);
    }
  }
});
