/** The file of sinks: what is taken, and every mistake with its line. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nameOfSource, parseSinkFile, SinkFileError } from "./sink-file.ts";

const good = `sinks:
  - name: pods
    jetstream: {servers: ["nats://127.0.0.1:4222"], stream: K8S, subject: "k8s.{resource}.{namespace}.{name}"}
    format: json
    source: //east
    resources:
      - resource: v1/pods
        namespace: shop
        labelSelector: app=web
        fields: {ip: .status.podIP, images: [".spec.containers[*].image"]}
      - resource: apps/v1/deployments
`;

test("a whole file is read", () => {
  const [sink] = parseSinkFile(good);
  assert.ok(sink);
  assert.equal(sink.target.kind, "jetstream");
  assert.equal(sink.format, "json");
  assert.deepEqual(sink.resources.map(nameOfSource), [
    "v1/pods;namespace:shop;labelSelector:app=web",
    "apps/v1/deployments",
  ]);
  assert.deepEqual(
    sink.resources[0]?.fields?.map(({ name, all }) => [name, all]),
    [
      ["ip", false],
      ["images", true],
    ],
  );
});

const pods = "\n    resources: [{resource: v1/pods}]";
const bad: readonly (readonly [what: string, text: string, told: RegExp])[] = [
  ["no sinks", "sinks: []", /line 1: sinks: must be a list of sinks/],
  [
    "an unknown field",
    `sinks:\n  - name: a\n    colour: red${pods}`,
    /sinks\[0\]\.colour: is not known/,
  ],
  ["no target", `sinks:\n  - name: a${pods}`, /needs one of jetstream, redis, http/],
  [
    "two targets",
    `sinks:\n  - name: a\n    redis: {url: "redis://h", stream: s}\n    http: {url: "http://h", positionFile: p}${pods}`,
    /needs one of/,
  ],
  [
    "a password in the URL",
    `sinks:\n  - name: a\n    redis: {url: "redis://:secret@h:1", stream: s}${pods}`,
    /line 3: sinks\[0\]\.redis\.url: must hold no credentials: name a file that does/,
  ],
  [
    "a scheme that is another sink's",
    `sinks:\n  - name: a\n    http: {url: "redis://h", positionFile: p}${pods}`,
    /must be a URL of http:\/\/ or https:\/\//,
  ],
  [
    "a wildcard in a subject",
    `sinks:\n  - name: a\n    jetstream: {servers: ["nats://h"], stream: S, subject: "k8s.>"}${pods}`,
    /must be a subject without wildcards/,
  ],
  [
    "one subject for two resources",
    `sinks:\n  - name: a\n    jetstream: {servers: ["nats://h"], stream: S, subject: "k8s.{name}"}\n    resources: [{resource: v1/pods}, {resource: v1/nodes}]`,
    /must hold \{resource\}: the sink has several/,
  ],
  [
    "protobuf over HTTP",
    `sinks:\n  - name: a\n    format: protobuf\n    http: {url: "http://h", positionFile: p}${pods}`,
    /must be cloudevents/,
  ],
  [
    "deltas in a stream that forgets the message before",
    `sinks:\n  - name: a\n    format: deltas\n    jetstream: {servers: ["nats://h"], stream: S, subject: "k.{name}", keepPerSubject: 1}${pods}`,
    /jetstream\.keepPerSubject: must be absent with deltas/,
  ],
  [
    "a resource without a version",
    `sinks:\n  - name: a\n    redis: {url: "redis://h", stream: s}\n    resources: [{resource: pods}]`,
    /must be as v1\/pods or apps\/v1\/deployments/,
  ],
  [
    "the same source twice",
    `sinks:\n  - name: a\n    redis: {url: "redis://h", stream: s}\n    resources: [{resource: v1/pods}, {resource: v1/pods}]`,
    /resources\[1\]: stands twice/,
  ],
  [
    "a selector that does not parse",
    `sinks:\n  - name: a\n    redis: {url: "redis://h", stream: s}\n    resources: [{resource: v1/pods, labelSelector: "a in ("}]`,
    /resources\[0\]\.labelSelector/,
  ],
];

for (const [what, text, told] of bad) {
  test(`${what} is refused`, () => {
    assert.throws(
      () => parseSinkFile(text),
      (error: unknown) => error instanceof SinkFileError && told.test(error.message),
    );
  });
}
