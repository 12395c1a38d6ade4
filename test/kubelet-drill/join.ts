/** From nothing to two Ready nodes: a bootstrap token, certificate requests, DNS. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Cluster } from "./cluster.ts";
import type { Needs } from "./needs.ts";
import { places } from "./network.ts";
import { startNode } from "./node.ts";
import { dnsObjects, joinObjects } from "./objects.ts";
import { buildKubernetes } from "./programs.ts";
import { must, until } from "./shell.ts";
import type { Step } from "./table.ts";

export type Signer = "auto" | "plane" | "stock";

/** The plane signs within seconds, or not at all. */
const planeSignsMs = 15_000;
const readyMsMax = 120_000;

interface JoinOptions {
  readonly signer: Signer;
  readonly rig: string;
  readonly images: string;
  readonly needs: Needs;
}

export function joinSteps(cluster: Cluster, options: JoinOptions): readonly Step[] {
  return [
    {
      name: "plane without nodes",
      isNeeded: true,
      async run() {
        await cluster.startPlane();
        return "listens on the bridge";
      },
    },
    {
      name: "two nodes join by bootstrap token",
      isNeeded: true,
      run: () => joinNodes(cluster, options),
    },
    {
      name: "serving certificates",
      isNeeded: true,
      run: () => serveWithCertificates(cluster),
    },
    {
      name: "plane restarts",
      isNeeded: true,
      async run() {
        await cluster.stopPlane();
        await cluster.startPlane("--kubelet-certificate-authority", cluster.authority);
        await bothReady(cluster);
        return "nodes Ready again; their certificates are checked from here on";
      },
    },
    {
      name: "CoreDNS",
      isNeeded: true,
      async run() {
        await cluster.apply(dnsObjects());
        return rollout(cluster, "kube-system", "deployment/coredns");
      },
    },
  ];
}

export async function rollout(
  cluster: Cluster,
  namespace: string,
  workload: string,
): Promise<string> {
  const wait = ["rollout", "status", workload, "--timeout=120s"];
  const said = await cluster.kubectl("-n", namespace, ...wait);
  return said.trim().split("\n").at(-1) ?? "";
}

async function joinNodes(cluster: Cluster, options: JoinOptions): Promise<string> {
  const token = { id: randomBytes(3).toString("hex"), secret: randomBytes(8).toString("hex") };
  await cluster.apply(joinObjects(token));
  const create = ["create", "token", "kube-proxy", "-n", "kube-system", "--duration=24h"];
  const proxyToken = (await cluster.kubectl(...create)).trim();
  for (const place of places) {
    const setting = {
      place,
      folder: join(cluster.folder, place.name),
      server: cluster.server,
      authority: cluster.authority,
      bootstrapToken: `${token.id}.${token.secret}`,
      proxyToken,
      pluginFolder: options.needs.pluginFolder,
      runc: options.needs.runc,
    };
    cluster.nodes.push(startNode(setting, cluster.bin, options.images));
  }
  await until("two certificate requests", readyMsMax, async () =>
    (await requests(cluster, "kube-apiserver-client-kubelet")).length >= 2 ? true : undefined,
  );
  const signed = await sign(cluster, options);
  const versions = await bothReady(cluster);
  return `${signed}; kubelet ${versions}`;
}

interface SigningRequest {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly signerName: string };
  readonly status?: { readonly certificate?: string };
}

async function requests(cluster: Cluster, signer: string): Promise<readonly SigningRequest[]> {
  const { items } = JSON.parse(await cluster.kubectl("get", "csr", "-o", "json"));
  return (items as SigningRequest[]).filter(
    ({ spec }) => spec.signerName === `kubernetes.io/${signer}`,
  );
}

/** With "auto" the plane's own controllers have a while before the stock ones are started. */
async function sign(cluster: Cluster, { signer, rig }: JoinOptions): Promise<string> {
  if (signer !== "stock" && (await signsItself(cluster))) return "the plane approved and signed";
  if (signer === "plane") throw new Error("the plane did not sign the nodes' certificates");
  const program = join(rig, "bin", "kube-controller-manager");
  if (!existsSync(program)) await buildKubernetes(rig, "kube-controller-manager");
  const of = "certificatesigningrequest";
  const pki = join(cluster.folder, "plane", "pki");
  cluster.startBeside(program, [
    `--kubeconfig=${cluster.kubeconfig}`,
    "--leader-elect=false",
    "--secure-port=0",
    `--controllers=${of}-approving-controller,${of}-signing-controller`,
    `--cluster-signing-cert-file=${join(pki, "ca.crt")}`,
    `--cluster-signing-key-file=${join(pki, "ca.key")}`,
  ]);
  return "the stock controller manager approved and signed";
}

async function signsItself(cluster: Cluster): Promise<boolean> {
  const signed = until("signed by the plane", planeSignsMs, async () => {
    const all = await requests(cluster, "kube-apiserver-client-kubelet");
    return all.some(({ status }) => status?.certificate !== undefined) ? true : undefined;
  });
  return signed.catch(() => false);
}

export async function readyNodes(cluster: Cluster): Promise<readonly string[]> {
  const path = `{range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status}={.status.nodeInfo.kubeletVersion}{"\\n"}{end}`;
  const { stdout } = await cluster.tryKubectl(["get", "nodes", "-o", `jsonpath=${path}`]);
  return stdout.split("\n").filter((line) => line.includes("=True="));
}

/** @returns the kubelets' versions. */
async function bothReady(cluster: Cluster): Promise<string> {
  const ready = await until("two Ready nodes", readyMsMax, async () => {
    const names = await readyNodes(cluster);
    return names.length === places.length ? names : undefined;
  });
  return [...new Set(ready.map((line) => line.split("=").at(-1)))].join(", ");
}

/** Nobody approves these by himself, upstream neither: it is the operator's word. */
async function serveWithCertificates(cluster: Cluster): Promise<string> {
  const serving = await until("two requests for serving", readyMsMax, async () => {
    const all = await requests(cluster, "kubelet-serving");
    const nodes = all.map(({ metadata }) => metadata.name);
    return nodes.length >= 2 ? nodes : undefined;
  });
  await cluster.kubectl("certificate", "approve", ...serving);
  for (const { address } of places) {
    await until(`a certificate of the cluster's authority at ${address}`, readyMsMax, async () => {
      const url = `https://${address}:10250/healthz`;
      const asked = ["--cacert", cluster.authority, "-sS", "-o", "/dev/null", url];
      return must("curl", asked).then(
        () => true,
        () => undefined,
      );
    });
  }
  return "approved by hand, signed, in use";
}
