/** A load of config maps for the tests of sinks, and the state of the API that a consumer's must equal. */
import { setTimeout as sleep } from "node:timers/promises";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { until } from "./role-harness.ts";
import { type Entry, stateOf } from "./sink-consumers.ts";

export const namespace = "/api/v1/namespaces/default";
export const election = [
  "--leader-elect-lease-duration=3s",
  "--leader-elect-renew-deadline=2s",
  "--leader-elect-retry-period=1s",
];
const writersCount = 12;
const objectsPerWriter = 17;

/** Writes config maps until told to stop; a server that is away is waited for. */
export class Writers {
  writes = 0;
  #stopped = false;
  readonly #running: readonly Promise<void>[];

  constructor(kubeconfig: string) {
    this.#running = Array.from({ length: writersCount }, (_, at) => this.#write(kubeconfig, at));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  async #write(kubeconfig: string, writer: number): Promise<void> {
    let http = new KubeHttp(credentialsOf(kubeconfig));
    for (let turn = 0; !this.#stopped; turn++) {
      // Each writer has names of its own: no write meets another.
      const name = `c${writer}-${turn % objectsPerWriter}`;
      try {
        const isGone = turn % 7 === 3;
        const path = `${namespace}/configmaps/${name}`;
        if (isGone) await http.request("DELETE", path);
        else await this.#put(http, path, name, turn);
        this.writes++;
      } catch {
        http.close();
        await sleep(100);
        http = new KubeHttp(credentialsOf(kubeconfig));
      }
    }
    http.close();
  }

  async #put(http: KubeHttp, path: string, name: string, turn: number): Promise<void> {
    const metadata = { name, labels: { sink: "yes" } };
    const object = { metadata, data: { turn: String(turn), text: "x".repeat(300) } };
    const { status } = await http.request("PATCH", path, object, "application/merge-patch+json");
    if (status === 404) await http.request("POST", `${namespace}/configmaps`, object);
  }
}

async function stateOfApi(kubeconfig: string): Promise<ReadonlyMap<string, string>> {
  const http = new KubeHttp(credentialsOf(kubeconfig));
  const { body } = await http.request("GET", `${namespace}/configmaps?labelSelector=sink%3Dyes`);
  http.close();
  return new Map(
    (body["items"] ?? []).map(({ metadata }) => [
      `default/${String(metadata["name"])}`,
      String(metadata["resourceVersion"]),
    ]),
  );
}

export async function untilEqual(
  what: string,
  kubeconfig: string,
  read: () => Promise<readonly Entry[]>,
): Promise<readonly Entry[]> {
  const wanted = await stateOfApi(kubeconfig);
  return until(what, async () => {
    const entries = await read();
    const state = stateOf(entries);
    const isEqual = state.size === wanted.size && [...wanted].every(([k, v]) => state.get(k) === v);
    return isEqual ? entries : undefined;
  });
}
