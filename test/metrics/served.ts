/** What our roles serve at /metrics, read from their ports after a little work: families, help texts and samples. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startControlPlane } from "#cmd/embed.ts";
import { EtcdClient } from "#etcd/client.ts";
import { startOurs } from "#etcd/testing/servers.ts";
import { putRequest, putResponse } from "#wire/etcd-messages.ts";
import { credentialsOf, KubeHttp } from "../process/kube-http.ts";

export interface Family {
  readonly type: string;
  readonly help: string;
  /** Label values by name, of each sample. */
  readonly samples: readonly Readonly<Record<string, string>>[];
}

export type Page = ReadonlyMap<string, Family>;

const suffixes = /_(bucket|sum|count)$/;

/** By the name of the family: a histogram's buckets, sums and counts are its samples. */
export function readPage(text: string): Page {
  const families = new Map<string, Family & { samples: Record<string, string>[] }>();
  for (const line of text.split("\n")) {
    const [, what = "", name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (name !== "") {
      const known = families.get(name) ?? { type: "", help: "", samples: [] };
      families.set(name, what === "HELP" ? { ...known, help: rest } : { ...known, type: rest });
      continue;
    }
    const [, sample = "", labels = ""] = /^([a-zA-Z_:]+)(?:\{(.*)\})? /.exec(line) ?? [];
    const family = families.get(sample) ?? families.get(sample.replace(suffixes, ""));
    const pairs = [...labels.matchAll(/([a-zA-Z_]+)="((?:[^"\\]|\\.)*)"/g)];
    family?.samples.push(Object.fromEntries(pairs.map(([, key = "", value = ""]) => [key, value])));
  }
  return families;
}

const services = "/api/v1/namespaces/default/services";

function service(clusterIP: string): object {
  const metadata = { generateName: "a" };
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: { clusterIP, ports: [{ port: 80 }] },
  };
}

/** Of a control plane in one process: API server, scheduler and controllers; `slis`: of its health checks. */
export async function planePages(): Promise<{ readonly metrics: string; readonly slis: string }> {
  const folder = mkdtempSync(join(tmpdir(), "pilothouse-metrics-"));
  const plane = await startControlPlane({ nodes: 1, logLevel: "silent" });
  writeFileSync(join(folder, "kubeconfig"), plane.kubeconfig);
  const http = new KubeHttp(credentialsOf(join(folder, "kubeconfig")));
  try {
    const configMaps = "/api/v1/namespaces/default/configmaps";
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
    await http.request("POST", configMaps, body);
    await http.request("GET", configMaps);
    await http.request("GET", "/readyz");
    await http.request("GET", "/api/v1/endpoints");
    for (const clusterIP of ["", "192.0.2.1"])
      await http.request("POST", services, service(clusterIP));
    const page = async (path: string): Promise<string> =>
      String((await http.request("GET", path)).body["text"]);
    return { metrics: await page("/metrics"), slis: await page("/metrics/slis") };
  } finally {
    http.close();
    await plane.stop();
    rmSync(folder, { recursive: true });
  }
}

/** Of `pilothouse store`, which speaks etcd's API. */
export async function storePage(): Promise<string> {
  const server = await startOurs("memory");
  const client = new EtcdClient(server.url);
  try {
    await client.call("/etcdserverpb.KV/Put", putRequest, putResponse, { key: "a" });
    return await (await fetch(`${server.url}/metrics`)).text();
  } finally {
    client.close();
    await server.close();
  }
}
