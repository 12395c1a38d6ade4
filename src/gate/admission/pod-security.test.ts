/** Pod Security Standards: each check, each mode, each text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import type { AdmissionRequest } from "./admission.ts";
import { createAdmission } from "./chain.ts";
import { podSecurity } from "./pod-security.ts";
import { FakeLookup, fakeRequest, outcome, pod } from "./testing.ts";

function namespace(labels: Record<string, string>, name = "ns"): AnyObject {
  const prefixed = Object.entries(labels).map(([key, value]) => [
    `pod-security.kubernetes.io/${key}`,
    value,
  ]);
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels: Object.fromEntries(prefixed) },
  };
}

function setup(labels: Record<string, string>, ...pods: AnyObject[]) {
  const admission = createAdmission([
    podSecurity({ lookup: new FakeLookup(namespace(labels), ...pods) }),
  ]);
  return async (object: AnyObject, over: Partial<AdmissionRequest> = {}) => {
    const request = fakeRequest(object, over);
    return {
      outcome: await outcome(() => admission.validate(request)),
      warnings: request.warnings,
    };
  };
}

const safe = {
  securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
  containers: [
    {
      name: "c",
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    },
  ],
};

test("without labels everything may run", async () => {
  const check = setup({});
  assert.deepEqual(await check(pod({ hostNetwork: true })), { outcome: "admitted", warnings: [] });
});

test("restricted names everything a plain pod leaves open", async () => {
  const check = setup({ enforce: "restricted" });
  assert.equal(
    (await check(pod())).outcome,
    '403 pods "p" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  );
  assert.equal((await check(pod(safe))).outcome, "admitted");
});

test("baseline refuses each known way to the host", async () => {
  const check = setup({ enforce: "baseline" });
  const refused = async (spec: object, metadata: object = {}) => {
    const text = (await check(pod(spec, metadata))).outcome;
    return text.replace('403 pods "p" is forbidden: violates PodSecurity "baseline:latest": ', "");
  };
  const container = (fields: object) => ({ containers: [{ name: "c", ...fields }] });
  assert.equal(await refused({}), "admitted");
  assert.equal(
    await refused({ hostNetwork: true, hostPID: true }),
    "host namespaces (hostNetwork=true, hostPID=true)",
  );
  assert.equal(
    await refused({ volumes: [{ name: "v", hostPath: { path: "/" } }] }),
    'hostPath volumes (volume "v")',
  );
  assert.equal(
    await refused(container({ ports: [{ hostPort: 80 }, { hostPort: 443 }] })),
    'hostPort (container "c" uses hostPorts 443, 80)',
  );
  assert.equal(
    await refused(container({ securityContext: { privileged: true } })),
    'privileged (container "c" must not set securityContext.privileged=true)',
  );
  assert.equal(
    await refused(
      container({ securityContext: { capabilities: { add: ["NET_ADMIN", "CHOWN"] } } }),
    ),
    'non-default capabilities (container "c" must not include "NET_ADMIN" in securityContext.capabilities.add)',
  );
  assert.equal(
    await refused({ securityContext: { sysctls: [{ name: "kernel.msgmax" }] } }),
    "forbidden sysctls (kernel.msgmax)",
  );
  assert.equal(
    await refused({ securityContext: { seccompProfile: { type: "Unconfined" } } }),
    'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
  );
  assert.equal(
    await refused(container({ securityContext: { seLinuxOptions: { user: "u", type: "x" } } })),
    'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: type "x"; user may not be set)',
  );
  assert.equal(
    await refused(
      {},
      { annotations: { "container.apparmor.security.beta.kubernetes.io/c": "unconfined" } },
    ),
    'forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/c="unconfined"")',
  );
  assert.equal(
    await refused(container({ livenessProbe: { httpGet: { host: "10.0.0.1" } } })),
    'probe or lifecycle host (container "c" uses probe or lifecycle host "10.0.0.1")',
  );
});

test("an old version is judged by its own rules", async () => {
  const check = setup({ enforce: "baseline", "enforce-version": "v1.30" });
  const spec = { containers: [{ name: "c", livenessProbe: { httpGet: { host: "h" } } }] };
  assert.equal((await check(pod(spec))).outcome, "admitted");
});

test("checks have versions: what came later is not asked of pods that are judged by an earlier one", async () => {
  const spec = { securityContext: { runAsNonRoot: true }, containers: [{ name: "c" }] };
  const escalation =
    'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)';
  const seccomp =
    'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")';
  const capabilities =
    'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"])';
  for (const [version, violations] of [
    ["v1.7", []],
    ["v1.8", [escalation]],
    ["v1.19", [escalation, seccomp]],
    ["v1.22", [escalation, capabilities, seccomp]],
  ] as const) {
    const check = setup({ enforce: "restricted", "enforce-version": version });
    const { outcome } = await check(pod(spec));
    const expected = `403 pods "p" is forbidden: violates PodSecurity "restricted:${version}": ${violations.join(", ")}`;
    assert.equal(outcome, violations.length === 0 ? "admitted" : expected);
  }
});

test("before 1.19 annotations say the seccomp profile", async () => {
  const annotated = (value: string) => {
    const object = pod({ containers: [{ name: "c" }] });
    const annotations = { "container.seccomp.security.alpha.kubernetes.io/c": value };
    return { ...object, metadata: { ...object.metadata, annotations } };
  };
  const old = setup({ enforce: "baseline", "enforce-version": "v1.18" });
  assert.match(
    (await old(annotated("unconfined"))).outcome,
    /seccompProfile \(forbidden annotation container\.seccomp\.security\.alpha\.kubernetes\.io\/c="unconfined"\)$/,
  );
  assert.equal((await old(annotated("localhost/x"))).outcome, "admitted");
  const later = setup({ enforce: "baseline", "enforce-version": "v1.19" });
  assert.equal((await later(annotated("unconfined"))).outcome, "admitted");
});

test("warnings warn, for pods and for what makes pods", async () => {
  const check = setup({ warn: "baseline" });
  const text = 'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)';
  assert.deepEqual(await check(pod({ hostPID: true })), { outcome: "admitted", warnings: [text] });
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d", namespace: "ns" },
    spec: { template: { spec: { hostPID: true, containers: [] } } },
  };
  assert.deepEqual((await check(deployment)).warnings, [text]);
});

test("an enforced namespace warns about workloads without being asked", async () => {
  const check = setup({ enforce: "baseline" });
  const job = {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "j", namespace: "ns" },
    spec: { template: { spec: { hostIPC: true, containers: [] } } },
  };
  const result = await check(job);
  assert.equal(result.outcome, "admitted");
  assert.equal(result.warnings.length, 1);
});

test("an update that changes no image is let through", async () => {
  const check = setup({ enforce: "baseline" });
  const bad = pod({ hostPID: true });
  const labelled = { ...bad, metadata: { ...bad.metadata, labels: { a: "b" } } };
  const over = { operation: "UPDATE", oldObject: bad } as const;
  assert.equal((await check(labelled, over)).outcome, "admitted");
  const image = pod({ hostPID: true, containers: [{ name: "c", image: "other" }] });
  assert.match((await check(image, over)).outcome, /^403/);
});

test("labels are checked, and a stricter namespace warns about the pods it has", async () => {
  const pods = [
    pod({ hostPID: true }, { name: "a" }),
    pod({ hostPID: true }, { name: "b" }),
    pod(safe, { name: "c" }),
  ];
  const check = setup({}, ...pods);
  const wrong = namespace({ enforce: "strict" });
  assert.equal(
    (await check(wrong)).outcome,
    '422 Namespace "ns" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted',
  );
  const result = await check(namespace({ enforce: "baseline" }), {
    operation: "UPDATE",
    oldObject: namespace({}),
  });
  assert.deepEqual(result.warnings, [
    'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
    "a (and 1 other pod): host namespaces",
  ]);
});
