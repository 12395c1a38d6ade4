/** Every namespace has a ConfigMap `kube-root-ca.crt`: the authority that pods check the API server by. */
import type { ConfigMap } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import type { Controller, ControllerDeps, QueueController } from "../framework/controller.ts";
import { jsonEqual } from "#api/json-value.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { ignoreLate, perNamespaceController } from "./per-namespace.ts";

export const rootCaPublisherRole: ControllerRole = {
  account: "root-ca-cert-publisher",
  rules: ["create,update | core | configmaps", "events"],
};

const mapName = "kube-root-ca.crt";
/** Upstream's annotation on the ConfigMap. */
const description =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

export class RootCaPublisher implements Controller {
  readonly name = "root-ca-certificate-publisher-controller";
  readonly #client: Client;
  readonly #configMaps: Informer<ConfigMap>;
  readonly #data: Readonly<Record<string, string>>;
  readonly #loop: QueueController;

  /** `rootCa` is PEM. */
  constructor(deps: ControllerDeps, { rootCa }: { readonly rootCa: string }) {
    this.#client = deps.client;
    this.#configMaps = deps.informers.informer<ConfigMap>(refs.configmaps);
    this.#data = { "ca.crt": rootCa };
    this.#loop = perNamespaceController(deps, {
      controllerName: this.name,
      objects: this.#configMaps,
      objectName: mapName,
      ensure: (namespace) => this.#ensureMap(namespace),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  async #ensureMap(namespace: string): Promise<void> {
    const data = this.#data;
    const current = this.#configMaps.get(namespace, mapName);
    if (current === undefined) return this.#createMap(namespace);
    if (jsonEqual(current.data, data)) return;
    await this.#client.update(refs.configmaps, namespace, { ...current, data });
  }

  async #createMap(namespace: string): Promise<void> {
    const annotations = { "kubernetes.io/description": description };
    const metadata = { name: mapName, namespace, annotations };
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata, data: this.#data };
    await this.#client.create(refs.configmaps, namespace, map).catch(ignoreLate);
  }
}
