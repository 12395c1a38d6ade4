/** Metrics of KMS plugins, with upstream's names (apiserver_envelope_encryption_*). */
import type { KmsPlugins } from "#encryption/kms-plugins.ts";
import type { KmsRecords } from "#encryption/kms-records.ts";
import type { MetricSet } from "#metrics/metric-set.ts";

/** Upstream's buckets: 0.1 ms, doubled 19 times. */
const latencyBuckets = Array.from({ length: 20 }, (_, at) => 0.0001 * 2 ** at);

interface Kms {
  readonly plugins: KmsPlugins | undefined;
  readonly records: KmsRecords | undefined;
}

const subsystem = "apiserver_envelope_encryption";

/** Describes the metrics once records exist. Call it once. The plugins may be replaced later. */
export function describeKms(metrics: MetricSet, kms: Kms): void {
  const { records } = kms;
  if (records === undefined) return;
  const latency = metrics.histogram(
    `${subsystem}_kms_operations_latency_seconds`,
    "[ALPHA] KMS operation duration with gRPC error code status total.",
    ["provider_name", "method_name", "grpc_status_code"],
    latencyBuckets,
  );
  records.observe(({ provider, method, code, seconds }) =>
    latency.observe([provider, method, code], seconds),
  );
  describeKeyIds(metrics, records);
  metrics.plainGaugeOf(
    `${subsystem}_dek_source_cache_size`,
    "[ALPHA] Number of records in data encryption key (DEK) source cache. On a restart, this value is an approximation of the number of decrypt RPC calls the server will make to the KMS plugin.",
    ["provider_name"],
    () => (kms.plugins?.sizes() ?? []).map(([name, size]) => [[name], size] as const),
  );
}

function describeKeyIds(metrics: MetricSet, records: KmsRecords): void {
  const used = ["transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"];
  metrics.gaugeOf(
    `${subsystem}_key_id_hash_total`,
    "[ALPHA] Number of times a keyID is used split by transformation type, provider, and apiserver identity.",
    used,
    () => records.uses().map(({ labels, count }) => [labels, count] as const),
  );
  metrics.plainGaugeOf(
    `${subsystem}_key_id_hash_last_timestamp_seconds`,
    "[ALPHA] The last time in seconds when a keyID was used.",
    used,
    () => records.uses().map(({ labels, lastMs }) => [labels, lastMs / 1_000] as const),
  );
  metrics.plainGaugeOf(
    `${subsystem}_key_id_hash_status_last_timestamp_seconds`,
    "[ALPHA] The last time in seconds when a keyID was returned by the Status RPC call.",
    ["provider_name", "key_id_hash", "apiserver_id_hash"],
    () => records.statuses().map(({ labels, lastMs }) => [labels, lastMs / 1_000] as const),
  );
  metrics.gaugeOf(
    `${subsystem}_invalid_key_id_from_status_total`,
    "[ALPHA] Number of times an invalid keyID is returned by the Status RPC call split by error.",
    ["provider_name", "error"],
    () => records.invalid().map(({ labels, count }) => [labels, count] as const),
  );
}
