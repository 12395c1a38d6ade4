/** Reasons and messages of the Available condition, one by one, and how a server is probed. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { OpenStreams } from "#apiserver/kubelet/open-streams.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import { must } from "#base/assert.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { remoteSpec } from "./api-service.ts";
import { checkRemote } from "./availability.ts";
import { aggregationLimits as limits } from "./limits.ts";
import { Remote } from "./remote.ts";
import { clusterIpResolver, endpointResolver } from "./service-resolver.ts";
import { apiService, fakeTransport, listerOf, service, slice } from "./testing.ts";

const at = "https://10.3.0.1:8443/apis/some.example.com/v1";

function world(lookup: Lister, object: AnyObject = apiService()) {
  const clock = new FakeClock();
  const transport = fakeTransport();
  const authorities: (string | undefined)[] = [];
  const deps = {
    clock,
    resolve: endpointResolver(lookup, new FakeRandom(1)),
    makeTransport: (ca: string | undefined) => {
      authorities.push(ca);
      return transport;
    },
    streams: new OpenStreams({ openMax: 10, openPerHostMax: 10 }),
  };
  const remote = new Remote(deps, must(remoteSpec(object), "it is remote"), true);
  const check = () => checkRemote({ lookup, limits }, remote, new AbortController().signal);
  return { clock, transport, authorities, check, remote };
}

const whole = listerOf({ services: [service()], endpointslices: [slice()] });

describe("the condition says", () => {
  const cases: readonly (readonly [string, Lister, string, string, string])[] = [
    ["no Service", listerOf({}), "False", "ServiceNotFound", 'service/api in "ns" is not present'],
    [
      "another port",
      listerOf({ services: [service({ ports: [{ port: 80 }] })] }),
      "False",
      "ServicePortError",
      'service/api in "ns" is not listening on port 443',
    ],
    [
      "no slices",
      listerOf({ services: [service()] }),
      "False",
      "EndpointsNotFound",
      'cannot find endpointslices for service/api in "ns"',
    ],
    [
      "no ready endpoint",
      listerOf({
        services: [service()],
        endpointslices: [
          slice({ endpoints: [{ addresses: ["10.3.0.1"], conditions: { ready: false } }] }),
        ],
      }),
      "False",
      "MissingEndpoints",
      'endpointslices for service/api in "ns" have no addresses with port name "https"',
    ],
    [
      "a port of another name",
      listerOf({
        services: [service()],
        endpointslices: [slice({ ports: [{ name: "http", port: 1 }] })],
      }),
      "False",
      "MissingEndpoints",
      'endpointslices for service/api in "ns" have no addresses with port name "https"',
    ],
    ["all well", whole, "True", "Passed", "all checks passed"],
  ];
  for (const [what, lookup, status, reason, message] of cases) {
    test(what, async () => {
      assert.deepEqual(await world(lookup).check(), { status, reason, message });
    });
  }

  test("that a cache could not be read", async () => {
    const broken = (resource: string): Lister => ({
      get: (asked, namespace, name) => {
        if (asked.resource === resource) throw new Error("not filled");
        return whole.get(asked, namespace, name);
      },
      list: (asked, namespace) => {
        if (asked.resource === resource) throw new Error("not filled");
        return whole.list(asked, namespace);
      },
    });
    const reasons = [
      ["services", "ServiceAccessError"],
      ["endpointslices", "EndpointsAccessError"],
    ] as const;
    for (const [resource, reason] of reasons) {
      const verdict = await world(broken(resource)).check();
      const message = 'service/api in "ns" cannot be checked due to: Error: not filled';
      assert.deepEqual(verdict, { status: "Unknown", reason, message });
    }
  });

  test("that nobody listens, that the answer is bad, and that none came in time", async () => {
    const { clock, transport, check } = world(whole);
    const failed = { status: "False", reason: "FailedDiscoveryCheck" };
    transport.answer = () => "refused";
    const refused = `failing or missing response from ${at}: Get "${at}": dial tcp 10.3.0.1:8443: connect: connection refused`;
    assert.deepEqual(await check(), { ...failed, message: refused });
    transport.answer = () => ({ status: 404 });
    const bad = `failing or missing response from ${at}: bad status from ${at}: 404`;
    assert.deepEqual(await check(), { ...failed, message: bad });
    transport.answer = () => "silent";
    const late = check();
    await clock.advance(5_000);
    const text = `failing or missing response from ${at}: Get "${at}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`;
    assert.deepEqual(await late, { ...failed, message: text });
  });
});

describe("a probe", () => {
  test("asks five times at once, as a master, and one good answer is enough", async () => {
    const { transport, check } = world(whole);
    let asked = 0;
    transport.answer = () => (++asked === 5 ? { status: 200 } : "refused");
    assert.equal((await check()).reason, "Passed");
    assert.equal(transport.sent.length, 5);
    const { request, host } = must(transport.sent[0], "it was asked");
    assert.equal(request.target, "/apis/some.example.com/v1");
    assert.equal(request.headers["x-remote-user"], "system:kube-aggregator");
    assert.deepEqual(request.headers["x-remote-group"], ["system:masters"]);
    assert.equal(host.name, "api.ns.svc");
    assert.equal(host.address, "10.3.0.1");
  });

  test("passes by its status, however long the document is; other documents have a bound", async () => {
    const { transport, check, remote } = world(whole);
    const body = "x".repeat(limits.probeBytesMax + 1);
    transport.answer = () => ({ status: 200, body });
    assert.equal((await check()).reason, "Passed");
    const { signal } = new AbortController();
    const user = { name: "u", groups: [] };
    const shared = { path: "/apis", user, headers: {}, timeoutMs: 1_000, signal };
    const bytesMax = body.length - 1;
    await assert.rejects(remote.fetch({ ...shared, bytesMax }), /has more than \d+ bytes/);
    assert.equal((await remote.fetch({ ...shared, bytesMax: body.length })).status, 200);
  });

  test("verifies by the caBundle, by the host's authorities without one, and not at all when told so", () => {
    const pem = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n";
    const caBundle = Buffer.from(pem).toString("base64");
    const bundled = { caBundle, insecureSkipTLSVerify: false };
    assert.deepEqual(world(whole, apiService(bundled)).authorities, [pem]);
    assert.deepEqual(world(whole).authorities, [undefined]);
    const [host] = world(whole, apiService({ insecureSkipTLSVerify: false })).authorities;
    assert.match(host ?? "", /BEGIN CERTIFICATE/);
  });

  test("a caBundle without a certificate is no connection, and is told", async () => {
    const caBundle = Buffer.from("nothing").toString("base64");
    const object = apiService({ caBundle, insecureSkipTLSVerify: false });
    const { message } = await world(whole, object).check();
    assert.match(message, /unable to load root certificates: unable to parse bytes as PEM block$/);
  });
});

describe("a Service", () => {
  const reference = { namespace: "ns", name: "api", port: 443 };
  const resolveAll = (objects: Parameters<typeof listerOf>[0]) => {
    const lookup = listerOf(objects);
    const attempt = (resolve: ReturnType<typeof clusterIpResolver>): string => {
      try {
        const { host, port } = resolve(reference);
        return `${host}:${port}`;
      } catch (error) {
        return (error as Error).message;
      }
    };
    return [
      attempt(clusterIpResolver(lookup)),
      attempt(endpointResolver(lookup, new FakeRandom(1))),
    ];
  };

  test("is reached at its cluster IP, or at a ready endpoint of its first family", () => {
    const six = slice({ addressType: "IPv6", endpoints: [{ addresses: ["fd00::1"] }] }, "api-0");
    const objects = {
      services: [service({ ipFamilies: ["IPv4"] })],
      endpointslices: [six, slice()],
    };
    assert.deepEqual(resolveAll(objects), ["10.96.7.7:443", "10.3.0.1:8443"]);
  });

  test("that leads nowhere says so in upstream's words", () => {
    const of = (spec: object) => resolveAll({ services: [service(spec)] });
    assert.deepEqual(resolveAll({}), ['services "api" not found', 'services "api" not found']);
    assert.deepEqual(of({ clusterIP: "None" }), [
      'cannot route to service with ClusterIP "None"',
      'no endpoints available for service "api"',
    ]);
    assert.deepEqual(of({ type: "ExternalName", externalName: "api.example.com" }), [
      "api.example.com:443",
      'unsupported service type "ExternalName"',
    ]);
    const ports = [{ port: 80 }];
    const missing = 'no service port 443 found for service "api"';
    assert.deepEqual(of({ ports }), [missing, missing]);
  });
});
