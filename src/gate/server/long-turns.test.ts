/** A request that held the loop makes a metric without its path and a log line with it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Log } from "#platform/log.ts";
import { LongTurns } from "./long-turns.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { requestInfo } from "./request-info.ts";

interface Told {
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

function told(): {
  readonly lines: Told[];
  readonly hold: (path: string, ms: number) => void;
  readonly metrics: MetricSet;
} {
  let ms = 0;
  let settled: (() => void)[] = [];
  const lines: Told[] = [];
  const take = (message: string, fields: Told["fields"] = {}): void =>
    void lines.push({ message, fields });
  const log: Log = { debug: take, info: take, warn: take, error: take, child: () => log };
  const times = {
    nowMs: () => ms,
    cpuMs: () => ms,
    settled: (f: () => void) => void settled.push(f),
  };
  const metrics = new MetricSet();
  const isKnown = ({ resource }: { readonly resource: string }): boolean => resource === "pods";
  const turns = new LongTurns({ times, metrics, log, isKnown });
  // Not just after the start.
  ms = 60_000;
  return {
    lines,
    metrics,
    hold(path, forMs) {
      const user = { name: "alice", groups: [] };
      turns.mark({ info: requestInfo("GET", path, new URLSearchParams()), user }, "handler");
      ms += forMs;
      for (const f of settled) f();
      settled = [];
    },
  };
}

test("user, verb, resource and stage make the series; the path is in the log alone", () => {
  const { lines, metrics, hold } = told();
  hold("/api/v1/namespaces/a/pods", 60);
  assert.deepEqual(lines[0], {
    message: "a request held the event loop",
    fields: {
      user: "alice",
      verb: "list",
      path: "/api/v1/namespaces/a/pods",
      stage: "handler",
      ms: 60,
      others: 0,
    },
  });
  const series =
    'pilothouse_long_turns_total{user="alice",verb="list",group="",resource="pods",stage="handler"} 1';
  assert.ok(metrics.text().includes(series), metrics.text());
});

test("a resource that this server does not have makes no series, and a long path a short line", () => {
  const { lines, metrics, hold } = told();
  hold(`/apis/x.y/v1/${"z".repeat(60_000)}`, 60);
  assert.ok(metrics.text().includes('verb="list",group="",resource=""'));
  assert.equal(String(lines[0]?.fields["path"]).length, 256);
});

test("one line in ten seconds tells how many there were", () => {
  const { lines, hold } = told();
  for (let index = 0; index < 5; index++) hold("/version", 30);
  hold("/version", 10_000);
  assert.deepEqual(
    lines.map(({ fields }) => fields["others"]),
    [0, 4],
  );
});
