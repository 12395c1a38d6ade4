/** What a stock server says of bundles. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { conversionBundleFault } from "./ca-bundle.ts";

const base64 = (text: string): string => Buffer.from(text, "latin1").toString("base64");
const faultOf = (bundle: string): string | undefined =>
  conversionBundleFault({
    conversion: { webhook: { clientConfig: { caBundle: base64(bundle) } } },
  });
const pem = (type: string, der: string): string =>
  `-----BEGIN ${type}-----\n${base64(der)}\n-----END ${type}-----\n`;
/** SEQUENCE { SEQUENCE {}, SEQUENCE {}, BIT STRING } */
const certificate = pem("CERTIFICATE", "\x30\x08\x30\x00\x30\x00\x03\x02\x00\x01");
const hello = pem("CERTIFICATE", "hello");
const prefix = "unable to load root certificates: ";

for (const [name, bundle, fault] of [
  ["none", "", undefined],
  ["a certificate", certificate, undefined],
  ["a certificate and one that is none", certificate + hello, undefined],
  ["a certificate with Windows' line ends", certificate.replaceAll("\n", "\r\n"), undefined],
  ["a word", "nothing", "unable to parse bytes as PEM block"],
  ["white space", "  \n", "unable to parse bytes as PEM block"],
  [
    "no certificate in a block of one",
    hello,
    "failed to parse certificate: x509: malformed certificate",
  ],
  [
    "a cut certificate",
    pem("CERTIFICATE", "\x30\x08\x30\x00\x30"),
    "failed to parse certificate: x509: malformed certificate",
  ],
  ["a key", pem("RSA PRIVATE KEY", "hello"), "no valid certificate authority data seen"],
] as const) {
  test(`a caBundle of ${name} is ${fault === undefined ? "good" : "refused in upstream's words"}`, () => {
    assert.equal(faultOf(bundle), fault === undefined ? undefined : prefix + fault);
  });
}

test("a hostile bundle takes no more than a look at each of its bytes", () => {
  const many = "-----BEGIN CERTIFICATE-----\nAAAA\n".repeat(20_000);
  assert.equal(faultOf(many), `${prefix}unable to parse bytes as PEM block`);
});
