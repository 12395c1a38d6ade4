/**
 * The answers of the client port to plain HTTP, as etcd's: /version, /health, /livez, /readyz and
 * /metrics, for probes, load balancers and scrapers. Pure: takes a request line, returns an answer.
 *
 * Left out on purpose: the JSON gateway (/v3/...) and headers that give any web page access (CORS).
 */
import { ownEntry } from "#base/own.ts";
import { Buffer } from "node:buffer";
import { AlarmType } from "#wire/etcd-messages.ts";
import { alarmName, type Alarms } from "./alarms.ts";
import { etcdVersion, storageVersion } from "./maintenance.ts";
import { metricsPages, type MetricsDeps } from "./metrics.ts";

interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export type HttpEndpoint = (method: string, target: string) => HttpAnswer;

type HttpEndpointDeps = MetricsDeps;

export function etcdHttpFrontend(deps: HttpEndpointDeps, quotaBytes: number): HttpEndpoint {
  const metrics = metricsPages(deps, quotaBytes);
  const routes: Readonly<Record<string, (query: URLSearchParams) => HttpAnswer>> = {
    "/version": () => json(200, versions()),
    "/health": (query) => health(deps, query),
    "/metrics": () => ok("text/plain; version=0.0.4; charset=utf-8", metrics()),
    ...checkRoutes("/livez", { serializable_read: readable }),
    ...checkRoutes("/readyz", {
      data_corruption: () => whole(deps.alarms),
      linearizable_read: () => deps.store.problem(),
      non_learner: () => undefined,
      serializable_read: readable,
    }),
  };
  return (method, target) => {
    const url = URL.parse(target, "http://etcd");
    const path = url?.pathname ?? "";
    const route = ownEntry(routes, path);
    if (url === null || route === undefined) return text(404, "404 page not found\n");
    if (method === "GET" || (method === "HEAD" && path === "/metrics")) {
      return route(url.searchParams);
    }
    const refused = text(405, "Method Not Allowed\n");
    return { ...refused, headers: { ...refused.headers, allow: "GET" } };
  };
}

function versions(): string {
  return JSON.stringify({
    etcdserver: etcdVersion,
    etcdcluster: storageVersion,
    storage: storageVersion,
  });
}

/** An alarm makes the server unhealthy unless the query excludes it; so does a state that is behind, in etcd's words. */
function health({ alarms, store }: HttpEndpointDeps, query: URLSearchParams): HttpAnswer {
  const excluded = query.getAll("exclude");
  const alarm = alarms.active.find((one) => !excluded.includes(alarmName(one.alarm)));
  const behind = query.get("serializable") === "true" ? undefined : store.problem();
  const range = behind === undefined ? "" : `RANGE ERROR:${behind}`;
  const reason = alarm === undefined ? range : `ALARM ${alarmName(alarm.alarm)}`;
  const body = JSON.stringify({ health: String(reason === ""), reason });
  return reason === "" ? ok("text/plain; charset=utf-8", body) : text(503, `${body}\n`);
}

/** @returns the reason for failing; undefined: the check passes. */
type Check = () => string | undefined;

/** This thread answers reads from memory, so the fact that the check runs proves that reads work. */
function readable(): undefined {
  return undefined;
}

function whole(alarms: Alarms): string | undefined {
  return alarms.has(AlarmType.corrupt) ? "alarm activated: CORRUPT" : undefined;
}

/** The root path runs all checks except the excluded ones; a path below it runs one check. */
function checkRoutes(
  root: string,
  checks: Readonly<Record<string, Check>>,
): Record<string, (query: URLSearchParams) => HttpAnswer> {
  const routes: Record<string, (query: URLSearchParams) => HttpAnswer> = {
    [root]: (query) => {
      const excluded = query.getAll("exclude");
      return runChecks(
        Object.entries(checks).filter(([name]) => !excluded.includes(name)),
        query,
      );
    },
  };
  for (const check of Object.entries(checks)) {
    routes[`${root}/${check[0]}`] = (query) => runChecks([check], query);
  }
  return routes;
}

function runChecks(
  checks: readonly (readonly [string, Check])[],
  query: URLSearchParams,
): HttpAnswer {
  const results = checks.map(([name, check]) => ({ name, wrong: check() }));
  const lines = results
    .map(({ name, wrong }) =>
      wrong === undefined ? `[+]${name} ok\n` : `[-]${name} failed: ${wrong}\n`,
    )
    .join("");
  if (results.some(({ wrong }) => wrong !== undefined)) return text(503, `${lines}\n`);
  return text(200, `${query.has("verbose") ? lines : ""}ok\n`);
}

function json(status: number, body: string): HttpAnswer {
  return { status, headers: { "content-type": "application/json" }, body: Buffer.from(body) };
}

function ok(type: string, body: string): HttpAnswer {
  return { status: 200, headers: { "content-type": type }, body: Buffer.from(body) };
}

function text(status: number, body: string): HttpAnswer {
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
  };
  return { status, headers, body: Buffer.from(body) };
}
