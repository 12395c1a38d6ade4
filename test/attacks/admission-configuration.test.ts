/** Admission configuration files that are wrong or hostile end the start, with a reason; good ones are read. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { admissionConfiguration } from "../../src/run/cmd/plane/admission-configuration.ts";

function files(context: TestContext, texts: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), "admission-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(directory, name), text);
  return directory;
}

const choice = (...enable: readonly string[]) => ({ enable, disable: [] });

const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n";

test("inline configurations and files beside the configuration are read; plugins without one keep their defaults", (context) => {
  const selectors = "podNodeSelectorPluginConfig:\n  ns: a=b\n";
  const directory = files(context, {
    "config.yaml": `${head}plugins:
- name: EventRateLimit
  configuration:
    apiVersion: eventratelimit.admission.k8s.io/v1alpha1
    kind: Configuration
    limits: [{type: Server, qps: 1, burst: 2}]
- {name: PodNodeSelector, path: selectors.yaml}
- {name: NobodyKnowsIt, path: missing.yaml}
- {name: PodSecurity}
`,
    "selectors.yaml": selectors,
  });
  assert.deepEqual(
    admissionConfiguration(
      join(directory, "config.yaml"),
      choice("EventRateLimit", "PodNodeSelector"),
    ),
    {
      settings: {
        eventLimits: [{ type: "Server", qps: 1, burst: 2, cacheSize: 0 }],
        nodeSelectors: { ns: "a=b" },
      },
    },
  );
  const legacy = join(directory, "selectors.yaml");
  assert.deepEqual(admissionConfiguration(legacy, choice("PodNodeSelector")).settings, {
    nodeSelectors: { ns: "a=b" },
  });
  assert.deepEqual(admissionConfiguration(undefined, choice()), { settings: {} });
});

test("the configuration is read in each of upstream's versions, and in no other", (context) => {
  const plugins = "plugins:\n- {name: PodNodeSelector, path: selectors.yaml}\n";
  const read = (apiVersion: string, kind = "AdmissionConfiguration"): unknown => {
    const directory = files(context, {
      "config.yaml": `apiVersion: ${apiVersion}\nkind: ${kind}\n${plugins}`,
      "selectors.yaml": "podNodeSelectorPluginConfig:\n  ns: a=b\n",
    });
    const path = join(directory, "config.yaml");
    return admissionConfiguration(path, choice("PodNodeSelector")).settings;
  };
  for (const apiVersion of ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"]) {
    assert.deepEqual(read(apiVersion), { nodeSelectors: { ns: "a=b" } }, apiVersion);
  }
  for (const apiVersion of [
    "apiserver.config.k8s.io/v1alpha1",
    "apiserver.k8s.io/v1",
    "apiserver.k8s.io/v1beta1",
    "v1",
  ]) {
    const text = `no kind "AdmissionConfiguration" is registered for version "${apiVersion}"`;
    assert.throws(() => read(apiVersion), new RegExp(text), apiVersion);
  }
  assert.throws(() => read("apiserver.k8s.io/v1alpha1", "Other"), /no kind "Other"/);
});

test("a webhook is shown the kubeconfig's user of its host, of its domain, or of nobody", (context) => {
  const directory = files(context, {
    kubeconfig: `apiVersion: v1
kind: Config
users:
- {name: "hook.ns.svc:443", user: {token: exact}}
- {name: "*.ns.svc", user: {tokenFile: token}}
- {name: "example.com", user: {username: u, password: p}}
`,
    token: "domain\n",
  });
  const config = `${head}plugins:
- name: ValidatingAdmissionWebhook
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    kubeConfigFile: ${join(directory, "kubeconfig")}
`;
  writeFileSync(join(directory, "config.yaml"), config);
  const { credentials } = admissionConfiguration(join(directory, "config.yaml"), choice());
  const shown = (hostPort: string) => credentials?.validating?.(hostPort)?.authorization?.();
  assert.equal(shown("hook.ns.svc:443"), "Bearer exact");
  assert.equal(shown("other.ns.svc:443"), "Bearer domain");
  assert.equal(shown("example.com:443"), `Basic ${Buffer.from("u:p").toString("base64")}`);
  assert.equal(shown("example.com:8443"), undefined);
  assert.equal(shown("hook.ns.svc.example.org:443"), undefined);
  assert.equal(credentials?.mutating, undefined);
});

test("hostile configuration files end the start with a reason, in bounded time", (context) => {
  const bomb = Array.from({ length: 12 }, (_, at) => {
    const before = at === 0 ? "x" : `*a${at - 1}`;
    return `a${at}: &a${at} [${Array.from({ length: 10 }, () => before).join(", ")}]`;
  }).join("\n");
  const quota = (fields: string): string =>
    `${head}plugins:\n- name: EventRateLimit\n  configuration: ${fields}\n`;
  const cases: readonly (readonly [string, RegExp])[] = [
    ["", /^failed to read plugin config: /],
    ["[]", /^failed to read plugin config: /],
    ["{}", /Object 'Kind' is missing in '\{\}'/],
    ["kind: Pod\napiVersion: v1\n", /no kind "Pod" is registered for version "v1"/],
    [`${head}plugin: []\n`, /strict decoding error: unknown field "plugin"/],
    [`${head}plugins: [{name: A, file: x}]\n`, /unknown field "plugins\[0\]\.file"/],
    [`${head}plugins: {}\n`, /json: cannot unmarshal object into field plugins of type slice/],
    [`${head}kind: AdmissionConfiguration\n`, /kind/],
    [bomb, /^failed to read plugin config: /],
    ["[".repeat(100_000), /^failed to read plugin config: /],
    ["a".repeat(2 * 1024 * 1024), /exceeds the limit/],
    [quota("[]"), /plugins\[0\]\.configuration/],
    [quota("{}"), /^couldn't init admission plugin "EventRateLimit": Object 'Kind' is missing/],
    [
      `${head}plugins: [{name: PodSecurity, path: nowhere.yaml}]\n`,
      /^couldn't init admission plugin "PodSecurity": cannot read /,
    ],
    [
      `${head}plugins: [{name: MutatingAdmissionWebhook, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: relative}}]\n`,
      /kubeConfigFile: Invalid value: "relative": must be an absolute file path$/,
    ],
  ];
  const directory = files(context, {});
  const path = join(directory, "config.yaml");
  for (const [text, message] of cases) {
    writeFileSync(path, text);
    const fault = { name: "UsageError", message };
    assert.throws(
      () => admissionConfiguration(path, choice("EventRateLimit")),
      fault,
      text.slice(0, 200),
    );
  }
  const missing = join(directory, "missing");
  assert.throws(() => admissionConfiguration(missing, choice()), {
    name: "UsageError",
    message: /unable to read admission control configuration from /,
  });
  assert.throws(() => admissionConfiguration(undefined, choice("EventRateLimit")), {
    name: "UsageError",
    message:
      'couldn\'t init admission plugin "EventRateLimit": limits: Invalid value: null: must not be empty',
  });
});
