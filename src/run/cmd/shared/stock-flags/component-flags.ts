/** component-base's flags, which kube-apiserver, kube-controller-manager and kube-scheduler share. */
import type { StockFlag } from "./flag-kinds.ts";
import { fixed, refused, unused } from "./stock-flag.ts";

const oneLog = "logs are JSON lines on stderr, one at a time; --log-level says which";

export const componentFlags: readonly StockFlag[] = [
  ...unused("v:int vmodule log-flush-frequency:duration logging-format", oneLog),
  ...unused(
    "log-json-info-buffer-size log-json-split-stream:bool log-text-info-buffer-size log-text-split-stream:bool",
    oneLog,
  ),
  ...unused(
    "profiling:bool contention-profiling:bool",
    "/debug/pprof is Go's; Node's profiler is NODE_OPTIONS=--cpu-prof",
  ),
  ...unused(
    "http2-max-streams-per-connection:int",
    "a connection has 100 streams, kube-apiserver's default",
  ),
  ...fixed("emulated-version:strings", ["1.36", "kube=1.36"], "no other version is emulated"),
  ...fixed(
    "min-compatibility-version:strings",
    ["1.35", "kube=1.35", "1.36", "kube=1.36"],
    "as 1.36",
  ),
  ...fixed("disable-http2-serving:bool", ["false"], "HTTP/2 and HTTP/1.1 are both served"),
  ...unused("permit-address-sharing:bool", "SO_REUSEADDR is always set"),
  ...refused(
    "disabled-metrics:strings allow-metric-labels:strings allow-metric-labels-manifest",
    "drop series with metric_relabel_configs where they are scraped; labels are bounded here",
  ),
  ...unused("show-hidden-metrics-for-version", "no metric is hidden here"),
];

/** Flags of the two components that are clients of an API server. */
export const clientFlags: readonly StockFlag[] = [
  ...refused("master", "give the address in --kubeconfig"),
  ...unused(
    "kube-api-content-type",
    "built-in kinds are read and written as JSON or protobuf by need",
  ),
  ...fixed("leader-elect-resource-lock", ["leases"], "as upstream since 1.24"),
  ...unused(
    "authentication-kubeconfig authentication-skip-lookup:bool authentication-tolerate-lookup-failure:bool authentication-token-webhook-cache-ttl:duration",
    "the API server of --kubeconfig reviews who reads /metrics; health needs no review",
  ),
  ...unused(
    "authorization-kubeconfig authorization-always-allow-paths:strings authorization-webhook-cache-authorized-ttl:duration authorization-webhook-cache-unauthorized-ttl:duration",
    "the API server of --kubeconfig reviews who reads /metrics; health needs no review",
  ),
  ...unused(
    "client-ca-file requestheader-client-ca-file requestheader-allowed-names:strings requestheader-username-headers:strings requestheader-uid-headers:strings requestheader-group-headers:strings requestheader-extra-headers-prefix:strings",
    "client certificates count by the authority in --kubeconfig",
  ),
  ...unused(
    "cert-dir",
    "without --tls-cert-file a certificate is made at each start, and kept nowhere",
  ),
];
