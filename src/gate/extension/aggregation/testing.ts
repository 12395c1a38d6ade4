/** Objects and a transport for tests of the aggregator: answers by path, on no network. */
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import {
  type ByteRequest,
  type ByteResponse,
  ByteTransportError,
  type Host,
  type HostsTransport,
} from "#platform/byte-transport.ts";

interface FakeAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface FakeTransport extends HostsTransport {
  readonly sent: { readonly host: Host; readonly request: ByteRequest }[];
  /** Returns an answer, "refused", or "silent", which lasts until the request ends. */
  answer: (path: string) => FakeAnswer | "refused" | "silent";
}

export function fakeTransport(): FakeTransport {
  const transport: FakeTransport = {
    sent: [],
    answer: () => ({ status: 200 }),
    resolve: (name) => Promise.resolve([name]),
    close() {},
    async send(host, request) {
      transport.sent.push({ host, request });
      const answer = transport.answer(request.target);
      if (answer === "refused") throw new ByteTransportError("refused", "ECONNREFUSED");
      if (answer === "silent") return await untilAborted(request.signal);
      return response(answer);
    },
  };
  return transport;
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = (): void => reject(new ByteTransportError("aborted", "ABORTED"));
    signal.addEventListener("abort", abort, { once: true });
  });
}

function response({ status, headers = {}, body = "" }: FakeAnswer): ByteResponse {
  const bytes = new TextEncoder().encode(body);
  return {
    status,
    headers,
    read: (limit) => Promise.resolve(bytes.length > limit ? "too-large" : bytes),
    stream: async (take) => {
      await take(bytes);
    },
  };
}

/** Makes a lister of objects by resource. */
export function listerOf(objects: Readonly<Record<string, readonly AnyObject[]>>): Lister {
  const of = (resource: string, namespace: string): readonly AnyObject[] =>
    (Object.hasOwn(objects, resource) ? (objects[resource] ?? []) : []).filter(
      ({ metadata }) => namespace === "" || metadata?.namespace === namespace,
    );
  return {
    get: ({ resource }, namespace, name) =>
      of(resource, namespace).find(({ metadata }) => metadata?.name === name),
    list: ({ resource }, namespace) => of(resource, namespace),
  };
}

export function service(spec: object = {}): AnyObject {
  const ports = [{ port: 443, name: "https" }];
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "api", namespace: "ns" },
    spec: { type: "ClusterIP", clusterIP: "10.96.7.7", ports, ...spec },
  } as AnyObject;
}

export function slice(more: object = {}, name = "api-1"): AnyObject {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: "ns", labels: { "kubernetes.io/service-name": "api" } },
    addressType: "IPv4",
    ports: [{ name: "https", port: 8443 }],
    endpoints: [{ addresses: ["10.3.0.1"], conditions: { ready: true } }],
    ...more,
  } as AnyObject;
}

export function apiService(spec: object = {}): AnyObject {
  return {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: "v1.some.example.com" },
    spec: {
      group: "some.example.com",
      version: "v1",
      groupPriorityMinimum: 1500,
      versionPriority: 15,
      insecureSkipTLSVerify: true,
      service: { namespace: "ns", name: "api", port: 443 },
      ...spec,
    },
  } as AnyObject;
}
