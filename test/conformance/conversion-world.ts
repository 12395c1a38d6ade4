/** A definition with a conversion webhook: v1 has `hostPort`, v2 has `host` and `port`, as upstream's e2e tests have. */
import type { AnyObject } from "#api/object.ts";
import { openWebhookWorld, type WebhookWorld } from "./webhook-world.ts";

export const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const definitionName = "e2e-tests.stable.example.com";

export function collection(version: string): string {
  return `/apis/stable.example.com/${version}/namespaces/default/e2e-tests`;
}

const fields = {
  v1: { hostPort: { type: "string" } },
  v2: { host: { type: "string" }, port: { type: "string" } },
};

type Version = keyof typeof fields;

interface ConversionRequest {
  readonly desiredAPIVersion: string;
  readonly objects: readonly AnyObject[];
}

export interface ConversionWorld extends WebhookWorld {
  /** What the webhook was asked, in order. */
  readonly questions: () => readonly ConversionRequest[];
  /** Creates the definition, and waits until it is served. */
  define(storage?: Version, more?: object): Promise<void>;
  settled(is: (definition: AnyObject) => boolean): Promise<AnyObject>;
}

export async function openConversionWorld(): Promise<ConversionWorld> {
  const world = await openWebhookWorld();
  world.hooks.on("/convert", (request) => converted(request as unknown as ConversionRequest));
  const settled = async (is: (definition: AnyObject) => boolean): Promise<AnyObject> => {
    for (;;) {
      const { status, json } = await world.ask("GET", `${definitionsPath}/${definitionName}`);
      if (status === 200 && is(json as AnyObject)) return json as AnyObject;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return {
    ...world,
    questions: () => world.hooks.asked as unknown as readonly ConversionRequest[],
    settled,
    async define(storage = "v1", more = {}) {
      const url = world.hooks.url("/convert");
      const body = definition(storage, { url, caBundle: world.hooks.caBundle }, more);
      const answer = await world.ask("POST", definitionsPath, { body });
      if (answer.status !== 201) throw new Error(answer.text);
      await settled(isEstablished);
    },
  };
}

export function isEstablished({ status }: AnyObject): boolean {
  const { conditions = [] } = (status ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
  return (conditions ?? []).some(({ type, status: is }) => type === "Established" && is === "True");
}

export function definition(storage: Version, clientConfig: object, more: object = {}): AnyObject {
  const names = {
    plural: "e2e-tests",
    singular: "e2e-test",
    kind: "E2eTest",
    listKind: "E2eTestList",
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: definitionName },
    spec: {
      group: "stable.example.com",
      scope: "Namespaced",
      names,
      versions: versions(storage),
      conversion: {
        strategy: "Webhook",
        webhook: { clientConfig, conversionReviewVersions: ["v1", "v1beta1"], ...more },
      },
    },
  };
}

export function versions(storage: Version): readonly object[] {
  return (["v1", "v2"] as const).map((name) => ({
    name,
    served: true,
    storage: name === storage,
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: {
          ...fields[name],
          status: { type: "object", properties: { seen: { type: "integer" } } },
        },
      },
    },
    subresources: { status: {} },
  }));
}

export function custom(version: string, name: string, more: object = {}): AnyObject {
  const own = version === "v1" ? { hostPort: "local:80" } : { host: "local", port: "80" };
  const apiVersion = `stable.example.com/${version}`;
  return { apiVersion, kind: "E2eTest", metadata: { name }, ...own, ...more };
}

/** A webhook's answer to a request; `change` lays hands on each object. */
export function converted(
  { objects, desiredAPIVersion }: ConversionRequest,
  change: (object: AnyObject) => unknown = (object) => object,
): object {
  const convertedObjects = objects.map((object) => change(convertOne(object, desiredAPIVersion)));
  return { convertedObjects, result: { status: "Success" } };
}

function convertOne(object: AnyObject, apiVersion: string): AnyObject {
  if (apiVersion.endsWith("/v2")) {
    const { hostPort = "", ...rest } = object as AnyObject & { readonly hostPort?: string };
    const [host, port] = hostPort.split(":");
    return { ...rest, apiVersion, host, port };
  }
  const { host, port, ...rest } = object as AnyObject & { readonly [key: string]: unknown };
  return { ...rest, apiVersion, hostPort: `${String(host)}:${String(port)}` } as AnyObject;
}
