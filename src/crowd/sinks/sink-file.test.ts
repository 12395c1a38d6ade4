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
  ["no target", `sinks:\n  - name: a${pods}`, /needs one of jetstream, redis, kafka, http/],
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
  ["a broker with a scheme", kafka('"kafka://h:1"', "t"), /kafka\.brokers\[0\]: must be host:port/],
  [
    "one topic for two resources, whose keys would meet",
    kafka('"h:1"', "k8s.{resource}").replace(
      pods,
      "\n    resources: [{resource: a.io/v1/things}, {resource: b.io/v1/things}]",
    ),
    /must tell a\.io\/things from b\.io\/things, by \{resource\} or \{group\}/,
  ],
  [
    "one state for two sinks",
    `${kafka('"h:1"', "t")}\n${kafka('"h:1"', "t", "stateTopic: pilothouse.sink.a").replace("sinks:\n", "").replace("name: a", "name: b")}`,
    /sinks\[1\]\.kafka: keeps its state in pilothouse\.sink\.a, as another sink does/,
  ],
  [
    "deltas in a topic that forgets the one before",
    kafka('"h:1"', "t", "compact: true").replace(pods, `\n    format: deltas${pods}`),
    /kafka\.compact: must be absent with deltas/,
  ],
  ["a topic for each object", kafka('"h:1"', "k8s.{name}"), /topic: must not hold \{name\}/],
  ["a topic of other letters", kafka('"h:1"', "k8s:{resource}"), /topic: must be of letters/],
  ["a topic of Kafka's own", kafka('"h:1"', "__consumer_offsets"), /begin with no __/],
  ["one that becomes it", kafka('"h:1"', "_{namespace}consumer_offsets"), /begin with no __/],
  ["a topic that is a folder", kafka('"h:1"', ".."), /topic: must be of letters/],
  [
    "a topic that is too long with some namespace",
    kafka('"h:1"', `${"t".repeat(190)}{namespace}`),
    /249 at most with a namespace of 63/,
  ],
  [
    "a topic that some namespace makes the sink's state",
    kafka('"h:1"', "pilothouse.sink.{namespace}"),
    /can become pilothouse\.sink\.a, where this sink keeps its state/,
  ],
  [
    "a password that would travel as it is",
    kafka('"h:1"', "t", "sasl: {mechanism: plain, username: u, passwordFile: f}"),
    /needs tls: plain sends the password as it is/,
  ],
  [
    "a mechanism that is not known",
    kafka('"h:1"', "t", "sasl: {mechanism: oauth, username: u, passwordFile: f}"),
    /must be one of plain, scram-sha-256, scram-sha-512/,
  ],
  [
    "half a client certificate",
    kafka('"h:1"', "t", "tls: {certFile: c}"),
    /needs certFile and keyFile/,
  ],
  ["a compression that is not offered", kafka('"h:1"', "t", "compression: lz4"), /must be gzip/],
  ["tombstones that are a text", kafka('"h:1"', "t", 'tombstones: "no"'), /must be true or false/],
];

function kafka(broker: string, topic: string, more = ""): string {
  const target = `{brokers: [${broker}], topic: "${topic}"${more === "" ? "" : `, ${more}`}}`;
  return `sinks:\n  - name: a\n    kafka: ${target}${pods}`;
}

test("a topic takes the names of the cluster, and each is another topic", () => {
  const [sink] = parseSinkFile(kafka('"h:1"', "k8s.{group}.{resource}.{namespace}"));
  assert.equal(sink?.target.kind, "kafka");
  const route = sink?.target.route;
  const of = (group: string, namespace: string): string | undefined =>
    route?.of({ group, version: "v1", resource: "pods" }, { metadata: { namespace } });
  assert.equal(of("", "shop"), "k8s._.pods.shop");
  assert.equal(of("a.b", "shop"), "k8s.a_2Eb.pods.shop");
  const namespaces = ["a_b", "a_5Fb", "_", "_5F", "a.b", "a_2Eb", "../x", "a b", "é", ""];
  const topics = new Set(namespaces.map((name) => of("", name)));
  assert.equal(topics.size, namespaces.length);
  for (const topic of topics) assert.match(topic ?? "", /^[A-Za-z0-9._-]{1,249}$/);
});

for (const [what, text, told] of bad) {
  test(`${what} is refused`, () => {
    assert.throws(
      () => parseSinkFile(text),
      (error: unknown) => error instanceof SinkFileError && told.test(error.message),
    );
  });
}
