/** A whole plane in this process, and how tests put policies before it. */
import type { PlaneOptions } from "#cmd/plane/options.ts";
import { type PromisedPlane, startPromised } from "../attacks/promised-plane.ts";
import { registration } from "./webhook-world.ts";

type PolicyType = "validating" | "mutating";

export interface PolicyWorld extends PromisedPlane {
  create(path: string, body: object): ReturnType<PromisedPlane["ask"]>;
  /** A policy with a binding of the same name; both are in force when it resolves. */
  put(type: PolicyType, name: string, spec: object, binding?: object): Promise<void>;
  remove(type: PolicyType, name: string): Promise<void>;
}

export async function openPolicyWorld(wished: Partial<PlaneOptions> = {}): Promise<PolicyWorld> {
  const plane = await startPromised(wished);
  const must = async (path: string, body: object): Promise<void> => {
    const answer = await plane.ask("POST", path, { body });
    if (answer.status !== 201) throw new Error(answer.text);
  };
  return {
    ...plane,
    create: (path, body) => plane.ask("POST", path, { body }),
    async put(type, name, spec, binding = {}) {
      await must(policies(type), policy(type, name, spec));
      await must(bindings(type), bindingOf(type, name, binding));
    },
    async remove(type, name) {
      await plane.ask("DELETE", `${bindings(type)}/${name}`);
      await plane.ask("DELETE", `${policies(type)}/${name}`);
    },
  };
}

export function policies(type: PolicyType): string {
  return `${registration}/${type}admissionpolicies`;
}

export function bindings(type: PolicyType): string {
  return `${registration}/${type}admissionpolicybindings`;
}

export function policy(type: PolicyType, name: string, spec: object): object {
  const kind = type === "validating" ? "ValidatingAdmissionPolicy" : "MutatingAdmissionPolicy";
  const apiVersion = "admissionregistration.k8s.io/v1";
  const more = type === "mutating" ? { reinvocationPolicy: "Never" } : {};
  const whole = { matchConstraints: constraints(["configmaps"]), ...more, ...spec };
  return { apiVersion, kind, metadata: { name }, spec: whole };
}

export function bindingOf(type: PolicyType, name: string, more: object): object {
  const start = type === "validating" ? "Validating" : "Mutating";
  const actions = type === "validating" ? { validationActions: ["Deny"] } : {};
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: `${start}AdmissionPolicyBinding`,
    metadata: { name },
    spec: { policyName: name, ...actions, ...more },
  };
}

/** Creates and updates of resources of one group. */
export function constraints(resources: readonly string[], apiGroup = ""): object {
  const operations = ["CREATE", "UPDATE"];
  return {
    resourceRules: [{ apiGroups: [apiGroup], apiVersions: ["v1"], operations, resources }],
  };
}

export function deployment(name: string, replicas: number): object {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: { replicas, selector: { matchLabels: labels }, template },
  };
}
