/** Every namespace has a ServiceAccount `default`: pods are not admitted before it exists. */
import type { ServiceAccount } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import type { Controller, ControllerDeps, QueueController } from "../framework/controller.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { ignoreLate, perNamespaceController } from "./per-namespace.ts";

export const serviceAccountRole: ControllerRole = {
  account: "service-account-controller",
  rules: ["create | core | serviceaccounts", "events"],
};

const accountName = "default";

export class ServiceAccountController implements Controller {
  readonly name = "serviceaccount-controller";
  readonly #client: Client;
  readonly #accounts: Informer<ServiceAccount>;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps) {
    this.#client = deps.client;
    this.#accounts = deps.informers.informer<ServiceAccount>(refs.serviceaccounts);
    this.#loop = perNamespaceController(deps, {
      controllerName: this.name,
      objects: this.#accounts,
      objectName: accountName,
      ensure: (namespace) => this.#ensureAccount(namespace),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  async #ensureAccount(namespace: string): Promise<void> {
    if (this.#accounts.get(namespace, accountName) !== undefined) return;
    const metadata = { name: accountName, namespace };
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata };
    await this.#client.create(refs.serviceaccounts, namespace, account).catch(ignoreLate);
  }
}
