/** Metrics of a relay: what the upstream is spared, what clients get, how old it is. */
import type { Counter, MetricSet } from "#server/metric-set.ts";
import type { Access } from "./access.ts";
import type { Herd } from "./herd.ts";
import { kindId } from "./mirrored-kind.ts";
import type { Mirrored } from "./mirrored.ts";
import type { NamedView } from "./named-view.ts";
import type { View } from "./view.ts";

const etag304 = ["etag", "304"];
const noLabels: readonly string[] = [];

export class RelayMetrics {
  readonly requests: Counter;
  readonly eventsOut: Counter;
  readonly bytesOut: Counter;
  readonly notModified: Counter;
  readonly expired: Counter;
  readonly staleReads: Counter;
  readonly watchesStarted: Counter;
  readonly endedByReview: Counter;
  readonly moved: Counter;

  /** A 304 given again on its connection. */
  repeated(): void {
    this.requests.add(etag304);
    this.notModified.add(noLabels);
  }

  constructor(set: MetricSet) {
    this.requests = set.counter(
      "relay_requests_total",
      "Requests by who answered them: mirror, etag, discovery, upstream, relay, and by code.",
      ["by", "code"],
    );
    this.eventsOut = set.counter("relay_watch_events_sent_total", "Watch events sent.", []);
    this.bytesOut = set.counter("relay_watch_bytes_sent_total", "Watch bytes sent.", []);
    this.notModified = set.counter("relay_not_modified_total", "Polls answered 304.", []);
    this.expired = set.counter("relay_expired_total", "Watches and deltas told 410.", []);
    this.watchesStarted = set.counter(
      "relay_watches_started_total",
      "Watches by how they began: with the state, resumed after a resourceVersion, refused with 410.",
      ["start"],
    );
    this.staleReads = set.counter(
      "relay_stale_reads_total",
      "Reads of the most recent state answered from the last known one, the upstream being away.",
      [],
    );
    this.moved = set.counter(
      "relay_streams_moved_total",
      "Streams let go to relays that have fewer; they resume there.",
      [],
    );
    this.endedByReview = set.counter(
      "relay_streams_ended_by_review_total",
      "Open streams closed because their user may not read any more.",
      [],
    );
  }
}

/** Of the operator's views. */
export function describeViews(set: MetricSet, views: () => Iterable<NamedView>): void {
  const perView = (name: string, help: string, read: (view: View) => number): void => {
    set.gaugeOf(name, help, ["view"], () =>
      [...views()].flatMap(({ definition, made }) =>
        made === undefined ? [] : [[[definition.name], read(made)] as const],
      ),
    );
  };
  perView("relay_view_rows", "Rows of a view.", (view) => view.content("").count);
  perView("relay_view_zones", "Zones followed.", (view) => view.zones);
  perView("relay_view_zones_refused_total", "Rows of zones too many.", (v) => v.zonesRefused);
  perView("relay_view_failures_total", "Rows whose paths failed.", (view) => view.failures);
  perView("relay_view_waiting", "Long polls waiting.", (view) => view.waiting);
}

type Read = (resource: Mirrored) => number;

/** Numbers that are read when somebody asks. */
export function describeRelay(
  set: MetricSet,
  access: Access,
  resources: () => Iterable<Mirrored>,
  streams: () => number,
): void {
  const perResource = (name: string, help: string, read: Read): void => {
    set.gaugeOf(name, help, ["resource"], () =>
      [...resources()].map((r) => [[kindId(r.kind)], read(r)] as const),
    );
  };
  perResource("relay_upstream_lists_total", "Lists sent upstream.", (r) => r.upstream.counts.lists);
  perResource("relay_upstream_watches_total", "Watches opened.", (r) => r.upstream.counts.watches);
  perResource("relay_upstream_watches", "Watches open.", (r) => r.upstream.counts.watching);
  perResource("relay_upstream_expired_total", "Places lost.", (r) => r.upstream.counts.expired);
  perResource("relay_upstream_failures_total", "Tries failed.", (r) => r.upstream.counts.failures);
  perResource("relay_events_received_total", "Events received.", (r) => r.mirror.counts.events);
  perResource("relay_events_repeated_total", "Dropped.", (r) => r.mirror.counts.duplicates);
  perResource("relay_events_out_of_order_total", "Late.", (r) => r.mirror.counts.outOfOrder);
  perResource("relay_checksums_total", "Sums compared.", (r) => r.mirror.counts.checked);
  perResource("relay_checksum_mismatches_total", "Not ours.", (r) => r.mirror.counts.mismatched);
  perResource("relay_differences_total", "Lists merged.", (r) => r.mirror.counts.reconciled);
  perResource("relay_objects", "Objects held.", (r) => r.mirror.cache.size);
  perResource("relay_revision", "Newest resourceVersion held.", (r) => r.mirror.revision);
  perResource("relay_age_seconds", "Since the upstream was heard.", (r) => r.mirror.ageMs / 1000);
  perResource("relay_upstream_connected", "1: yes.", (r) => Number(r.mirror.connected));
  perResource("relay_watchers", "Cursors on the mirror.", (r) => r.mirror.cache.watchers);
  perResource("relay_views", "ETag views held.", (r) => r.views.size);
  perResource("relay_bodies_made_total", "List bodies encoded.", (r) => r.bodies.made);
  perResource("relay_bodies_reused_total", "List bodies shared.", (r) => r.bodies.reused);
  set.gaugeOf("relay_streams", "Streams open to clients.", [], () => [[[], streams()]]);
  set.gaugeOf(
    "relay_reviews_total",
    "Reviews by kind and how they were answered.",
    ["kind", "by"],
    () => [
      [["token", "upstream"], access.tokenCounts.asked],
      [["token", "memory"], access.tokenCounts.kept],
      [["token", "grace"], access.tokenCounts.graced],
      [["access", "upstream"], access.decisionCounts.asked],
      [["access", "memory"], access.decisionCounts.kept],
      [["access", "grace"], access.decisionCounts.graced],
    ],
  );
}

/** Large answers: how many bytes are on their way, how many entered and how many were told to wait. */
export function describeHerd(set: MetricSet, herd: Herd): void {
  const one = (name: string, help: string, read: () => number): void =>
    set.gaugeOf(name, help, [], () => [[[], read()]]);
  one("relay_herd_bytes", "Bytes of large answers on their way.", () => herd.bytes);
  one("relay_herd_admitted_total", "Large answers admitted.", () => herd.admitted);
  one("relay_herd_refused_total", "Large answers told to come again.", () => herd.refused);
}
