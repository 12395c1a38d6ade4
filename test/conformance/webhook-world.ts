/** A whole plane in this process, a webhook server beside it, and how tests put one before the other. */
import type { AnyObject } from "#api/object.ts";
import { openWebhookServer, type WebhookServer } from "#extension/testing/webhook-server.ts";
import type { PlaneOptions } from "#cmd/plane/options.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { type PromisedPlane, startPromised } from "../attacks/promised-plane.ts";

export interface WebhookWorld extends PromisedPlane {
  readonly hooks: WebhookServer;
  /** Creates a configuration of one webhook at `path`; it holds for the next request. */
  register(type: HookType, name: string, path: string, more?: object): Promise<void>;
  unregister(type: HookType, name: string): Promise<void>;
  create(path: string, body: object): ReturnType<PromisedPlane["ask"]>;
}

type HookType = "mutating" | "validating";

export const registration = "/apis/admissionregistration.k8s.io/v1";

export async function openWebhookWorld(wished: Partial<PlaneOptions> = {}): Promise<WebhookWorld> {
  const hooks = await openWebhookServer(new NodeClock().nowMs());
  const plane = await startPromised(wished);
  const world: WebhookWorld = {
    ...plane,
    hooks,
    async register(type, name, path, more = {}) {
      const clientConfig = { url: hooks.url(path), caBundle: hooks.caBundle };
      const body = configuration(type, name, { clientConfig, ...more });
      const answer = await plane.ask("POST", `${registration}/${pathOf(type)}`, { body });
      if (answer.status !== 201) throw new Error(answer.text);
    },
    async unregister(type, name) {
      await plane.ask("DELETE", `${registration}/${pathOf(type)}/${name}`);
    },
    create: (path, body) => plane.ask("POST", path, { body }),
    async stop() {
      await plane.stop();
      await hooks.close();
    },
  };
  return world;
}

export function pathOf(type: HookType): string {
  return `${type}webhookconfigurations`;
}

/** Of core resources, unless `webhook` says otherwise. */
export function configuration(type: HookType, name: string, webhook: object): AnyObject {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: type === "mutating" ? "MutatingWebhookConfiguration" : "ValidatingWebhookConfiguration",
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        rules: [rule(["configmaps"])],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        ...webhook,
      },
    ],
  };
}

export function rule(resources: readonly string[], more: object = {}): object {
  const core = { apiGroups: [""], apiVersions: ["v1"] };
  return { operations: ["CREATE", "UPDATE"], ...core, resources, ...more };
}

export function configMap(name: string, data: object = {}, metadata: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data };
}

export function pod(name: string, more: object = {}): object {
  const spec = { containers: [{ name: "c", image: "i" }], serviceAccountName: "default", ...more };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}
