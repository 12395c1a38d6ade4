/** Upstream's conformance behaviours of the extensible API, through real kubectl; README.md has the table. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { deny, patch } from "#extension/testing/webhook-server.ts";
import { findKubectl, noKubectl } from "../process/harness.ts";
import { type ClientWorld, openClientWorld } from "./client-world.ts";
import { bindingOf, constraints, deployment, policy } from "./policy-world.ts";
import { configMap, configuration, pod, rule } from "./webhook-world.ts";

const columns = [
  { name: "Host", type: "string", jsonPath: ".spec.host" },
  { name: "Port", type: "integer", jsonPath: ".spec.port", priority: 1 },
];
const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      description: "Where it stands.",
      required: ["host"],
      properties: {
        host: { type: "string", description: "A name of DNS.", maxLength: 20 },
        port: { type: "integer", default: 80 },
      },
    },
  },
};
const places = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "places.clients.example.com" },
  spec: {
    group: "clients.example.com",
    scope: "Namespaced",
    names: { plural: "places", singular: "place", kind: "Place", shortNames: ["pl"] },
    versions: ["v1", "v2"].map((name) => ({
      name,
      served: true,
      storage: name === "v1",
      selectableFields: [{ jsonPath: ".spec.host" }],
      additionalPrinterColumns: columns,
      schema: { openAPIV3Schema: schema },
    })),
  },
};
const place = (name: string, spec: object): object => ({
  apiVersion: "clients.example.com/v1",
  kind: "Place",
  metadata: { name },
  spec,
});

describe("kubectl", { skip: findKubectl() === undefined ? noKubectl : false }, () => {
  let world: ClientWorld;
  before(async () => {
    world = await openClientWorld();
  });
  after(() => world.stop());

  async function says(args: string, expected: RegExp | string, input?: object): Promise<void> {
    const { code, out, err } = await world.kubectl(args, input);
    assert.equal(code, 0, `kubectl ${args}: ${err}`);
    if (typeof expected === "string") assert.equal(out, expected);
    else assert.match(out, expected);
  }

  async function fails(args: string, expected: RegExp, input?: object): Promise<void> {
    const { code, out, err } = await world.kubectl(args, input);
    assert.equal(code, 1, `kubectl ${args}: ${out}${err}`);
    assert.match(err, expected);
  }

  describe("CustomResourceDefinition", () => {
    test("creating/deleting custom resource definition objects works", async () => {
      const name = "customresourcedefinition.apiextensions.k8s.io/places.clients.example.com";
      await says("create -f -", `${name} created\n`, places);
      await says(`wait --for=condition=Established ${name}`, `${name} condition met\n`);
      await says(
        "apply -f -",
        "place.clients.example.com/near created\n",
        place("near", { host: "a" }),
      );
      await says(
        "apply -f -",
        "place.clients.example.com/near unchanged\n",
        place("near", { host: "a" }),
      );
    });

    test("should include custom resource definition resources in discovery documents", async () => {
      await says(
        "api-resources --api-group=clients.example.com --no-headers",
        /^places +pl +clients\.example\.com\/v2 +true +Place\n$/,
      );
      await says("api-versions", /^clients\.example\.com\/v1\nclients\.example\.com\/v2\n/m);
    });

    test("custom resource defaulting for requests and from storage works", async () => {
      await says("get place near -o jsonpath={.spec.port}", "80");
      await says(
        "get places.v2.clients.example.com near -o jsonpath={.apiVersion}",
        "clients.example.com/v2",
      );
    });

    test("printer columns: wide shows those of lower priority", async () => {
      await says("get pl", /^NAME +HOST\nnear +a\n$/);
      await says("get pl -o wide", /^NAME +HOST +PORT\nnear +a +80\n$/);
    });

    test("CustomResourceFieldSelectors MUST list and watch custom resources matching the field selector", async () => {
      await world.kubectl("apply -f -", place("far", { host: "b" }));
      await says("get pl --field-selector spec.host=b -o name", "place.clients.example.com/far\n");
      await says(
        "get pl --field-selector spec.host!=b -o name",
        "place.clients.example.com/near\n",
      );
      await fails("get pl --field-selector spec.port=80", /field label not supported: spec\.port/);
    });

    test("CustomResourcePublishOpenAPI works for CRD with validation schema", async () => {
      await says(
        "explain place.spec",
        /Where it stands\.[^]*host\t<string> -required-\n +A name of DNS\./,
      );
      await says(
        "explain place.spec.port --api-version=clients.example.com/v2",
        /FIELD: port <integer>/,
      );
      await fails("explain place.spec.nope", /field "nope" does not exist/);
    });
  });

  describe("FieldValidation", () => {
    const strict = "apply --validate=strict -f -";

    test("should create/apply an invalid CR with extra properties for CRD with validation schema", async () => {
      await fails(
        strict,
        /strict decoding error: unknown field "spec\.nope"/,
        place("bad", { host: "a", nope: 1 }),
      );
      await fails(
        "apply --validate=ignore -f -",
        /spec\.host: Required value/,
        place("bad", { port: 1 }),
      );
      await fails(
        strict,
        /spec\.host: Too long: may not be more than 20 bytes/,
        place("bad", { host: "a".repeat(21) }),
      );
    });

    test("should detect unknown metadata fields of a typed object", async () => {
      const map = configMap("typed", {}, { nope: "x" });
      await fails(strict, /strict decoding error: unknown field "metadata\.nope"/, map);
    });

    test("with warnings the object is made without the unknown field", async () => {
      const object = place("warned", { host: "a", nope: 1 });
      const { code, err } = await world.kubectl("apply --validate=warn -f -", object);
      assert.equal(code, 0, err);
      assert.match(err, /^Warning: unknown field "spec\.nope"\n/);
    });
  });

  describe("ValidatingAdmissionPolicy", () => {
    test("should validate against a Deployment", async () => {
      const validations = [
        {
          expression: "object.spec.replicas > 1",
          messageExpression: "'wants 2, has ' + string(object.spec.replicas)",
        },
      ];
      const matchConstraints = constraints(["deployments"], "apps");
      await world.kubectl(
        "apply -f -",
        policy("validating", "two", { matchConstraints, validations }),
      );
      await world.kubectl("apply -f -", bindingOf("validating", "two", {}));
      await fails(
        "apply -f -",
        /The deployments "small" is invalid: : ValidatingAdmissionPolicy 'two' with binding 'two' denied request: wants 2, has 1\n$/,
        deployment("small", 1),
      );
      await says("apply -f -", "deployment.apps/large created\n", deployment("large", 2));
      await world.kubectl("delete validatingadmissionpolicy,validatingadmissionpolicybinding two");
    });
  });

  describe("MutatingAdmissionPolicy", () => {
    test("should be able to mutate a ConfigMap by JSONPatch", async () => {
      const expression = `[JSONPatch{op: "add", path: "/data/by", value: "policy"}]`;
      const mutations = [{ patchType: "JSONPatch", jsonPatch: { expression } }];
      await world.kubectl("apply -f -", policy("mutating", "by", { mutations }));
      await world.kubectl("apply -f -", bindingOf("mutating", "by", {}));
      await says("apply -f -", "configmap/changed created\n", configMap("changed", { a: "b" }));
      await says("get cm changed -o jsonpath={.data.by}", "policy");
      await world.kubectl("delete mutatingadmissionpolicy,mutatingadmissionpolicybinding by");
    });
  });

  describe("AdmissionWebhook", () => {
    const put = async (type: "mutating" | "validating", name: string, more: object = {}) => {
      const clientConfig = { url: world.hooks.url(`/${name}`), caBundle: world.hooks.caBundle };
      const hook = configuration(type, name, { clientConfig, ...more });
      await says(
        "apply -f -",
        new RegExp(`${type}webhookconfiguration\\.\\S+/${name} created`),
        hook,
      );
    };

    test("should be able to deny pod and configmap creation", async () => {
      world.hooks.on("/refuse", deny("the configmap contains unwanted key and value"));
      await put("validating", "refuse");
      const text =
        /admission webhook "refuse\.example\.com" denied the request: the configmap contains unwanted key and value/;
      await fails(
        "apply -f -",
        text,
        configMap("refused", { "webhook-e2e-test": "webhook-disallow" }),
      );
      await fails("apply --server-side --dry-run=server -f -", text, configMap("refused"));
      await says("delete validatingwebhookconfiguration refuse", /deleted/);
    });

    test("should mutate configmap", async () => {
      world.hooks.on("/stage", patch({ op: "add", path: "/data/mutation-stage-1", value: "yes" }));
      await put("mutating", "stage");
      await says(
        "apply -f -",
        "configmap/staged created\n",
        configMap("staged", { "mutation-start": "yes" }),
      );
      await says(
        "get cm staged -o jsonpath={.data}",
        '{"mutation-stage-1":"yes","mutation-start":"yes"}',
      );
      await says("delete mutatingwebhookconfiguration stage", /deleted/);
    });

    test("should be able to deny attaching pod", async () => {
      world.hooks.on("/attach", deny("attaching to pod 'to-be-attached-pod' is not allowed"));
      await put("validating", "attach", {
        rules: [rule(["pods/attach"], { operations: ["CONNECT"] })],
      });
      await says("create serviceaccount default", /created/); // its controller does not run
      await says("create -f -", "pod/to-be-attached-pod created\n", pod("to-be-attached-pod"));
      await fails(
        "attach -i to-be-attached-pod -c c",
        /denied the request: attaching to pod 'to-be-attached-pod' is not allowed/,
      );
      await says("delete validatingwebhookconfiguration attach", /deleted/);
    });

    test("should be able to deny custom resource creation, update and deletion", async () => {
      world.hooks.on("/places", deny("the custom resource is kept"));
      const operations = ["CREATE", "UPDATE", "DELETE"];
      const rules = [
        rule(["places"], { apiGroups: ["clients.example.com"], apiVersions: ["v2"], operations }),
      ];
      await put("validating", "places", { rules });
      const text = /denied the request: the custom resource is kept/;
      await fails("apply -f -", text, place("new", { host: "a" }));
      await fails("annotate place near a=b", text);
      await fails("delete place near", text);
      await says("delete validatingwebhookconfiguration places", /deleted/);
      await says("delete place near", /deleted/);
    });

    test("should include webhook resources in discovery documents", () =>
      says(
        "api-resources --api-group=admissionregistration.k8s.io -o name",
        /^mutatingwebhookconfigurations\.[^]*^validatingwebhookconfigurations\./m,
      ));
  });

  test("a deleted definition takes its kind along", async () => {
    await says("delete crd places.clients.example.com", /deleted/);
    await fails("get places", /the server could not find the requested resource/);
  });
});
