/**
 * What devices hollow nodes have, declared by the operator in a file (`--devices`):
 *
 *   deviceClass: gpu                 the DeviceClass that is made
 *   driver: gpu.example.com
 *   perNode: 8
 *   nvlinkDomainSize: 8              all of a node when absent
 *   attributes: {model: h100, ecc: true, cores: 132, driverVersion: {version: 1.2.3}}
 *   capacity: {memory: 80Gi}
 *   partitions: [{name: half, count: 2}, {name: seventh, count: 7}]
 *   prepare: {delaySeconds: 2, error: "no such device"}
 *
 * Holds  all mistakes are reported at once, each with its line and field; no field is ignored.
 */
import type { DeviceAttribute } from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import type { HollowDevices } from "#hollow/devices.ts";
import { type FieldPath, type Fields, YamlFields } from "#wire/yaml-fields.ts";
import { parseYaml } from "#wire/yaml.ts";

const yamlLimits = { bytesMax: 2 ** 16, depthMax: 8, aliasMax: 100 };
const perNodeMax = 128;
/** Maximum number of whole devices and partitions of a node together. */
const devicesMax = 1_024;
/** Maximum number of attributes and capacities: upstream's 32 per device, less the three that every device has. */
const factsMax = 29;
const partsMax = 64;
const delaySecondsMax = 3_600;
const domainName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label = /^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$/;
const identifier = /^[A-Za-z_][A-Za-z0-9_]{0,31}$/;
const quantity = /^[1-9][0-9]{0,11}(Ki|Mi|Gi|Ti|k|M|G|T)?$/;
const version =
  /^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;
const ownAttributes = ["index", "nvlink", "profile"];
const known = [
  "deviceClass",
  "driver",
  "perNode",
  "nvlinkDomainSize",
  "attributes",
  "capacity",
  "partitions",
  "prepare",
];

/** Parses the file. If there are problems, the devices must not be used. */
export function parseDeviceFile(text: string): {
  readonly devices?: HollowDevices;
  readonly problems: readonly string[];
} {
  const parsed = parseYaml(text, yamlLimits);
  if (parsed.kind !== "ok") return { problems: [parsed.message] };
  if (parsed.repeatedKeys !== undefined) return { problems: parsed.repeatedKeys };
  const yaml = new YamlFields(text);
  const devices = readDevices(yaml, parsed.value);
  return { devices, problems: yaml.problems };
}

function readDevices(yaml: YamlFields, value: unknown): HollowDevices {
  const map = yaml.map(value, [], known);
  const perNode = numberUpTo(yaml, map, [], { name: "perNode", standard: 1, most: perNodeMax });
  const nvlinkDomainSize = numberUpTo(yaml, map, [], {
    name: "nvlinkDomainSize",
    standard: perNode,
    most: perNode,
  });
  const partitions = readPartitions(yaml, map["partitions"] ?? []);
  const each = partitions.reduce((sum, { count }) => sum + count, 1);
  if (perNode * each > devicesMax) {
    yaml.problem(["partitions"], `make ${perNode * each} devices a node, more than ${devicesMax}`);
  }
  const attributes = readAttributes(yaml, map["attributes"] ?? {});
  const capacity = readCapacity(yaml, map["capacity"] ?? {});
  if (Object.keys(attributes).length + Object.keys(capacity).length > factsMax) {
    yaml.problem(["attributes"], `and capacity are more than ${factsMax} together`);
  }
  return {
    className: domainText(yaml, map, "deviceClass", 253),
    driver: domainText(yaml, map, "driver", 63),
    perNode,
    nvlinkDomainSize,
    partitions,
    attributes,
    capacity,
    ...readPrepare(yaml, map["prepare"] ?? {}),
  };
}

function domainText(yaml: YamlFields, map: Fields, name: string, most: number): string {
  const text = yaml.requiredText(map, [], name);
  if (text !== "" && (text.length > most || !domainName.test(text))) {
    yaml.problem([name], `must be of lower case letters, digits, - and ., ${most} at most`);
  }
  return text;
}

function numberUpTo(
  yaml: YamlFields,
  map: Fields,
  path: FieldPath,
  asked: { readonly name: string; readonly standard: number; readonly most: number },
): number {
  const { name, standard, most } = asked;
  const number = yaml.wholeNumber(map, path, name, standard);
  if (number <= most) return number;
  yaml.problem([...path, name], `must be at most ${most}`);
  return standard;
}

function readPartitions(yaml: YamlFields, value: unknown): HollowDevices["partitions"] {
  if (!Array.isArray(value)) {
    yaml.problem(["partitions"], "must be a list");
    return [];
  }
  const partitions = value.map((one, at) => readPartition(yaml, one, ["partitions", at]));
  partitions.forEach(({ name }, at) => {
    if (partitions.findIndex((other) => other.name === name) < at) {
      yaml.problem(["partitions", at, "name"], `${JSON.stringify(name)} stands twice`);
    }
  });
  return partitions;
}

function readPartition(yaml: YamlFields, value: unknown, path: FieldPath) {
  const map = yaml.map(value, path, ["name", "count"]);
  const name = yaml.requiredText(map, path, "name");
  if (name === "whole") yaml.problem([...path, "name"], "must not be whole: that is the device");
  else if (name !== "" && !label.test(name)) {
    yaml.problem([...path, "name"], "must be of lower case letters, digits and -, 32 at most");
  }
  if (map["count"] === undefined) yaml.problem([...path, "count"], "is required");
  const count = numberUpTo(yaml, map, path, { name: "count", standard: 1, most: partsMax });
  return { name, count };
}

function readAttributes(yaml: YamlFields, value: unknown): Record<string, DeviceAttribute> {
  const map = yaml.map(value, ["attributes"]);
  const entries = Object.entries(map).map(([name, one]) => {
    const path = ["attributes", name];
    checkIdentifier(yaml, path, name);
    if (ownAttributes.includes(name)) yaml.problem(path, "is given to every device");
    return [name, readAttribute(yaml, one, path)] as const;
  });
  return Object.fromEntries(entries);
}

function readAttribute(yaml: YamlFields, value: unknown, path: FieldPath): DeviceAttribute {
  if (typeof value === "boolean") return { bool: value };
  if (typeof value === "number" && Number.isSafeInteger(value)) return { int: value };
  if (typeof value === "string" && value !== "" && value.length <= 64) return { string: value };
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const text = yaml.requiredText(yaml.map(value, path, ["version"]), path, "version");
    if (version.test(text) && text.length <= 64) return { version: text };
    if (text !== "") yaml.problem([...path, "version"], "must be as 1.2.3");
    return {};
  }
  yaml.problem(
    path,
    "must be a whole number, true or false, a text of 1 to 64 letters, or {version: 1.2.3}",
  );
  return {};
}

function readCapacity(yaml: YamlFields, value: unknown): Record<string, string> {
  const map = yaml.map(value, ["capacity"]);
  const entries = Object.entries(map).map(([name, one]) => {
    const path = ["capacity", name];
    checkIdentifier(yaml, path, name);
    const text = typeof one === "number" ? String(one) : one;
    if (typeof text === "string" && quantity.test(text)) return [name, text] as const;
    yaml.problem(path, "must be a whole quantity, as 80Gi");
    return [name, "1"] as const;
  });
  return Object.fromEntries(entries);
}

function checkIdentifier(yaml: YamlFields, path: FieldPath, name: string): void {
  if (!identifier.test(name)) yaml.problem(path, "must be named by letters, digits and _");
}

function readPrepare(
  yaml: YamlFields,
  value: unknown,
): Pick<HollowDevices, "prepareMs" | "prepareError"> {
  const path = ["prepare"];
  const map = yaml.map(value, path, ["delaySeconds", "error"]);
  const error = yaml.text(map, path, "error");
  const { delaySeconds = 0 } = map;
  const prepareError = error === "" ? undefined : error;
  if (typeof delaySeconds === "number" && delaySeconds >= 0 && delaySeconds <= delaySecondsMax) {
    return { prepareMs: delaySeconds * 1_000, ...given({ prepareError }) };
  }
  yaml.problem([...path, "delaySeconds"], `must be a number from 0 to ${delaySecondsMax}`);
  return { prepareMs: 0 };
}
