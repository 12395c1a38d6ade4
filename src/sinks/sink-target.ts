/** Where a sink writes to, out of its file: one of `jetstream`, `redis`, `http`. Secrets lie in files of their own. */
import type { FieldPath, Fields, YamlFields } from "#wire/yaml-fields.ts";
import { parseRoute, type RouteTemplate } from "./route-template.ts";

export type SinkTarget =
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

export const targetNames = ["jetstream", "redis", "http"] as const;
type TargetName = (typeof targetNames)[number];

const token = /[A-Za-z0-9_-]/;
const redisPlain = /[^%{}\s]/;
const noRoute = parseRoute("", token);

/** `sources`: how many the sink has. */
export function readTarget(
  yaml: YamlFields,
  sink: Fields,
  path: FieldPath,
  sources: number,
): SinkTarget {
  const given = targetNames.filter((name) => sink[name] !== undefined);
  const [name = "http"] = given;
  if (given.length !== 1) yaml.problem(path, `needs one of ${targetNames.join(", ")}`);
  const value = sink[name] ?? {};
  const read = { jetstream: readJetStream, redis: readRedis, http: readHttp };
  return read[name satisfies TargetName](yaml, value, [...path, name], sources);
}

function readJetStream(
  yaml: YamlFields,
  value: unknown,
  path: FieldPath,
  sources: number,
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
  const route = readRoute(yaml, map, path, "subject", token);
  if (/[\s*>]|^\.|\.$|\.\./.test(route.text)) {
    yaml.problem(
      [...path, "subject"],
      "must be a subject without wildcards: k8s.{resource}.{name}",
    );
  }
  if (sources > 1 && !route.parts.has("resource")) {
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
    route: readRoute(yaml, map, path, "stream", redisPlain),
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

function readRoute(
  yaml: YamlFields,
  map: Fields,
  path: FieldPath,
  name: string,
  plain: RegExp,
): RouteTemplate {
  const text = yaml.requiredText(map, path, name);
  return yaml.parsed([...path, name], text, (inner) => parseRoute(inner, plain)) ?? noRoute;
}

/** A password in a file of settings ends in a repository. */
function checkUrl(
  yaml: YamlFields,
  text: string,
  schemes: readonly string[],
  path: FieldPath,
): void {
  if (text === "") return;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !schemes.includes(url.protocol)) {
    yaml.problem(path, `must be a URL of ${schemes.map((scheme) => `${scheme}//`).join(" or ")}`);
  } else if (url.username !== "" || url.password !== "") {
    yaml.problem(path, "must hold no credentials: name a file that does");
  }
}

function optionalNumber(
  yaml: YamlFields,
  map: Fields,
  path: FieldPath,
  name: string,
): number | undefined {
  return map[name] === undefined ? undefined : yaml.wholeNumber(map, path, name, 1);
}
