/**
 * Kafka as a target of a sink: brokers, topics, and how to be let in.
 *
 * Holds  a topic's name is one that Kafka takes, whatever the cluster's names are: of 249 characters at most,
 *        never `.`, `..` or one of Kafka's own, never the topic of this sink's state.
 */
import type { ResourceRef } from "#client/client.ts";
import type { FieldPath, Fields, YamlFields } from "#wire/yaml-fields.ts";
import type { RouteTemplate } from "./route-template.ts";
import { flag, optionalNumber, readRoute } from "./target-fields.ts";

export interface KafkaTarget {
  readonly kind: "kafka";
  /** Addresses as `host:port`. */
  readonly brokers: readonly string[];
  readonly route: RouteTemplate;
  /** Name of the state topic, and the transactional id. "": derived from the sink's name. */
  readonly stateTopic: string;
  readonly tombstones: boolean;
  readonly gzip: boolean;
  /** Settings of topics that the sink creates. */
  readonly made: {
    readonly partitions: number | undefined;
    readonly replicas: number | undefined;
    readonly compact: boolean;
  };
  /** Undefined: no TLS. */
  readonly tls:
    | {
        readonly caFile: string;
        readonly certFile: string;
        readonly keyFile: string;
        readonly serverName: string;
      }
    | undefined;
  readonly sasl:
    | {
        readonly mechanism: SaslMechanism;
        readonly username: string;
        readonly passwordFile: string;
      }
    | undefined;
}

const mechanisms = ["plain", "scram-sha-256", "scram-sha-512"] as const;
type SaslMechanism = (typeof mechanisms)[number];

/** Kafka's maximum length of a topic name. */
const topicLengthMax = 249;
const topicText = /^[A-Za-z0-9._-]+$/;
/** A namespace is a DNS label and needs no escape; the other parts are known when the file is read. */
const namespaceLengthMax = 63;
const partText = /[A-Za-z0-9-]/;

export function stateTopicOf(sink: string, { stateTopic }: KafkaTarget): string {
  return stateTopic === "" ? `pilothouse.sink.${sink}` : stateTopic;
}

export function readKafka(
  yaml: YamlFields,
  value: unknown,
  path: FieldPath,
  resources: readonly ResourceRef[],
): KafkaTarget {
  const names = ["brokers", "topic", "stateTopic", "tombstones", "partitions", "replicas"];
  const map = yaml.map(value, path, [...names, "compact", "compression", "tls", "sasl"]);
  const brokers = yaml.texts(map, path, "brokers");
  if (brokers.length === 0) yaml.problem([...path, "brokers"], "must name a broker");
  for (const [at, broker] of brokers.entries()) {
    if (/^[A-Za-z0-9.-]+:[0-9]{1,5}$/.test(broker)) continue;
    yaml.problem([...path, "brokers", at], "must be host:port, without a scheme");
  }
  const stateTopic = yaml.text(map, path, "stateTopic");
  const tls = readTls(yaml, map["tls"], [...path, "tls"]);
  return {
    kind: "kafka",
    brokers,
    route: readTopic(yaml, map, path, resources),
    stateTopic: isTopic(yaml, stateTopic, [...path, "stateTopic"]) ? stateTopic : "",
    tombstones: flag(yaml, map, path, { name: "tombstones", standard: true }),
    gzip: readCompression(yaml, map, path),
    made: {
      partitions: optionalNumber(yaml, map, path, "partitions"),
      replicas: optionalNumber(yaml, map, path, "replicas"),
      compact: flag(yaml, map, path, { name: "compact", standard: false }),
    },
    tls,
    sasl: readSasl(yaml, map["sasl"], [...path, "sasl"], tls !== undefined),
  };
}

function readTopic(
  yaml: YamlFields,
  map: Fields,
  path: FieldPath,
  resources: readonly ResourceRef[],
): RouteTemplate {
  const route = readRoute(yaml, map, path, { name: "topic", plain: partText, mark: "_" });
  const at = [...path, "topic"];
  for (const part of ["name", "uid"] as const) {
    if (!route.parts.has(part)) continue;
    yaml.problem(at, `must not hold {${part}}: a topic for each object; the key tells them apart`);
  }
  const namespace = "n".repeat(namespaceLengthMax);
  const kinds = new Map<string, string>();
  for (const ref of resources) {
    const topic = route.of(ref, { metadata: { namespace } });
    if (!isTopic(yaml, topic, at) || !isTopic(yaml, route.ofMarks(ref), at)) break;
    const kind = `${ref.group}/${ref.resource}`;
    const other = kinds.get(topic) ?? kind;
    if (other !== kind) {
      yaml.problem(
        at,
        `must tell ${other} from ${kind}, by {resource} or {group}: keys name neither`,
      );
    }
    kinds.set(topic, kind);
  }
  return route;
}

/** Whether the template can produce this topic for some namespace or resource. */
export function canBe({ text }: RouteTemplate, topic: string): boolean {
  const pieces = text.split(/\{[^}]*\}/).map((piece) => piece.replace(/[.]/g, String.raw`\.`));
  return topic !== "" && new RegExp(`^${pieces.join("[A-Za-z0-9_-]+")}$`).test(topic);
}

function isTopic(yaml: YamlFields, topic: string, path: FieldPath): boolean {
  if (topic === "") return true;
  const isTaken = topicText.test(topic) && topic.length <= topicLengthMax;
  if (isTaken && !/^\.{1,2}$|^__/.test(topic)) return true;
  const text = `must be of letters, digits, ., _ and -, ${topicLengthMax} at most with a namespace of ${namespaceLengthMax}`;
  yaml.problem(path, `${text}, and begin with no __`);
  return false;
}

function readCompression(yaml: YamlFields, map: Fields, path: FieldPath): boolean {
  const text = yaml.text(map, path, "compression");
  if (text !== "" && text !== "gzip") yaml.problem([...path, "compression"], "must be gzip");
  return text === "gzip";
}

function readTls(yaml: YamlFields, value: unknown, path: FieldPath): KafkaTarget["tls"] {
  if (value === undefined) return undefined;
  const map = yaml.map(value, path, ["caFile", "certFile", "keyFile", "serverName"]);
  const text = (name: string): string => yaml.text(map, path, name);
  const tls = { caFile: text("caFile"), certFile: text("certFile"), keyFile: text("keyFile") };
  if ((tls.certFile === "") !== (tls.keyFile === "")) {
    yaml.problem(path, "needs certFile and keyFile, or neither");
  }
  return { ...tls, serverName: text("serverName") };
}

function readSasl(
  yaml: YamlFields,
  value: unknown,
  path: FieldPath,
  isEncrypted: boolean,
): KafkaTarget["sasl"] {
  if (value === undefined) return undefined;
  const map = yaml.map(value, path, ["mechanism", "username", "passwordFile"]);
  const text = yaml.requiredText(map, path, "mechanism");
  const mechanism = mechanisms.find((one) => one === text);
  if (mechanism === undefined) {
    yaml.problem([...path, "mechanism"], `must be one of ${mechanisms.join(", ")}`);
  } else if (mechanism === "plain" && !isEncrypted) {
    yaml.problem([...path, "mechanism"], "needs tls: plain sends the password as it is");
  }
  return {
    mechanism: mechanism ?? "scram-sha-512",
    username: yaml.requiredText(map, path, "username"),
    passwordFile: yaml.requiredText(map, path, "passwordFile"),
  };
}
