/** Objects of the Gateway API for tests, and the resources made of them. */
import type { AnyObject } from "#api/object.ts";
import type { Service } from "#api/gen/types.ts";
import type { GatewayKind } from "../gateway/gateway-mapping.ts";
import { ResourceMaker } from "../resource-maker.ts";
import { digestOf, tableLimits } from "./test-stream.ts";

export class GatewayWorld {
  readonly maker = new ResourceMaker(digestOf, tableLimits);

  /** Sets a Service with ports 80 and 81. */
  service(namespace: string, name: string): void {
    const service: Service = {
      metadata: { namespace, name },
      spec: { ports: [{ port: 80 }, { name: "other", port: 81 }] },
    };
    this.maker.service(`${namespace}/${name}`, service);
  }

  put(kind: GatewayKind, where: string, spec: object, created = ""): void {
    const [namespace = "", name = ""] = where.split("/");
    const metadata = { namespace, name, creationTimestamp: created };
    const object: AnyObject = { apiVersion: "v1", kind, metadata, spec } as AnyObject;
    this.maker.gatewayObject(kind, where, object);
  }

  namespace(name: string, labels: Readonly<Record<string, string>>): void {
    const object: AnyObject = { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
    this.maker.gatewayObject("Namespace", `/${name}`, object);
  }

  delete(kind: GatewayKind, where: string): void {
    this.maker.gatewayObject(kind, where, undefined);
  }
}

/** A listener for HTTP at port 80. */
export function listener(name: string, more: object = {}): object {
  return { name, port: 80, protocol: "HTTP", ...more };
}

export function backend(name: string, more: object = {}): object {
  return { name, port: 80, ...more };
}
