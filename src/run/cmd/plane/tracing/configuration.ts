/** A TracingConfiguration of apiserver.config.k8s.io, with upstream's error texts. */
import { isRecord } from "#base/is-record.ts";
import { parseYaml } from "#wire/yaml.ts";

/** Address of the collector, in the form that `net.connect` takes. */
export type CollectorAddress =
  | { readonly host: string; readonly port: number }
  | { readonly path: string };

interface TracingConfiguration {
  readonly address: CollectorAddress;
  /** Sampling rate of requests whose client does not decide, from 0 to 1,000,000. */
  readonly samplingRatePerMillion: number;
}

const versions = ["v1", "v1beta1", "v1alpha1"].map((one) => `apiserver.config.k8s.io/${one}`);
const fields = ["apiVersion", "kind", "endpoint", "samplingRatePerMillion"];
const endpointDefault = "localhost:4317";
const portDefault = 443;
const limits = { bytesMax: 1024 * 1024, depthMax: 32, aliasMax: 100 };

/** @throws Error with upstream's text. */
export function readTracingConfiguration(text: string): TracingConfiguration {
  const parsed = parseYaml(text, limits);
  if (parsed.kind !== "ok") throw undecodable(parsed.message);
  const { value } = parsed;
  if (!isRecord(value)) throw undecodable("it is no object");
  const { apiVersion, kind } = value;
  if (!versions.includes(String(apiVersion)) || kind !== "TracingConfiguration")
    throw undecodable(
      `no kind "${String(kind)}" is registered for version "${String(apiVersion)}"`,
    );
  const unknown = Object.keys(value).find((key) => !fields.includes(key));
  if (unknown !== undefined) throw undecodable(`strict decoding error: unknown field "${unknown}"`);
  return {
    samplingRatePerMillion: rateOf(value["samplingRatePerMillion"] ?? 0),
    address: addressOf(value["endpoint"] ?? endpointDefault),
  };
}

function undecodable(why: string): Error {
  return new Error(
    `failed to read tracing config: unable to decode tracing configuration data: ${why}`,
  );
}

function invalid(field: string, value: unknown, why: string): Error {
  return new Error(
    `failed to validate tracing configuration: ${field}: Invalid value: ${JSON.stringify(value)}: ${why}`,
  );
}

function rateOf(value: unknown): number {
  const field = "samplingRatePerMillion";
  if (typeof value !== "number" || !Number.isInteger(value))
    throw undecodable(`${field} is no integer`);
  if (value < 0) throw invalid(field, value, "sampling rate must be positive");
  if (value > 1_000_000)
    throw invalid(
      field,
      value,
      "sampling rate per million must be less than or equal to one million",
    );
  return value;
}

function addressOf(endpoint: unknown): CollectorAddress {
  if (typeof endpoint !== "string") throw undecodable("endpoint is no text");
  const url = URL.parse(endpoint.includes("//") ? endpoint : `dns://${endpoint}`);
  if (url === null) throw invalid("endpoint", endpoint, "it is no URL");
  switch (url.protocol) {
    case "unix:":
      return { path: url.pathname };
    case "unix-abstract:":
      return { path: `\0${url.host}${url.pathname}` };
    case "dns:":
      // The target is `dns:///host:port`, or `host:port` alone.
      return hostOf(url.host === "" ? url.pathname.slice(1) : url.host, endpoint);
    default:
      throw invalid(
        "endpoint",
        endpoint,
        `unsupported scheme: ${url.protocol.slice(0, -1)}.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`,
      );
  }
}

function hostOf(text: string, endpoint: string): CollectorAddress {
  const [, host = "", port = String(portDefault)] =
    /^(\[[0-9a-fA-F:.]+\]|[^:[\]/]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (host === "" || Number(port) > 65_535)
    throw invalid("endpoint", endpoint, "it is no host and port");
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}
