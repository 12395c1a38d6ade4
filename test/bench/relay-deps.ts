/** What every relay of a bench is made of; its upstream, its reviews and what it counts are the bench's. */
import { CertificateAuthenticator } from "#auth/x509.ts";
import type { Client } from "#client/client.ts";
import { relayLedgerLimits } from "#cmd/shared/limits.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import { Ledger } from "#platform/ledger.ts";
import { silentLog } from "#platform/log.ts";
import type { NodeClock } from "#platform/node/clock.ts";
import { heapBytesMax } from "#platform/node/heap.ts";
import { NodeRandom } from "#platform/node/random.ts";

interface BenchRelay {
  readonly clock: NodeClock;
  readonly metrics: MetricSet;
  readonly http: ByteTransport;
  /** Answers token reviews and access reviews. */
  readonly review: (ref: unknown, namespace: unknown, asked: unknown) => Promise<unknown>;
}

export function relayDeps({ clock, metrics, http, review }: BenchRelay) {
  return {
    clock,
    metrics,
    http,
    passHttp: http,
    anonymousHttp: http,
    random: new NodeRandom(),
    log: silentLog,
    ledger: new Ledger(relayLedgerLimits(heapBytesMax())),
    // Reviews are all that is asked of it.
    client: { create: review } as unknown as Client,
    headers: () => ({}),
    peers: new CertificateAuthenticator({ clock }),
  };
}
