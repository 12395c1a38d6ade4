/** A signed token has one spelling. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { hasValidSignature, peekClaims, signingKey, signToken } from "./jwt.ts";

function keyOf(type: "ec" | "rsa") {
  const { privateKey } =
    type === "ec"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : generateKeyPairSync("rsa", { modulusLength: 2048 });
  return signingKey(privateKey.export({ type: "pkcs8", format: "pem" }).toString());
}

/** Other texts that a lenient decoder takes for the same bytes. */
function spellings(part: string): readonly string[] {
  const at = Math.floor(part.length / 2);
  const last = part.at(-1) ?? "";
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const neighbours = [1, 2, 3].map((bit) => alphabet[alphabet.indexOf(last) ^ bit] ?? "");
  const inserted = ["\n", "\r", " ", "=", "!", "\t"].map(
    (extra) => part.slice(0, at) + extra + part.slice(at),
  );
  return [
    ...inserted,
    ...["=", "==", "\n", "A"].map((extra) => part + extra),
    part.replaceAll("-", "+").replaceAll("_", "/"),
    ...(part.length % 4 === 0 ? [] : neighbours.map((other) => part.slice(0, -1) + other)),
  ].filter((other) => other !== part);
}

for (const type of ["ec", "rsa"] as const) {
  test(`a token signed with ${type} counts as it was written, and in no other spelling`, () => {
    const key = keyOf(type);
    // Bytes whose base64url has - and _.
    const token = signToken(key, { sub: "ÿþ?>~ÿ", n: 1 });
    assert.equal(hasValidSignature(token, [key]), true);
    const parts = token.split(".");
    parts.forEach((part, which) => {
      for (const spelled of spellings(part)) {
        const other = parts.with(which, spelled).join(".");
        assert.equal(hasValidSignature(other, [key]), false, JSON.stringify(other));
      }
    });
  });
}

test("claims that are no base64url, or no UTF-8, are no claims", () => {
  const claims = Buffer.from('{"iss":"a"}').toString("base64url");
  assert.deepEqual(peekClaims(`h.${claims}.s`), { iss: "a" });
  for (const spelled of spellings(claims)) {
    assert.equal(peekClaims(`h.${spelled}.s`), undefined, JSON.stringify(spelled));
  }
  const broken = Buffer.from([...Buffer.from('{"iss":"'), 0xff, ...Buffer.from('"}')]);
  assert.equal(peekClaims(`h.${broken.toString("base64url")}.s`), undefined);
  assert.equal(peekClaims("h.A.s"), undefined, "six bits are no byte");
});
