/**
 * A web service that answers from a cache: `GET /services/NAMESPACE/NAME` gives the ready addresses behind a Service.
 * No request of its users reaches the API server. Run: `KUBECONFIG=... node web-service.ts`; it prints its address.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "pilothouse/client";
import type { EndpointSlice } from "pilothouse/client/types";

const api = await connect({ name: "web-service" });
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());

const ref = { group: "discovery.k8s.io", version: "v1", resource: "endpointslices" };
const slices = api.informers.informer<EndpointSlice>(ref);
slices.addIndex("service", ({ metadata }) => {
  const service = metadata?.labels?.["kubernetes.io/service-name"];
  return service === undefined ? [] : [`${metadata?.namespace}/${service}`];
});

function addressesOf(service: string): readonly string[] {
  return slices
    .byIndex("service", service)
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false)
    .flatMap(({ addresses }) => addresses ?? []);
}

const server = createServer((request, response) => {
  const [, service] = /^\/services\/([^/]+\/[^/]+)$/.exec(request.url ?? "") ?? [];
  if (request.url === "/readyz") response.writeHead(slices.hasSynced ? 200 : 503).end();
  else if (service === undefined) response.writeHead(404).end();
  else
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify(addressesOf(service)));
});

const running = api.informers.run(stop.signal);
await api.informers.synced(stop.signal);
await once(server.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1"), "listening");
console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);

await running;
server.close();
api.close();
