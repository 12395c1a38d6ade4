/**
 * Policies and webhooks: expressions that use up their budgets, many of them, and what they make of an object.
 */
import { openWebhookServer, type WebhookServer } from "#extension/testing/webhook-server.ts";
import { type Api, type Attack, type AttackRequest, json } from "../attack.ts";

const group = "/apis/admissionregistration.k8s.io/v1";
const configMaps = "/api/v1/namespaces/default/configmaps";

const list = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

async function post(plane: Api, path: string, body: object): Promise<void> {
  const text = JSON.stringify(body);
  const made = await plane.send({ method: "POST", path, contentType: json, body: () => text });
  if (made.status !== 201) throw new Error(`${made.status}: ${made.text.slice(0, 800)}`);
}

/** Only objects with the case's label are matched. */
const ofCase = (label: string): object => ({
  resourceRules: [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] },
  ],
  objectSelector: { matchLabels: { case: label } },
});

async function addPolicy(
  plane: Api,
  type: "Validating" | "Mutating",
  name: string,
  label: string,
  spec: object,
): Promise<void> {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const kind = `${type}AdmissionPolicy`;
  const path = `${group}/${kind.toLowerCase().replace(/y$/, "ies")}`;
  const policySpec = { matchConstraints: ofCase(label), failurePolicy: "Fail", ...spec };
  await post(plane, path, { apiVersion, kind, metadata: { name }, spec: policySpec });
  const bound = {
    policyName: name,
    ...(type === "Validating" ? { validationActions: ["Deny"] } : {}),
  };
  await post(plane, `${group}/${kind.toLowerCase()}bindings`, {
    apiVersion,
    kind: `${kind}Binding`,
    metadata: { name },
    spec: bound,
  });
}

/** Policies are in force when their write was answered. */
function write(label: string, data: Readonly<Record<string, string>> = {}): AttackRequest {
  const metadata = { generateName: "p-", labels: { case: label } };
  const body = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata, data });
  return { method: "POST", path: configMaps, contentType: json, body: () => body };
}

const ten = "[0,1,2,3,4,5,6,7,8,9]";
const nested = (depth: number, inner = "true"): string =>
  `${`${ten}.all(x, `.repeat(depth)}${inner}${")".repeat(depth)}`;
const validations = (...expressions: readonly string[]): object => ({
  validations: expressions.map((expression) => ({ expression })),
});
const large = (): Record<string, string> =>
  Object.fromEntries(list(8_000).map((at) => [`k${at}`, `v${at}`]));

function validated(
  name: string,
  spec: object,
  data: Readonly<Record<string, string>> = {},
): Omit<Attack, "expect"> {
  const label = name.replaceAll(/\W+/g, "-").slice(0, 60);
  return {
    name,
    prepare: (plane) => addPolicy(plane, "Validating", label.toLowerCase(), label, spec),
    requests: [write(label, data)],
  };
}

function mutated(
  name: string,
  mutation: object,
  data: Readonly<Record<string, string>> = {},
): Omit<Attack, "expect"> {
  const label = name.replaceAll(/\W+/g, "-").slice(0, 60);
  const spec = { reinvocationPolicy: "Never", mutations: [mutation] };
  return {
    name,
    prepare: (plane) => addPolicy(plane, "Mutating", label.toLowerCase(), label, spec),
    requests: [write(label, data)],
  };
}

const patchOf = (expression: string): object => ({
  patchType: "JSONPatch",
  jsonPatch: { expression },
});
const configurationOf = (expression: string): object => ({
  patchType: "ApplyConfiguration",
  applyConfiguration: { expression },
});

let server: WebhookServer | undefined;

export async function closeWebhookServer(): Promise<void> {
  await server?.close();
}

/** A webhook that answers `response`. */
function hooked(
  name: string,
  type: "Mutating" | "Validating",
  response: () => object,
  data: Readonly<Record<string, string>> = {},
  more: object = {},
): Omit<Attack, "expect"> {
  const label = name.replaceAll(/\W+/g, "-").slice(0, 60);
  return {
    name,
    async prepare(plane) {
      const own = (server ??= await openWebhookServer(Date.now()));
      const path = `/${label}`;
      const made = response();
      own.on(path, () => made);
      const kind = `${type}WebhookConfiguration`;
      await post(plane, `${group}/${kind.toLowerCase()}s`, {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind,
        metadata: { name: label.toLowerCase() },
        webhooks: [
          {
            name: "hook.example.com",
            clientConfig: { url: own.url(path), caBundle: own.caBundle },
            rules: [
              {
                apiGroups: [""],
                apiVersions: ["v1"],
                operations: ["*"],
                resources: ["configmaps"],
              },
            ],
            objectSelector: { matchLabels: { case: label } },
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
            failurePolicy: "Fail",
            ...more,
          },
        ],
      });
    },
    requests: [write(label, data)],
  };
}

const patchAnswer = (operations: readonly object[]): object => ({
  allowed: true,
  patchType: "JSONPatch",
  patch: Buffer.from(JSON.stringify(operations)).toString("base64"),
});

export const policyAttacks: readonly Attack[] = [
  {
    ...validated("an expression of a policy that uses up its budget", validations(nested(7))),
    expect: 422,
    says: "cost limit exceeded",
  },
  {
    ...validated(
      "expressions of a policy that use up their budget",
      validations(...list(40).map((at) => nested(5, `${at} >= 0`))),
    ),
    expect: [201, 422],
  },
  {
    ...validated("variables of a policy that use up its budget", {
      variables: list(20).map((at) => ({ name: `v${at}`, expression: nested(5, `${at} >= 0`) })),
      ...validations(
        list(20)
          .map((at) => `variables.v${at}`)
          .join(" && "),
      ),
    }),
    expect: [201, 422],
  },
  {
    ...validated("a policy that asks the authorizer before it counts on", {
      ...validations(
        `authorizer.group('').resource('pods').check('get').allowed() && ${nested(4, "0 < 1")} && authorizer.group('').resource('secrets').namespace('x').check('list').allowed()`,
      ),
    }),
    expect: 201,
  },
  {
    ...validated("matchConditions that use up their budget", {
      matchConditions: list(20).map((at) => ({
        name: `c${at}`,
        expression: nested(5, `${at} >= 0`),
      })),
      ...validations("true"),
    }),
    expect: [201, 422],
  },
  {
    ...validated(
      "a policy that sorts 8,000 values again and again",
      validations(`${nested(3, "object.data.map(k, object.data[k]).sort().size() > 0")}`),
      large(),
    ),
    expect: [201, 422, 504],
  },
  {
    ...validated(
      "a policy that finds every letter of a megabyte",
      validations("object.data.big.findAll('a').size() > 1"),
      { big: "a".repeat(900_000) },
    ),
    expect: [201, 422],
  },
  {
    ...validated(
      "a policy of 100,000 characters",
      validations(...list(100).map((at) => `${"true && ".repeat(110)} ${at} >= 0`)),
    ),
    expect: 201,
  },
  {
    name: "a policy of a megabyte that is written",
    requests: [
      {
        method: "POST",
        path: `${group}/validatingadmissionpolicies`,
        contentType: json,
        body: () =>
          JSON.stringify({
            apiVersion: "admissionregistration.k8s.io/v1",
            kind: "ValidatingAdmissionPolicy",
            metadata: { name: "megabyte" },
            spec: {
              matchConstraints: ofCase("none"),
              ...validations(...list(1_000).map((at) => `${"true && ".repeat(110)} ${at} >= 0`)),
            },
          }),
      },
    ],
    expect: [201, 422],
  },
  {
    name: "webhooks with conditions of a megabyte that are written",
    requests: [
      {
        method: "POST",
        path: `${group}/validatingwebhookconfigurations`,
        contentType: json,
        body: () =>
          JSON.stringify({
            apiVersion: "admissionregistration.k8s.io/v1",
            kind: "ValidatingWebhookConfiguration",
            metadata: { name: "megabyte" },
            webhooks: list(100).map((hook) => ({
              name: `h${hook}.example.com`,
              clientConfig: { url: "https://127.0.0.1:1/" },
              sideEffects: "None",
              admissionReviewVersions: ["v1"],
              matchConditions: list(10).map((at) => ({
                name: `c${at}`,
                expression: `${"true && ".repeat(110)} ${at} >= 0`,
              })),
            })),
          }),
      },
    ],
    expect: 201,
  },
  {
    name: "a thousand policies about one request",
    async prepare(plane) {
      for (let from = 0; from < 1_000; from += 20) {
        await Promise.all(
          list(20).map((at) =>
            addPolicy(
              plane,
              "Validating",
              `many${from + at}`,
              "many",
              validations(`${nested(3)} && object.metadata.labels.size() > 0 && ${from + at} >= 0`),
            ),
          ),
        );
      }
    },
    requests: [write("many"), write("many", large())],
    expect: 201,
  },
  {
    ...mutated(
      "a patch of 9,000 operations by a policy",
      patchOf(
        `[JSONPatch{op: "add", path: "/data/a", value: "b"}] + object.data.map(k, JSONPatch{op: "replace", path: "/data/" + k, value: "w"})`,
      ),
      large(),
    ),
    expect: [201, 422],
  },
  {
    ...mutated(
      "copies of an object by a policy",
      patchOf(
        `object.data.map(k, JSONPatch{op: "copy", from: "/metadata", path: "/metadata/annotations"})`,
      ),
      large(),
    ),
    expect: [201, 400, 403, 413, 422],
  },
  {
    ...mutated(
      "a configuration of 8,000 fields by a policy",
      configurationOf(`Object{data: object.data.transformMap(k, v, v + "!")}`),
      large(),
    ),
    expect: [201, 422],
  },
  {
    ...mutated(
      "a mutation that uses up its budget",
      configurationOf(`${nested(7)} ? Object{} : Object{}`),
    ),
    expect: [403, 422],
  },
  {
    ...hooked(
      "a patch of 10,000 operations by a webhook",
      "Mutating",
      () => patchAnswer(list(10_000).map((at) => ({ op: "add", path: `/data/n${at % 100}`, value: `v${at}` }))), // prettier-ignore
      { a: "b" },
    ),
    expect: 201,
  },
  {
    ...hooked(
      "a patch of two megabytes by a webhook",
      "Mutating",
      () => patchAnswer([{ op: "add", path: "/data", value: Object.fromEntries(list(8_000).map((at) => [`w${at}`, "x".repeat(100)])) }]), // prettier-ignore
      { a: "b" },
    ),
    expect: 201,
  },
  {
    ...hooked("20,000 removals from the front of a list by a webhook", "Mutating", () =>
      patchAnswer([
        { op: "add", path: "/metadata/finalizers", value: list(4_000).map((at) => `example.com/f${at}`) }, // prettier-ignore
        ...list(3_999).map(() => ({ op: "remove", path: "/metadata/finalizers/0" })),
        { op: "remove", path: "/metadata/finalizers" },
      ]),
    ),
    expect: 201,
  },
  {
    ...hooked("warnings and annotations of two megabytes by a webhook", "Validating", () => ({
      allowed: true,
      warnings: list(20_000).map((at) => `warning ${at}`),
      auditAnnotations: Object.fromEntries(list(20_000).map((at) => [`k${at}`, "v".repeat(40)])),
    })),
    expect: 201,
  },
  {
    ...hooked(
      "matchConditions of a webhook that use up their budget",
      "Validating",
      () => ({ allowed: true }),
      {},
      { matchConditions: list(20).map((at) => ({ name: `c${at}`, expression: nested(5, `${at} >= 0`) })) }, // prettier-ignore
    ),
    expect: [201, 403],
  },
];
