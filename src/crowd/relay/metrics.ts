/** Metrics of a relay: load that it saves its upstream, answers to clients, and their age. */
import type { PlainResponse } from "#platform/http.ts";
import type { Counter, Histogram, MetricSet } from "#metrics/metric-set.ts";
import type { Access } from "./access/access.ts";
import type { LargeResponseLimiter } from "./fleet/large-response-limiter.ts";
import { kindId, type MirroredKind } from "./mirror/mirrored-kind.ts";
import type { Mirrored } from "./mirror/mirrored.ts";
import type { PolledView } from "./views/polled-view.ts";
import type { ServedView } from "./views/served-view.ts";

const etag304 = ["etag", "304"];
const latencySeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** For each value the relay counts the watchers that have been behind for longer, in seconds. */
const behindSeconds = [0, 0.1, 1, 10, 60];
const noLabels: readonly string[] = [];

export class RelayMetrics {
  readonly requests: Counter;
  readonly eventsOut: Counter;
  readonly bytesOut: { observeTogether(sum: number): void };
  readonly notModified: Counter;
  readonly expired: Counter;
  readonly staleReads: Counter;
  readonly watchesStarted: Counter;
  readonly endedByReview: Counter;
  readonly moved: Counter;
  readonly shadowed: Counter;
  readonly bodies: Counter;
  readonly #latency: Histogram;

  /** Counts an answer, and the bytes of a complete body; streams count their bytes themselves. */
  answered(by: string, response: PlainResponse, query: URLSearchParams): void {
    this.requests.add([by, String(response.status)]);
    if (response.kind !== "bytes" || response.body.length === 0) return;
    const kind = by === "etag" && query.has("since") ? "changes" : by;
    const bytes = response.body.reduce((sum, { length }) => sum + length, 0);
    this.bodies.add([kind], bytes);
  }

  /** Returns the callback for a mirror, which calls it after a delivery with the age of the oldest event. */
  dispatched(kind: MirroredKind): (ageMs: number) => void {
    const labels = [kindId(kind)];
    return (ageMs) => this.#latency.observe(labels, ageMs / 1000);
  }

  /** Counts a 304 that was replayed on its connection. */
  repeated(): void {
    this.requests.add(etag304);
    this.notModified.add(noLabels);
  }

  constructor(set: MetricSet) {
    this.requests = set.counter(
      "relay_requests_total",
      "Requests by what answered them: mirror, etag, discovery, upstream, relay, and by code.",
      ["by", "code"],
    );
    this.eventsOut = set.counter("relay_watch_events_sent_total", "Watch events sent.", []);
    const bytes = set.counter("relay_watch_bytes_sent_total", "Watch bytes sent.", []).cell([]);
    this.bytesOut = { observeTogether: (sum) => void (bytes.count += sum) };
    this.notModified = set.counter("relay_not_modified_total", "Polls answered 304.", []);
    this.expired = set.counter(
      "relay_expired_total",
      "Watches and polls with since answered 410.",
      [],
    );
    this.watchesStarted = set.counter(
      "relay_watches_started_total",
      "Watches by how they began: with the state, resumed after a resourceVersion, refused with 410.",
      ["start"],
    );
    this.bodies = set.counter(
      "relay_body_bytes_sent_total",
      "Bytes of whole answers by kind: mirror (lists), etag (whole polls), changes (polls with since), discovery, upstream (passed through), relay.",
      ["kind"],
    );
    this.#latency = set.histogram(
      "relay_event_to_socket_seconds",
      "From an event's arrival until it was written to all watchers except slices that wait for their turn: the oldest of each batch.",
      ["resource"],
      latencySeconds,
    );
    this.staleReads = set.counter(
      "relay_stale_reads_total",
      "Reads of the most recent state answered from the last known one while the upstream is away.",
      [],
    );
    this.shadowed = set.counter(
      "relay_shadow_reads_total",
      "Answers compared with the upstream's own, by outcome: equal, different, unknown, skipped.",
      ["resource", "outcome"],
    );
    this.moved = set.counter(
      "relay_streams_moved_total",
      "Streams closed so that their clients resume at relays that have fewer.",
      [],
    );
    this.endedByReview = set.counter(
      "relay_streams_ended_by_review_total",
      "Open streams closed because their user may not read any more.",
      [],
    );
  }
}

/** Adds the metrics of the operator's views. */
export function describeViews(set: MetricSet, views: () => Iterable<ServedView>): void {
  const perView = (name: string, help: string, read: (view: PolledView) => number): void => {
    set.gaugeOf(name, help, ["view"], () =>
      [...views()].flatMap(({ definition, made }) =>
        made === undefined ? [] : [[[definition.name], read(made)] as const],
      ),
    );
  };
  perView("relay_view_rows", "Rows of a view.", (view) => view.content("").count);
  perView("relay_view_zones", "Zones followed.", (view) => view.zones);
  perView(
    "relay_view_zones_refused_total",
    "Rows of zones beyond the limit.",
    (v) => v.zonesRefused,
  );
  perView("relay_view_failures_total", "Rows whose paths failed.", (view) => view.failures);
  perView("relay_view_waiting", "Long polls waiting.", (view) => view.waiting);
}

type Read = (resource: Mirrored) => number;
type PerResource = (name: string, help: string, read: Read) => void;

/** Adds the gauges whose values are computed on each scrape. */
export function describeRelay(
  set: MetricSet,
  access: Access,
  resources: () => Iterable<Mirrored>,
  streams: () => number,
): void {
  const perResource: PerResource = (name, help, read) => {
    set.gaugeOf(name, help, ["resource"], () =>
      [...resources()].map((r) => [[kindId(r.kind)], read(r)] as const),
    );
  };
  describeUpstream(perResource);
  describeMirror(perResource);
  set.gaugeOf(
    "relay_watchers_behind",
    "Watchers that have been behind for longer than so many seconds; 0: all that are parked or catching up.",
    ["resource", "seconds"],
    () => [...resources()].flatMap(behind),
  );
  set.gaugeOf("relay_streams", "Streams open to clients.", [], () => [[[], streams()]]);
  set.gaugeOf(
    "relay_reviews_total",
    "Reviews by kind and how they were answered.",
    ["kind", "by"],
    () => [
      [["token", "upstream"], access.tokenCounts.asked],
      [["token", "memory"], access.tokenCounts.kept],
      [["token", "grace"], access.tokenCounts.graced],
      [["anonymous", "upstream"], access.anonymousCounts.asked],
      [["anonymous", "memory"], access.anonymousCounts.kept],
      [["anonymous", "grace"], access.anonymousCounts.graced],
      [["access", "upstream"], access.decisionCounts.asked],
      [["access", "memory"], access.decisionCounts.kept],
      [["access", "grace"], access.decisionCounts.graced],
    ],
  );
}

function guard(count: "held" | "confirmed"): Read {
  return ({ upstream }) => upstream.guard.counts[count];
}

function behind({ kind, mirror }: Mirrored): (readonly [readonly string[], number])[] {
  const ages = mirror.behindMs();
  return behindSeconds.map((seconds) => [
    [kindId(kind), String(seconds)],
    ages.filter((ms) => seconds === 0 || ms > seconds * 1000).length,
  ]);
}

function describeUpstream(perResource: PerResource): void {
  perResource("relay_upstream_lists_total", "Lists sent upstream.", (r) => r.upstream.counts.lists);
  perResource("relay_upstream_watches_total", "Watches opened.", (r) => r.upstream.counts.watches);
  perResource("relay_upstream_watches", "Watches open.", (r) => r.upstream.counts.watching);
  perResource(
    "relay_upstream_expired_total",
    "Positions lost: 410, disorder, or a sum that differs; a list followed.",
    (r) => r.upstream.counts.expired,
  );
  perResource(
    "relay_upstream_failures_total",
    "Lists and watches that failed or ended too soon.",
    (r) => r.upstream.counts.failures,
  );
  perResource("relay_events_received_total", "Events received.", (r) => r.mirror.counts.events);
  perResource(
    "relay_events_repeated_total",
    "Events that the upstream repeated, dropped.",
    (r) => r.mirror.counts.duplicates,
  );
  perResource(
    "relay_events_out_of_order_total",
    "Events out of order; a list followed.",
    (r) => r.mirror.counts.outOfOrder,
  );
  perResource(
    "relay_checksums_total",
    "Checksums of a relay upstream compared.",
    (r) => r.mirror.checksums.counts.checked,
  );
  perResource(
    "relay_checksum_mismatches_total",
    "Checksums that differed; a list followed.",
    (r) => r.mirror.checksums.counts.mismatched,
  );
  perResource(
    "relay_differences_total",
    "Lists whose difference was sent to watchers.",
    (r) => r.mirror.counts.reconciled,
  );
  perResource(
    "relay_lists_held_back_total",
    "Lists held back, because they took too much away.",
    guard("held"),
  );
  perResource(
    "relay_lists_confirmed_total",
    "Held back lists that a second one confirmed.",
    guard("confirmed"),
  );
}

function describeMirror(perResource: PerResource): void {
  perResource("relay_objects", "Objects held.", (r) => r.mirror.cache.state.size);
  perResource("relay_revision", "Newest resourceVersion held.", (r) => r.mirror.revision);
  perResource(
    "relay_age_seconds",
    "How long the upstream has been away; 0 while its stream is up.",
    (r) => r.mirror.ageMs / 1000,
  );
  perResource("relay_upstream_connected", "1 while the upstream's stream is up.", (r) =>
    Number(r.mirror.connected),
  );
  perResource(
    "relay_watchers",
    "Watchers of the mirror, of all frontends.",
    (r) => r.mirror.cache.watchers,
  );
  perResource(
    "relay_watch_events_coalesced_total",
    "Events not sent to watchers of the latest state, because later ones replace them.",
    (r) => r.mirror.cache.coalesced,
  );
  perResource("relay_views", "ETag views held.", (r) => r.views.size);
  perResource("relay_bodies_made_total", "Whole list bodies encoded.", (r) => r.bodies.made);
  perResource(
    "relay_bodies_reused_total",
    "Whole list bodies shared with an earlier reader.",
    (r) => r.bodies.reused,
  );
}

/** Adds metrics of large responses: bytes in flight, responses admitted, and responses rejected. */
export function describeLargeResponses(set: MetricSet, largeAnswers: LargeResponseLimiter): void {
  const one = (name: string, help: string, read: () => number): void =>
    set.gaugeOf(name, help, [], () => [[[], read()]]);
  one("relay_herd_bytes", "Bytes of large answers on their way.", () => largeAnswers.bytes);
  one("relay_herd_admitted_total", "Large answers admitted.", () => largeAnswers.admitted);
  one(
    "relay_herd_refused_total",
    "Large answers refused for lack of room, 429.",
    () => largeAnswers.refused,
  );
}

/** Adds metrics of unknown credentials: how many the upstream refused, and how many exceeded the budget and were not reviewed. */
export function describeRefusals(set: MetricSet, { refusalCounts }: Access): void {
  set.gaugeOf(
    "relay_credentials_refused_total",
    "Unknown credentials by outcome: refused by the upstream, or not asked about, by the limit of an address or of all.",
    ["outcome"],
    () => [
      [["refused"], refusalCounts.refused],
      [["limited_address"], refusalCounts.limitedAddress],
      [["limited_total"], refusalCounts.limitedTotal],
    ],
  );
}
