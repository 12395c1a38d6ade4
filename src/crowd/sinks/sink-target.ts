/** Target of a sink in the sink file: one of `jetstream`, `redis`, `kafka`, `http`. Secrets are in separate files. */
import type { ResourceRef } from "#client/client.ts";
import type { FieldPath, Fields, YamlFields } from "#wire/yaml-fields.ts";
import { type KafkaTarget, readKafka } from "./kafka-target.ts";
import { parseRoute, type RouteTemplate } from "./route-template.ts";
import { checkUrl, optionalNumber, readRoute } from "./target-fields.ts";

export type SinkTarget =
  | KafkaTarget
  | {
      readonly kind: "jetstream";
      readonly servers: readonly string[];
      readonly stream: string;
      readonly route: RouteTemplate;
      readonly credentialsFile: string;
      readonly caFile: string;
      readonly keepPerSubject: number | undefined;
    }
  | {
      readonly kind: "redis";
      readonly url: string;
      readonly route: RouteTemplate;
      readonly username: string;
      readonly passwordFile: string;
      readonly caFile: string;
      readonly maxLength: number | undefined;
    }
  | {
      readonly kind: "http";
      readonly url: string;
      readonly route: RouteTemplate;
      readonly secretFile: string;
      readonly positionFile: string;
      readonly caFile: string;
    };

export const targetNames = ["jetstream", "redis", "kafka", "http"] as const;
type TargetName = (typeof targetNames)[number];

const token = /[A-Za-z0-9_-]/;
const redisPlain = /[^%{}\s]/;
const noRoute = parseRoute("", token);

export function readTarget(
  yaml: YamlFields,
  sink: Fields,
  path: FieldPath,
  resources: readonly ResourceRef[],
): SinkTarget {
  const given = targetNames.filter((name) => sink[name] !== undefined);
  const [name = "http"] = given;
  if (given.length !== 1) yaml.problem(path, `needs one of ${targetNames.join(", ")}`);
  const value = sink[name] ?? {};
  const read = { jetstream: readJetStream, redis: readRedis, kafka: readKafka, http: readHttp };
  return read[name satisfies TargetName](yaml, value, [...path, name], resources);
}

function readJetStream(
  yaml: YamlFields,
  value: unknown,
  path: FieldPath,
  resources: readonly ResourceRef[],
): SinkTarget {
  const names = ["servers", "stream", "subject", "credentialsFile", "caFile", "keepPerSubject"];
  const map = yaml.map(value, path, names);
  const servers = yaml.texts(map, path, "servers");
  if (servers.length === 0) yaml.problem([...path, "servers"], "must name a server");
  servers.forEach((url, at) => checkUrl(yaml, url, ["nats:", "tls:"], [...path, "servers", at]));
  const stream = yaml.requiredText(map, path, "stream");
  if (stream !== "" && !/^[A-Za-z0-9_-]{1,64}$/.test(stream)) {
    yaml.problem([...path, "stream"], "must be of letters, digits, _ and -, 64 at most");
  }
  const route = readRoute(yaml, map, path, { name: "subject", plain: token });
  if (/[\s*>]|^\.|\.$|\.\./.test(route.text)) {
    yaml.problem(
      [...path, "subject"],
      "must be a subject without wildcards: k8s.{resource}.{name}",
    );
  }
  if (resources.length > 1 && !route.parts.has("resource")) {
    yaml.problem([...path, "subject"], "must hold {resource}: the sink has several");
  }
  return {
    kind: "jetstream",
    servers,
    stream,
    route,
    credentialsFile: yaml.text(map, path, "credentialsFile"),
    caFile: yaml.text(map, path, "caFile"),
    keepPerSubject: optionalNumber(yaml, map, path, "keepPerSubject"),
  };
}

function readRedis(yaml: YamlFields, value: unknown, path: FieldPath): SinkTarget {
  const names = ["url", "stream", "username", "passwordFile", "caFile", "maxLength"];
  const map = yaml.map(value, path, names);
  const url = yaml.requiredText(map, path, "url");
  checkUrl(yaml, url, ["redis:", "rediss:"], [...path, "url"]);
  return {
    kind: "redis",
    url,
    route: readRoute(yaml, map, path, { name: "stream", plain: redisPlain }),
    username: yaml.text(map, path, "username"),
    passwordFile: yaml.text(map, path, "passwordFile"),
    caFile: yaml.text(map, path, "caFile"),
    maxLength: optionalNumber(yaml, map, path, "maxLength"),
  };
}

function readHttp(yaml: YamlFields, value: unknown, path: FieldPath): SinkTarget {
  const map = yaml.map(value, path, ["url", "secretFile", "positionFile", "caFile"]);
  const url = yaml.requiredText(map, path, "url");
  checkUrl(yaml, url, ["http:", "https:"], [...path, "url"]);
  return {
    kind: "http",
    url,
    route: noRoute,
    secretFile: yaml.text(map, path, "secretFile"),
    positionFile: yaml.requiredText(map, path, "positionFile"),
    caFile: yaml.text(map, path, "caFile"),
  };
}
