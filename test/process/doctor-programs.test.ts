/** The doctor before stock programs: one that its own limit of requests holds up, one with a slow extender. */
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import https from "node:https";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type LiveFault, type LiveWorld, type Made, times } from "./doctor-faults.ts";
import { checkGroup, type OpenWorld, openWorld } from "./doctor-live.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { findPeer, noPeer } from "./peers.ts";
import { type RunningRole, startProgram, startRole, until } from "./role-harness.ts";
import { freePort } from "./stock-apiserver.ts";

const manager = findPeer("kube-controller-manager");
const noManager = manager === undefined ? noPeer("kube-controller-manager") : false;
const scheduler = findPeer("kube-scheduler");
const noScheduler = scheduler === undefined ? noPeer("kube-scheduler") : false;

/** Passes on what a program shows behind a certificate of its own: the doctor is given no certificate. */
class Metrics {
  from = "";
  url = "";
  readonly #server: Server;

  constructor() {
    this.#server = createServer((_request, response) => {
      void this.read().then((text) => response.end(text));
    });
  }

  async listen(): Promise<void> {
    const port = await freePort();
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${port}`;
  }

  /** "": it does not answer. */
  read(): Promise<string> {
    return new Promise((resolve) => {
      const request = https.get(this.from, { rejectUnauthorized: false }, (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("end", () => resolve(response.statusCode === 200 ? text : ""));
      });
      request.on("error", () => resolve(""));
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

void describe("faults of stock programs", { timeout: 120_000 }, () => {
  const directory = temporaryDirectory("doctor-programs");
  const data = join(directory, "data");
  const metrics = new Metrics();
  let server: RunningRole;
  let world: OpenWorld;
  before(async () => {
    server = await startRole(["apiserver", "--data-dir", data, "--secure-port", "0"]);
    world = await openWorld(join(data, "kubeconfig"));
    await metrics.listen();
  });
  after(async () => {
    metrics.close();
    await world.close();
    await server.stop();
    removeDirectory(directory);
  });

  test("client-throttled", { skip: noManager }, () => {
    const run = (world: LiveWorld, perSecond: number): Promise<Made> =>
      runManager(world, { data, directory, metrics, perSecond });
    const throttled: LiveFault = {
      rule: "client-throttled",
      culprit: /^controller-manager$/,
      // What waits for its turn is not done.
      also: ["stuck-loop"],
      fault: (world) => run(world, 5),
      neighbour: (world) => run(world, 1_000),
    };
    return checkGroup(world, [throttled], [`--controller-manager=${metrics.url}`]);
  });

  test("scheduler-slow, by an extender", { skip: noScheduler }, async () => {
    const hollow = ["hollow", "--kubeconfig", join(data, "kubeconfig"), "--nodes", "2"];
    const nodes = await startRole(hollow);
    const slow: LiveFault = {
      rule: "scheduler-slow",
      culprit: /^an extender of the scheduler/,
      also: ["scheduler-queue"],
      fault: (world) => runScheduler(world, { data, directory, metrics, extenderMs: 150 }),
      neighbour: (world) => runScheduler(world, { data, directory, metrics, extenderMs: 0 }),
    };
    const flags = [`--scheduler=${metrics.url}`, "--seconds", "6"];
    try {
      await checkGroup(world, [slow], flags);
    } finally {
      await nodes.stop();
    }
  });
});

interface Place {
  readonly data: string;
  readonly directory: string;
  readonly metrics: Metrics;
}

/** Each namespace is work for some of its controllers. */
async function runManager(
  { ask }: LiveWorld,
  place: Place & { readonly perSecond: number },
): Promise<Made> {
  const { data, directory, metrics, perSecond } = place;
  const port = await freePort();
  const own = join(directory, `manager-${perSecond}`);
  mkdirSync(own);
  const flags = [
    `--kubeconfig=${join(data, "controller-manager.conf")}`,
    "--leader-elect=false",
    `--kube-api-qps=${perSecond}`,
    `--kube-api-burst=${perSecond}`,
    `--secure-port=${port}`,
    "--bind-address=127.0.0.1",
    `--cert-dir=${own}`,
    "--authorization-always-allow-paths=/metrics,/healthz",
    `--root-ca-file=${join(data, "pki", "ca.crt")}`,
    `--service-account-private-key-file=${join(data, "pki", "sa.key")}`,
  ];
  const running = await startProgram(manager ?? "", flags, /Started controller|serviceaccount/);
  metrics.from = `https://127.0.0.1:${port}/metrics`;
  await until("metrics", async () => ((await metrics.read()) === "" ? undefined : true));
  const create = () => ask("POST", "/api/v1/namespaces", { metadata: { generateName: "live-" } });
  return { load: () => Promise.all(times(5, create)), end: () => running.stop() };
}

/** With an extender, which answers after `extenderMs`. */
async function runScheduler(
  { ask }: LiveWorld,
  { data, directory, metrics, extenderMs }: Place & { readonly extenderMs: number },
): Promise<Made> {
  const extender = await startExtender(extenderMs);
  const port = await freePort();
  const config = join(directory, `scheduler-${extenderMs}.yaml`);
  writeFileSync(config, schedulerConfig(join(data, "scheduler.conf"), extender.url));
  const flags = [
    `--config=${config}`,
    `--secure-port=${port}`,
    "--bind-address=127.0.0.1",
    "--authorization-always-allow-paths=/metrics,/healthz",
  ];
  const running = await startProgram(scheduler ?? "", flags, /Serving securely/);
  metrics.from = `https://127.0.0.1:${port}/metrics`;
  await until("metrics", async () => ((await metrics.read()) === "" ? undefined : true));
  // There is no controller manager that would take the taint of new nodes away.
  const spec = {
    containers: [{ name: "a", image: "a" }],
    tolerations: [{ operator: "Exists" }],
  };
  const create = () =>
    ask("POST", "/api/v1/namespaces/default/pods", { metadata: { generateName: "live-" }, spec });
  return {
    load: () => Promise.all(times(3, create)),
    end: async () => {
      await running.stop();
      extender.close();
    },
  };
}

const schedulerConfig = (kubeconfig: string, extender: string): string => `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: ${kubeconfig}}
leaderElection: {leaderElect: false}
extenders: [{urlPrefix: "${extender}", filterVerb: filter, nodeCacheCapable: true}]
`;

interface Extender {
  readonly url: string;
  close(): void;
}

/** Lets every node pass. */
async function startExtender(delayMs: number): Promise<Extender> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const { nodenames } = JSON.parse(body) as { readonly nodenames: readonly string[] };
      setTimeout(() => response.end(JSON.stringify({ nodenames })), delayMs);
    });
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
