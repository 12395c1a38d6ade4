/**
 * Where `pilothouse doctor --watch --metrics-listen` is scraped: in the clear and without credentials, so on loopback only. What
 * scrapes from elsewhere comes through a proxy that asks who it is.
 */
import { setImmediate } from "node:timers/promises";
import type { MetricSet } from "#metrics/metric-set.ts";
import { metricsPage, pageType } from "#metrics/page.ts";
import type { PlainHandler } from "#platform/http.ts";
import { silentLog } from "#platform/log.ts";
import { httpLimits, listen, type Listening } from "#platform/node/http/http.ts";
import { isLoopback } from "../shared/loopback.ts";
import { UsageError } from "../shared/usage-error.ts";

const flag = "--metrics-listen";
/** The clients are a few scrapers, so 64 connections are enough. */
const limits = { ...httpLimits, connectionsMax: 64 };

export async function listenForScrapes(where: string, metrics: MetricSet): Promise<Listening> {
  const [, host = "", port = ""] = /^\[?([^\]]+?)\]?:([0-9]{1,5})$/.exec(where) ?? [];
  if (host === "" || Number(port) > 65_535) {
    throw new UsageError(`${flag} must be ADDRESS:PORT, not ${where}`);
  }
  if (!(await isLoopback(host, flag))) {
    throw new UsageError(
      `${flag} ${where}: it must be on loopback, since it asks for no credentials`,
    );
  }
  return listen({ host, port: Number(port), limits }, scraped(metrics), silentLog);
}

function scraped(metrics: MetricSet): PlainHandler {
  return async ({ method, path }) => {
    const headers = { "content-type": "text/plain; charset=utf-8" };
    const answer = (status: number, text: string) =>
      ({ kind: "bytes", status, headers, body: [new TextEncoder().encode(text)] }) as const;
    if (path !== "/metrics") return answer(404, "there is /metrics only\n");
    if (method !== "GET" && method !== "HEAD") return answer(405, "GET only\n");
    const body = await metricsPage(metrics, () => setImmediate());
    return { kind: "bytes", status: 200, headers: { "content-type": pageType }, body };
  };
}
