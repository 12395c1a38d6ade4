/** Names in certificates: every type of string upstream reads, and no two of them one user. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { certificateIdentity } from "./certificate.ts";
import { der, derInteger, derOid, derTime, Tag } from "./der.ts";

const commonName = "2.5.4.3";
const uid = "1.3.6.1.4.1.57683.2";

/** As much of a certificate as is read, around a subject. */
function certificate(...attributes: readonly (readonly [oid: string, value: Uint8Array])[]) {
  const sets = attributes.map(([oid, value]) =>
    der(Tag.set, der(Tag.sequence, derOid(oid), value)),
  );
  const validity = der(Tag.sequence, derTime(0), derTime(1000));
  const empty = der(Tag.sequence);
  const body = [derInteger(Uint8Array.of(1)), empty, empty, validity, der(Tag.sequence, ...sets)];
  return der(Tag.sequence, der(Tag.sequence, der(0xa0, derInteger(Uint8Array.of(2))), ...body));
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const ucs2 = (text: string): Uint8Array => Buffer.from(text, "utf16le").swap16();

function nameOf(tag: number, content: Uint8Array): string | undefined {
  return certificateIdentity(certificate([commonName, der(tag, content)]))?.commonName;
}

const names: readonly (readonly [string, number, Uint8Array, string])[] = [
  ["UTF8String", Tag.utf8, bytes("bøb 日本"), "bøb 日本"],
  ["BMPString", Tag.bmp, ucs2("bøb 日本"), "bøb 日本"],
  ["TeletexString", Tag.t61, Uint8Array.of(0x62, 0xf8, 0x62), "bøb"],
  ["PrintableString", Tag.printable, bytes("system:node/a"), "system:node/a"],
  ["IA5String", Tag.ia5, bytes("a@b"), "a@b"],
  ["NumericString", Tag.numeric, bytes("12 3"), "12 3"],
  ["UTF8String with a byte order mark", Tag.utf8, bytes("\ufeffadmin"), "\ufeffadmin"],
  ["BMPString with a byte order mark", Tag.bmp, ucs2("\ufeffadmin"), "\ufeffadmin"],
];

const noNames: readonly (readonly [string, number, Uint8Array])[] = [
  ["UTF8String of bytes that are not UTF-8", Tag.utf8, Uint8Array.of(0x62, 0xf8, 0x62)],
  ["UTF8String of an overlong form", Tag.utf8, Uint8Array.of(0xc1, 0xa1)],
  ["UTF8String of an encoded surrogate", Tag.utf8, Uint8Array.of(0xed, 0xa0, 0x80)],
  ["UTF8String with a NUL", Tag.utf8, bytes("admin\0x")],
  ["BMPString of an odd length", Tag.bmp, Uint8Array.of(0, 0x61, 0)],
  ["BMPString of a surrogate", Tag.bmp, Uint8Array.of(0xd8, 0x00)],
  ["BMPString with a NUL at its end", Tag.bmp, ucs2("admin\0")],
  ["PrintableString of an underscore", Tag.printable, bytes("a_b")],
  ["IA5String beyond ASCII", Tag.ia5, Uint8Array.of(0xe9)],
  ["UniversalString", 0x1c, Uint8Array.of(0, 0, 0, 0x61)],
  ["OCTET STRING", Tag.octetString, bytes("admin")],
];

describe("a common name", () => {
  for (const [what, tag, content, name] of names) {
    it(`is read from a ${what}`, () => assert.equal(nameOf(tag, content), name));
  }
  for (const [what, tag, content] of noNames) {
    it(`makes the certificate unreadable as a ${what}`, () =>
      assert.equal(nameOf(tag, content), undefined));
  }
});

describe("an attribute for the uid", () => {
  it("may stand once", () => {
    const one = [uid, der(Tag.utf8, bytes("u"))] as const;
    assert.equal(certificateIdentity(certificate(one))?.uid, "u");
    assert.equal(certificateIdentity(certificate(one, one)), undefined);
  });
});
