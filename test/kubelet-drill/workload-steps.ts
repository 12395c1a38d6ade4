/** Workloads, DNS and Services on real nodes. */
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Cluster } from "./cluster.ts";
import { rollout } from "./join.ts";
import { places } from "./network.ts";
import {
  daemonSet,
  indexedJob,
  list,
  namespace,
  staticVolumes,
  statefulSet,
  talkingPod,
  webDeployment,
  webService,
} from "./objects.ts";
import { expect, must, until } from "./shell.ts";
import { Skipped, type Step } from "./table.ts";

const claimsMs = 15_000;

export function workloadSteps(cluster: Cluster): readonly Step[] {
  return [
    { name: "Deployment: 4 pods, then a new version", run: () => deploy(cluster) },
    { name: "StatefulSet", run: () => orderedPods(cluster, false) },
    { name: "StatefulSet with claims", run: () => claim(cluster) },
    { name: "Job, indexed", run: () => job(cluster) },
    { name: "DaemonSet", run: () => everywhere(cluster) },
    { name: "Secret, token and log of a pod", run: () => talk(cluster) },
    { name: "DNS", run: () => resolveNames(cluster) },
    { name: "Service from a pod", run: () => callService(cluster) },
    { name: "NodePort on both nodes", run: () => callNodePort(cluster) },
  ];
}

async function deploy(cluster: Cluster): Promise<string> {
  await cluster.kubectl("create", "namespace", namespace);
  await cluster.apply(list(webDeployment(4, "1"), webService()));
  await rollout(cluster, namespace, "deployment/web");
  await cluster.apply(webDeployment(4, "2"));
  await rollout(cluster, namespace, "deployment/web");
  const pods = await podsOf(cluster, "web");
  const nodes = new Set(pods.map((pod) => pod.node));
  expect(nodes.size === places.length, `pods are on ${[...nodes].join(", ")} only`);
  return `rolled out twice, pods on ${nodes.size} nodes`;
}

interface PodObject {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly restartCount: number }[];
  };
}

interface PodSeen {
  readonly name: string;
  readonly node: string;
  readonly address: string;
  readonly isReady: boolean;
  readonly isLeaving: boolean;
  readonly restarts: number;
}

export async function podsOf(cluster: Cluster, app: string): Promise<readonly PodSeen[]> {
  const asked = [
    "get",
    "pods",
    "-n",
    namespace,
    "-o",
    "json",
    ...(app === "" ? [] : ["-l", `app=${app}`]),
  ];
  const { items } = JSON.parse(await cluster.kubectl(...asked));
  return (items as readonly PodObject[]).map(({ metadata, spec, status }) => ({
    name: metadata.name,
    node: spec.nodeName ?? "",
    address: status.podIP ?? "",
    isReady:
      status.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false,
    isLeaving: metadata.deletionTimestamp !== undefined,
    restarts: status.containerStatuses?.[0]?.restartCount ?? 0,
  }));
}

async function orderedPods(cluster: Cluster, claims: boolean): Promise<string> {
  await cluster.apply(statefulSet(claims));
  await rollout(cluster, namespace, "statefulset/ordered");
  const names = (await podsOf(cluster, "ordered")).map((pod) => pod.name).sort();
  expect(names.join() === "ordered-0,ordered-1", `pods ${names.join()}`);
  return names.join(", ");
}

async function claim(cluster: Cluster): Promise<string> {
  const folder = join(cluster.folder, "volumes");
  mkdirSync(folder);
  await cluster.apply(staticVolumes(folder, ["a", "b", "c"]));
  const bound = until("bound", claimsMs, async () => {
    const asked = ["get", "pvc", "probe", "-n", namespace, "-o", "jsonpath={.status.phase}"];
    return (await cluster.kubectl(...asked)) === "Bound" ? true : undefined;
  });
  if (!(await bound.catch(() => false))) {
    await cluster.kubectl("delete", "pvc", "probe", "-n", namespace, "--wait=false");
    throw new Skipped("no controller of this plane binds a PersistentVolumeClaim yet");
  }
  await cluster.kubectl("delete", "statefulset", "ordered", "-n", namespace);
  await orderedPods(cluster, true);
  const read = async (): Promise<string> => {
    const cat = ["exec", "-n", namespace, "ordered-0", "--", "cat", "/data/starts"];
    return (await cluster.kubectl(...cat)).trim();
  };
  expect((await read()) === "ordered-0", "the volume is not empty at first");
  const before = (await podsOf(cluster, "ordered")).map((pod) => pod.name).length;
  await cluster.kubectl("delete", "pod", "ordered-0", "-n", namespace);
  await rollout(cluster, namespace, "statefulset/ordered");
  expect((await read()) === "ordered-0\nordered-0", "the volume did not come back with the pod");
  return `${before} claims bound; a deleted pod found its data again`;
}

async function job(cluster: Cluster): Promise<string> {
  await cluster.apply(indexedJob());
  const wait = ["wait", "--for=condition=Complete", "job/index", "--timeout=120s"];
  await cluster.kubectl("-n", namespace, ...wait);
  const logs = ["logs", "-n", namespace, "-l", "job-name=index", "--prefix=false"];
  const lines = (await cluster.kubectl(...logs)).trim().split("\n").sort();
  expect(lines.join() === "index 0,index 1,index 2", `logs ${lines.join()}`);
  return "3 of 3 indexes, each once";
}

async function everywhere(cluster: Cluster): Promise<string> {
  await cluster.apply(daemonSet());
  await rollout(cluster, namespace, "daemonset/everywhere");
  const nodes = new Set((await podsOf(cluster, "everywhere")).map((pod) => pod.node));
  expect(nodes.size === places.length, `pods on ${nodes.size} nodes`);
  return `a pod on each of ${nodes.size} nodes`;
}

async function talk(cluster: Cluster): Promise<string> {
  await cluster.apply(talkingPod());
  const wait = ["wait", "--for=condition=Ready", "pod/talk", "--timeout=60s"];
  await cluster.kubectl("-n", namespace, ...wait);
  const read = "cat /secret/word; echo; ls /var/run/secrets/kubernetes.io/serviceaccount";
  const said = await cluster.kubectl("exec", "-n", namespace, "talk", "--", "sh", "-c", read);
  const words = said.trim().split("\n").join(" ");
  expect(words === "hidden ca.crt namespace token", `mounted: ${words}`);
  return "mounted: a Secret, and token, ca.crt, namespace";
}

function fromPod(cluster: Cluster, ...command: readonly string[]): Promise<string> {
  return cluster.kubectl("exec", "-n", namespace, "talk", "--", ...command);
}

async function resolveNames(cluster: Cluster): Promise<string> {
  const [first] = (await podsOf(cluster, "ordered")).filter((pod) => pod.name === "ordered-0");
  const names = {
    "kubernetes.default.svc.cluster.local": "10.96.0.1",
    [`ordered-0.ordered.${namespace}.svc.cluster.local`]: first?.address ?? "?",
  };
  for (const [name, address] of Object.entries(names)) {
    const said = await fromPod(cluster, "nslookup", name);
    expect(said.includes(address), `${name} is not ${address}: ${said}`);
  }
  return `${Object.keys(names).length} names: a Service's, a StatefulSet's pod's`;
}

const callsMax = 40;

/**
 * The host's curl in the network of the pod: a static busybox has no wget that works, since its C library
 * resolves names by modules that are not in the image.
 */
async function callService(cluster: Cluster): Promise<string> {
  const asked = ["get", "service", "web", "-n", namespace, "-o", "jsonpath={.spec.clusterIP}"];
  const address = await cluster.kubectl(...asked);
  const call = ["-t", processOf("talk"), "-n", "curl", "-sS", "-m", "5", `http://${address}/`];
  const pods = new Set<string>();
  for (let at = 0; at < callsMax; at++) pods.add((await must("nsenter", call)).trim());
  for (const said of pods) expect(said.startsWith("web-"), `${address} answered ${said}`);
  expect(pods.size > 1, "one pod answered everything");
  return `${callsMax} calls of ${address}, answered by ${pods.size} pods`;
}

/** The process ID of a pod's container: kubelets give each the pod's name as HOSTNAME. */
function processOf(pod: string): string {
  const found = readdirSync("/proc").find((id) => /^\d+$/.test(id) && hostnameOf(id) === pod);
  expect(found !== undefined, `no process of pod ${pod}`);
  return found ?? "";
}

function hostnameOf(id: string): string | undefined {
  try {
    return /(?:^|\0)HOSTNAME=([^\0]*)/.exec(readFileSync(`/proc/${id}/environ`, "utf8"))?.[1];
  } catch {
    return undefined; // it ended meanwhile
  }
}

async function callNodePort(cluster: Cluster): Promise<string> {
  const asked = ["get", "service", "web", "-n", namespace];
  const port = await cluster.kubectl(...asked, "-o", "jsonpath={.spec.ports[0].nodePort}");
  for (const { address } of places) {
    const said = await must("curl", ["-sS", "-m", "10", `http://${address}:${port}/`]);
    expect(said.startsWith("web-"), `${address}:${port} answered ${said}`);
  }
  return `port ${port}`;
}
