/** Which images cannot be pulled, whatever patterns and images look like. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cannotPull, imagePatterns, pullWaiting } from "./image-pull.ts";
import { unpullableDefault } from "./options.ts";

const rows: readonly (readonly [patterns: string, image: string, matches: boolean])[] = [
  [unpullableDefault, "foo:non-existent", true],
  [unpullableDefault, "webserver:404", false],
  [unpullableDefault, "invalid.registry.k8s.io/invalid/alpine:3.1", true],
  [unpullableDefault, "registry.k8s.io/invalid.x", false],
  [unpullableDefault, "nginx", false],
  [unpullableDefault, "", false],
  ["", "foo:non-existent", false],
  ["nginx", "nginx:1", false],
  ["nginx", "nginx", true],
  ["*", "", true],
  ["a*a", "a", false],
  ["a*b*c", "a-c-b-c", true],
  ["a*b*c", "a-c-b", false],
  ["ab*ba", "aba", false],
  ["(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false],
  ["*.*.*", "1.2.3", true],
];

test("a pattern is a whole name in which a star is any text", () => {
  for (const [patterns, image, matches] of rows) {
    const found = cannotPull(imagePatterns(patterns), { name: "c", image });
    assert.equal(found, matches, `${patterns} on ${image}`);
  }
});

test("patterns are limited in number and length", () => {
  assert.throws(() => imagePatterns("a,".repeat(17)), /at most 16 image patterns, not 17/);
  assert.throws(() => imagePatterns("a".repeat(257)), /at most 256 characters/);
});

test("a hostile pattern on a hostile image is one pass over it", () => {
  const patterns = imagePatterns(Array.from({ length: 16 }, () => "*a".repeat(127) + "*b").join());
  const image = "a".repeat(1_500_000);
  const started = process.cpuUsage();
  assert.equal(cannotPull(patterns, { name: "c", image }), false);
  const { user } = process.cpuUsage(started);
  assert.ok(user < 2_000_000, `${user} µs: backtracking takes hours`);
});

test("the kubelet's words for an unknown registry, for a missing image, and for any text", () => {
  const pull = { failures: 1, isBackingOff: false, untilMs: 0 };
  const messageOf = (image: string): string => pullWaiting({ name: "c", image }, pull).message;
  assert.equal(
    messageOf("invalid.registry.k8s.io/invalid/alpine:3.1"),
    'rpc error: code = Unknown desc = failed to pull and unpack image "invalid.registry.k8s.io/invalid/alpine:3.1": ' +
      'failed to resolve reference "invalid.registry.k8s.io/invalid/alpine:3.1": failed to do request: ' +
      'Head "https://invalid.registry.k8s.io/v2/invalid/alpine/manifests/3.1": ' +
      "dial tcp: lookup invalid.registry.k8s.io: no such host",
  );
  assert.match(messageOf("me/app"), /"docker\.io\/me\/app:latest"/);
  assert.match(messageOf("localhost:5000/app"), /"localhost:5000\/app:latest"/);
  assert.match(messageOf("app@sha256:0"), /"docker\.io\/library\/app@sha256:0"/);
  for (const image of ["", ":", "/", "@", "\u0000", "::@@//", "x".repeat(100_000)]) {
    assert.match(messageOf(image), /^rpc error: code = NotFound/);
    assert.ok(messageOf(image).length < 2_000);
  }
});
