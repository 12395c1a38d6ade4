/**
 * Sinks, declared by the operator in a file:
 *
 *   sinks:
 *     - name: pods
 *       jetstream: {servers: ["nats://127.0.0.1:4222"], stream: K8S, subject: "k8s.{resource}.{namespace}.{name}"}
 *       # or redis: {url: "redis://127.0.0.1:6379", stream: "k8s:{resource}"}
 *       # or kafka: {brokers: ["127.0.0.1:9092"], topic: "k8s.{resource}"}
 *       # or http: {url: "https://receiver/events", secretFile: F, positionFile: F}
 *       format: cloudevents              or json, protobuf, deltas
 *       source: //cluster-a              of CloudEvents
 *       resources:
 *         - resource: v1/pods
 *           namespace: shop              all when absent
 *           labelSelector: app=web
 *           fieldSelector: status.phase=Running
 *           fields: {ip: .status.podIP}  whole objects when absent
 *
 * Holds  all mistakes are reported at once, each with its line and field; no field is ignored.
 */
import type { FieldRule } from "#api/json-path/field-rule.ts";
import { parseFieldSelector } from "#api/selectors/field-selector.ts";
import { parseLabelSelector } from "#api/selectors/label-selector.ts";
import type { ResourceRef } from "#client/client.ts";
import { readFieldRules } from "#forms/field-rule-file.ts";
import { type FieldPath, type Fields, YamlFields } from "#wire/yaml-fields.ts";
import { parseYaml } from "#wire/yaml.ts";
import type { SinkFormat } from "./formats.ts";
import { canBe, stateTopicOf } from "./kafka-target.ts";
import { readTarget, type SinkTarget, targetNames } from "./sink-target.ts";

export interface DeclaredSink {
  readonly name: string;
  readonly target: SinkTarget;
  readonly format: SinkFormat;
  readonly source: string;
  readonly resources: readonly DeclaredSource[];
}

interface DeclaredSource {
  readonly ref: ResourceRef;
  readonly selection: {
    readonly namespace?: string;
    readonly labelSelector?: string;
    readonly fieldSelector?: string;
  };
  readonly fields: readonly FieldRule[] | undefined;
}

/** Each line of the message is one problem. */
export class SinkFileError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "SinkFileError";
  }
}

const limits = { bytesMax: 2 ** 20, depthMax: 32, aliasMax: 1_000 };
const sinksMax = 64;
/** Maximum number of sources: each message of JetStream carries the position of every source. */
const sourcesMax = 16;
const formats: readonly SinkFormat[] = ["cloudevents", "json", "protobuf", "deltas"];

/** Parses the sink file. Throws SinkFileError. */
export function parseSinkFile(text: string): readonly DeclaredSink[] {
  const parsed = parseYaml(text, limits);
  if (parsed.kind !== "ok") throw new SinkFileError([parsed.message]);
  if (parsed.repeatedKeys !== undefined) throw new SinkFileError(parsed.repeatedKeys);
  const yaml = new YamlFields(text);
  const sinks = readSinks(yaml, parsed.value);
  if (yaml.problems.length > 0) throw new SinkFileError(yaml.problems);
  return sinks;
}

function readSinks(yaml: YamlFields, value: unknown): readonly DeclaredSink[] {
  const { sinks } = yaml.map(value, [], ["sinks"]) as { sinks?: unknown };
  if (!Array.isArray(sinks) || sinks.length === 0) {
    yaml.problem(["sinks"], "must be a list of sinks");
    return [];
  }
  if (sinks.length > sinksMax) yaml.problem(["sinks"], `are more than ${sinksMax}`);
  const declared = sinks.map((sink, at) => readSink(yaml, sink, ["sinks", at]));
  const states = declared.map(stateOf);
  declared.forEach(({ name }, at) => {
    if (declared.findIndex((other) => other.name === name) < at) {
      yaml.problem(["sinks", at, "name"], `${JSON.stringify(name)} stands twice`);
    }
    const state = states[at] ?? "";
    if (state !== "" && states.indexOf(state) < at) {
      yaml.problem(["sinks", at, "kafka"], `keeps its state in ${state}, as another sink does`);
    }
  });
  return declared;
}

function readSink(yaml: YamlFields, value: unknown, path: FieldPath): DeclaredSink {
  const sink = yaml.map(value, path, ["name", "format", "source", "resources", ...targetNames]);
  const resources = readSources(yaml, sink["resources"], [...path, "resources"]);
  const format = readFormat(yaml, sink, path);
  const target = readTarget(
    yaml,
    sink,
    path,
    resources.map(({ ref }) => ref),
  );
  if (target.kind === "http" && format !== "cloudevents") {
    yaml.problem([...path, "format"], "must be cloudevents: HTTP takes batches of them");
  }
  if (format === "deltas" && target.kind === "kafka" && target.made.compact) {
    yaml.problem(
      [...path, "kafka", "compact"],
      "must be absent with deltas: each needs the one before",
    );
  }
  if (format === "deltas" && target.kind === "jetstream" && target.keepPerSubject !== undefined) {
    const field = [...path, "jetstream", "keepPerSubject"];
    yaml.problem(field, "must be absent with deltas: each needs the one before");
  }
  const name = yaml.name(sink, path);
  const state = stateOf({ name, target });
  if (target.kind === "kafka" && canBe(target.route, state)) {
    yaml.problem(
      [...path, "kafka", "topic"],
      `can become ${state}, where this sink keeps its state`,
    );
  }
  const source = yaml.text(sink, path, "source") || "//pilothouse";
  return { name, target, format, source, resources };
}

/** Returns the name of the sink's state topic. "": the sink has none. */
function stateOf({ name, target }: Pick<DeclaredSink, "name" | "target">): string {
  return target.kind === "kafka" ? stateTopicOf(name, target) : "";
}

function readFormat(yaml: YamlFields, sink: Fields, path: FieldPath): SinkFormat {
  const text = yaml.text(sink, path, "format") || "cloudevents";
  const format = formats.find((one) => one === text);
  if (format === undefined)
    yaml.problem([...path, "format"], `must be one of ${formats.join(", ")}`);
  return format ?? "cloudevents";
}

function readSources(yaml: YamlFields, value: unknown, path: FieldPath): readonly DeclaredSource[] {
  if (!Array.isArray(value) || value.length === 0) {
    yaml.problem(path, "must be a list of resources");
    return [];
  }
  if (value.length > sourcesMax) yaml.problem(path, `are more than ${sourcesMax}`);
  const sources = value.map((one, at) => readSource(yaml, one, [...path, at]));
  const names = sources.map(nameOfSource);
  names.forEach((name, at) => {
    if (names.indexOf(name) < at) yaml.problem([...path, at], "stands twice");
  });
  return sources;
}

function readSource(yaml: YamlFields, value: unknown, path: FieldPath): DeclaredSource {
  const names = ["resource", "namespace", "labelSelector", "fieldSelector", "fields"];
  const source = yaml.map(value, path, names);
  const namespace = yaml.text(source, path, "namespace");
  const labelSelector = yaml.text(source, path, "labelSelector");
  const fieldSelector = yaml.text(source, path, "fieldSelector");
  yaml.parsed([...path, "labelSelector"], labelSelector, parseLabelSelector);
  yaml.parsed([...path, "fieldSelector"], fieldSelector, parseFieldSelector);
  const fields = source["fields"];
  return {
    ref: readResource(yaml, source, path),
    selection: {
      ...(namespace === "" ? {} : { namespace }),
      ...(labelSelector === "" ? {} : { labelSelector }),
      ...(fieldSelector === "" ? {} : { fieldSelector }),
    },
    fields: fields === undefined ? undefined : readFieldRules(yaml, fields, [...path, "fields"]),
  };
}

function readResource(yaml: YamlFields, source: Fields, path: FieldPath): ResourceRef {
  const text = yaml.requiredText(source, path, "resource");
  const match = /^(?:([a-z0-9.-]+)\/)?(v[a-z0-9]+)\/([a-z0-9]+)$/.exec(text);
  if (match === null && text !== "") {
    yaml.problem([...path, "resource"], "must be as v1/pods or apps/v1/deployments");
  }
  const [, group = "", version = "", resource = ""] = match ?? [];
  return { group, version, resource };
}

/** Returns the name under which the sink keeps the source's position; a source with a new name begins with a snapshot. */
export function nameOfSource({ ref, selection }: DeclaredSource): string {
  const { group, version, resource } = ref;
  const kind = group === "" ? `${version}/${resource}` : `${group}/${version}/${resource}`;
  const selected = Object.entries(selection).map(([name, text]) => `${name}:${text}`);
  return [kind, ...selected].join(";");
}
