/** The file of `--cloud-config`, as cluster-autoscaler's externalgrpc provider reads it. */
import { YamlFields } from "#wire/yaml-fields.ts";
import { parseYaml } from "#wire/yaml.ts";
import { goDuration } from "../shared/flag-values.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { UsageError } from "../shared/usage-error.ts";
import type { CloudConfig } from "./grpc-provider.ts";

const yamlLimits = { bytesMax: 2 ** 16, depthMax: 4, aliasMax: 10 };
const timeoutStandardMs = 5_000;

/** Throws UsageError. */
export function cloudConfigOf(path: string): CloudConfig {
  const text = readOperatorFile(path);
  const parsed = parseYaml(text, yamlLimits);
  if (parsed.kind !== "ok") throw new UsageError(`${path}: ${parsed.message}`);
  const yaml = new YamlFields(text);
  const known = ["address", "key", "cert", "cacert", "grpc_timeout"];
  const map = yaml.map(parsed.value, [], known);
  const address = yaml.requiredText(map, [], "address");
  const [cert, key, ca] = ["cert", "key", "cacert"].map((name) => yaml.text(map, [], name)) as [
    string,
    string,
    string,
  ];
  const timeout = yaml.text(map, [], "grpc_timeout");
  const timeoutMs = yaml.parsed(["grpc_timeout"], timeout, goDuration) ?? timeoutStandardMs;
  const given = [cert, key, ca].filter((file) => file !== "").length;
  if (given !== 0 && given !== 3) yaml.problem(["cert"], "key and cacert are given together");
  if (address !== "" && !/^(\[[^\]]+\]|[^:/\s]+):\d{1,5}$/.test(address)) {
    yaml.problem(["address"], "must be host:port");
  }
  if (yaml.problems.length > 0) throw new UsageError(`${path}: ${yaml.problems.join("\n")}`);
  const tls =
    given === 0
      ? undefined
      : { cert: readOperatorFile(cert), key: readOperatorFile(key), ca: readOperatorFile(ca) };
  return { address, tls, timeoutMs };
}
