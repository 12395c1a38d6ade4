/** Pod specs, in pods and in templates. Paths and texts as upstream's ValidatePodSpec. */
import { isLonger } from "../selectors/label-syntax.ts";
import type { FieldError } from "../status.ts";
import { compareQuantities, formatQuantity, tryParseQuantity } from "../values/quantity.ts";
import { dns1123LabelErrors, dnsSubdomainName } from "../names.ts";
import { validateAnnotations, validateLabels } from "../meta.ts";
import { aggregateContainers } from "../defaults/pod-resources.ts";
import type { Fields } from "./fields.ts";
import {
  count,
  flag,
  has,
  items,
  maybe,
  maybeInteger,
  maybeNumber,
  maybeText,
  number,
  part,
  text,
  textMap,
  texts,
} from "./fields.ts";
import { checkAppArmorAnnotations } from "./apparmor.ts";
import {
  append,
  child,
  duplicate,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  key,
  notFoundField,
  notSupported,
  required,
  tooLong,
} from "./errors.ts";
import type { ContainerContext } from "./containers.ts";
import { checkContainer } from "./containers.ts";
import { checkFileKeyVolumes } from "./env-files.ts";
import { checkLifecycle, checkLivenessProbe, checkReadinessProbe } from "./probes.ts";
import { checkSchedulingGroup } from "./pod-groups.ts";
import {
  checkAffinity,
  checkLabelName,
  checkSchedulingGates,
  checkSpread,
  checkTolerations,
} from "./scheduling.ts";
import { checkInitRestartRules, checkRestartRules } from "./restart-rules.ts";
import { checkHostUsers, checkOs, checkPodSecurityContext } from "./security.ts";
import { checkContainerResourceName, checkPodResources, checkResourceList } from "./resources.ts";
import { checkAddress } from "./ip.ts";
import { rangeText, underscoreDomainErrors } from "./text.ts";
import type { PodContext } from "./volumes.ts";
import { checkVolumes } from "./volumes.ts";

const int32Max = 2_147_483_647;
const nameserversMax = 3;
const searchesMax = 32;
const searchTextMax = 2048;
const restartPolicies = ["Always", "OnFailure", "Never"];
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const preemptionPolicies = ["PreemptLowerPriority", "Never"];

export function checkPodSpec(out: FieldError[], spec: Fields, pod: PodContext, path: string): void {
  if (!has(spec, "terminationGracePeriodSeconds")) {
    out.push(required(child(path, "terminationGracePeriodSeconds")));
  }
  const context: ContainerContext = {
    volumes: checkVolumes(out, spec, pod, child(path, "volumes")),
    claims: checkResourceClaims(out, spec, child(path, "resourceClaims")),
    restartPolicy: text(spec, "restartPolicy"),
    hostUsers: spec["hostUsers"] !== false,
    gracePeriod: maybeNumber(spec, "terminationGracePeriodSeconds"),
  };
  checkContainers(out, spec, context, child(path, "containers"));
  checkInitContainers(out, spec, context, child(path, "initContainers"));
  checkEphemeralContainers(out, spec, context, child(path, "ephemeralContainers"));
  checkWholePodResources(out, spec, context, child(path, "resources"));
  checkHostPorts(out, spec, pod, path);
  checkPolicies(out, spec, path);
  append(out, validateLabels(textMap(spec, "nodeSelector"), child(path, "nodeSelector")));
  checkPodSecurityContext(out, spec, child(path, "securityContext"));
  checkAffinity(out, maybe(spec, "affinity"), child(path, "affinity"));
  checkDns(out, spec, child(path, "dnsConfig"));
  items(spec, "readinessGates").forEach((gate, at) => {
    const here = child(index(child(path, "readinessGates"), at), "conditionType");
    checkLabelName(out, text(gate, "conditionType"), here);
  });
  checkSchedulingGates(out, items(spec, "schedulingGates"), child(path, "schedulingGates"));
  const group = maybe(spec, "schedulingGroup");
  if (group !== undefined) checkSchedulingGroup(out, group, child(path, "schedulingGroup"));
  const spread = items(spec, "topologySpreadConstraints");
  checkSpread(out, spread, child(path, "topologySpreadConstraints"));
  checkHostUsers(out, spec, path);
  checkNames(out, spec, path);
  checkTolerations(out, items(spec, "tolerations"), child(path, "tolerations"));
  checkHostAliases(out, spec, child(path, "hostAliases"));
  const overhead = child(path, "overhead", "limits");
  checkResourceList(out, part(spec, "overhead"), checkContainerResourceName, overhead);
  checkOs(out, spec, path);
  checkFileKeyVolumes(out, spec, path);
}

function checkResourceClaims(out: FieldError[], spec: Fields, path: string): ReadonlySet<string> {
  const names = new Set<string>();
  items(spec, "resourceClaims").forEach((claim, at) => {
    const here = index(path, at);
    const name = text(claim, "name");
    if (name === "") out.push(required(child(here, "name")));
    else if (names.has(name)) out.push(duplicate(child(here, "name"), name));
    else append(out, invalidEach(child(here, "name"), name, dns1123LabelErrors(name)));
    if (name !== "") names.add(name);
    const sources = ["resourceClaimName", "resourceClaimTemplateName"];
    const given = sources.filter((field) => has(claim, field));
    if (given.length > 1) {
      const detail =
        "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
      out.push(invalidValue(here, claim, detail));
    } else if (given.length === 0) {
      const detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
      out.push(invalidValue(here, claim, detail));
    }
    for (const field of given) {
      const value = text(claim, field);
      append(out, invalidEach(child(here, field), value, dnsSubdomainName(value, false)));
    }
  });
  return names;
}

function checkContainers(
  out: FieldError[],
  spec: Fields,
  context: ContainerContext,
  path: string,
): void {
  const containers = items(spec, "containers");
  if (containers.length === 0) {
    out.push(required(path));
    return;
  }
  const names = new Set<string>();
  containers.forEach((container, at) => {
    const here = index(path, at);
    checkContainer(out, container, context, here);
    const name = text(container, "name");
    if (names.has(name)) out.push(duplicate(child(here, "name"), name));
    names.add(name);
    checkHooksAndProbes(out, container, context, here);
    checkRestartRules(out, container, here);
  });
  checkPortConflicts(out, containers, path);
}

function checkHooksAndProbes(
  out: FieldError[],
  container: Fields,
  context: ContainerContext,
  path: string,
): void {
  const grace = context.gracePeriod;
  checkLifecycle(out, maybe(container, "lifecycle"), grace, child(path, "lifecycle"));
  checkLivenessProbe(out, maybe(container, "livenessProbe"), child(path, "livenessProbe"));
  checkReadinessProbe(out, maybe(container, "readinessProbe"), child(path, "readinessProbe"));
  checkLivenessProbe(out, maybe(container, "startupProbe"), child(path, "startupProbe"));
}

const notForInit = "may not be set for init containers without restartPolicy=Always";

function checkInitContainers(
  out: FieldError[],
  spec: Fields,
  context: ContainerContext,
  path: string,
): void {
  const names = new Set(items(spec, "containers").map((container) => text(container, "name")));
  items(spec, "initContainers").forEach((container, at) => {
    const here = index(path, at);
    checkContainer(out, container, context, here);
    checkInitRestartRules(out, container, here);
    const name = text(container, "name");
    if (names.has(name)) out.push(duplicate(child(here, "name"), name));
    else if (name !== "") names.add(name);
    checkPortConflicts(out, [container], path);
    if (text(container, "restartPolicy") === "Always") {
      checkHooksAndProbes(out, container, context, here);
      return;
    }
    for (const field of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"]) {
      if (has(container, field)) out.push(forbiddenField(child(here, field), notForInit));
    }
  });
}

const notForEphemeral = "cannot be set for an Ephemeral Container";
const forbiddenInEphemeral = [
  "lifecycle",
  "livenessProbe",
  "ports",
  "readinessProbe",
  "resizePolicy",
  "restartPolicy",
  "restartPolicyRules",
  "startupProbe",
];

function checkEphemeralContainers(
  out: FieldError[],
  spec: Fields,
  context: ContainerContext,
  path: string,
): void {
  const others = [...items(spec, "containers"), ...items(spec, "initContainers")];
  const targets = new Set(others.map((container) => text(container, "name")));
  const names = new Set(targets);
  items(spec, "ephemeralContainers").forEach((container, at) => {
    const here = index(path, at);
    checkContainer(out, container, context, here);
    checkImagePadding(out, container, here);
    const name = text(container, "name");
    if (names.has(name)) out.push(duplicate(child(here, "name"), name));
    names.add(name);
    const target = text(container, "targetContainerName");
    if (target !== "" && !targets.has(target)) {
      out.push(notFoundField(child(here, "targetContainerName"), target));
    }
    checkEphemeralFields(out, container, here);
  });
}

function checkEphemeralFields(out: FieldError[], container: Fields, path: string): void {
  for (const field of forbiddenInEphemeral) {
    const value = container[field];
    const given = Array.isArray(value) ? value.length > 0 : has(container, field);
    if (given) out.push(forbiddenField(child(path, field), notForEphemeral));
  }
  if (Object.keys(part(container, "resources")).length > 0) {
    out.push(forbiddenField(child(path, "resources"), notForEphemeral));
  }
  items(container, "volumeMounts").forEach((mount, at) => {
    for (const field of ["subPath", "subPathExpr"]) {
      if (text(mount, field) === "") continue;
      const here = child(index(child(path, "volumeMounts"), at), field);
      out.push(forbiddenField(here, notForEphemeral));
    }
  });
}

function checkPortConflicts(out: FieldError[], containers: readonly Fields[], path: string): void {
  const taken = new Set<string>();
  containers.forEach((container, at) => {
    items(container, "ports").forEach((port, i) => {
      const hostPort = number(port, "hostPort");
      if (hostPort === 0) return;
      const name = `${text(port, "protocol")}/${text(port, "hostIP")}/${hostPort}`;
      const here = child(index(child(index(path, at), "ports"), i), "hostPort");
      if (taken.has(name)) out.push(duplicate(here, name));
      taken.add(name);
    });
  });
}

export function checkImagePadding(out: FieldError[], container: Fields, path: string): void {
  const image = text(container, "image");
  if (image.trim() === image) return;
  const detail = "must not have leading or trailing whitespace";
  out.push(invalidValue(child(path, "image"), image, detail));
}

/** The pod-level resources must cover the sum of its containers. */
function checkWholePodResources(
  out: FieldError[],
  spec: Fields,
  { claims }: ContainerContext,
  path: string,
): void {
  const resources = maybe(spec, "resources");
  if (resources === undefined) return;
  if (text(part(spec, "os"), "name") === "windows") {
    out.push(forbiddenField(path, "may not be set for a windows pod"));
    return;
  }
  checkPodResources(out, resources, claims, path);
  const requests = part(resources, "requests");
  for (const [name, needed] of Object.entries(aggregateContainers(spec, "requests"))) {
    const given = tryParseQuantity(text(requests, name));
    // A resource that the pod does not name is the sum of its containers.
    if (given === undefined) continue;
    if (compareQuantities(needed, given) <= 0) continue;
    const detail = `must be greater than or equal to aggregate container requests of ${formatQuantity(needed)}`;
    out.push(invalidValue(key(child(path, "requests"), name), formatQuantity(given), detail));
  }
  const limits = part(resources, "limits");
  for (const [name, needed] of Object.entries(aggregateContainers(spec, "limits"))) {
    const given = tryParseQuantity(text(limits, name));
    if (!name.startsWith("hugepages-") || given === undefined) continue;
    if (compareQuantities(needed, given) <= 0) continue;
    const detail = `must be greater than or equal to aggregate container limits of ${formatQuantity(needed)}`;
    out.push(invalidValue(key(child(path, "limits"), name), formatQuantity(given), detail));
  }
  items(spec, "containers").forEach((container, at) => {
    for (const [name, amount] of Object.entries(part(part(container, "resources"), "limits"))) {
      const own = typeof amount === "string" ? tryParseQuantity(amount) : undefined;
      const limit = has(limits, name) ? tryParseQuantity(text(limits, name)) : undefined;
      if (own === undefined || limit === undefined || compareQuantities(own, limit) <= 0) continue;
      const here = child(key(index(child(path, "containers"), at), name), "limits");
      const detail = `must be less than or equal to pod limits of ${formatQuantity(limit)}`;
      out.push(invalidValue(here, formatQuantity(own), detail));
    }
  });
}

function checkHostPorts(out: FieldError[], spec: Fields, pod: PodContext, path: string): void {
  if (!flag(spec, "hostNetwork")) return;
  items(spec, "containers").forEach((container, at) => {
    items(container, "ports").forEach((port, i) => {
      const hostPort = number(port, "hostPort");
      const free = !pod.isPod && hostPort === 0;
      if (free || hostPort === number(port, "containerPort")) return;
      const ports = child(index(child(path, "containers"), at), "ports");
      const detail = "must match `containerPort` when `hostNetwork` is true";
      out.push(invalidValue(child(index(ports, i), "hostPort"), hostPort, detail));
    });
  });
}

function checkPolicies(out: FieldError[], spec: Fields, path: string): void {
  checkChoice(out, spec, "restartPolicy", restartPolicies, path);
  checkChoice(out, spec, "dnsPolicy", dnsPolicies, path);
  if (has(spec, "preemptionPolicy")) {
    checkChoice(out, spec, "preemptionPolicy", preemptionPolicies, path);
  }
}

/** A required text from a closed set. */
function checkChoice(
  out: FieldError[],
  fields: Fields,
  field: string,
  supported: readonly string[],
  path: string,
): void {
  const value = text(fields, field);
  if (value === "") out.push(required(child(path, field)));
  else if (!supported.includes(value)) out.push(notSupported(child(path, field), value, supported));
}

function checkDns(out: FieldError[], spec: Fields, path: string): void {
  const config = maybe(spec, "dnsConfig");
  const servers = texts(config ?? {}, "nameservers");
  if (text(spec, "dnsPolicy") === "None") {
    if (config === undefined) {
      out.push(required(path, "must provide `dnsConfig` when `dnsPolicy` is None"));
      return;
    }
    if (servers.length === 0) {
      const detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
      out.push(required(child(path, "nameservers"), detail));
      return;
    }
  }
  if (config === undefined) return;
  if (servers.length > nameserversMax) {
    const detail = `must not have more than ${nameserversMax} nameservers`;
    out.push(invalidValue(child(path, "nameservers"), servers, detail));
  }
  servers.forEach((address, at) => {
    checkAddress(out, address, index(child(path, "nameservers"), at));
  });
  checkSearches(out, texts(config, "searches"), child(path, "searches"));
  items(config, "options").forEach((option, at) => {
    if (text(option, "name") !== "") return;
    out.push(required(index(child(path, "options"), at), "must not be empty"));
  });
}

function checkSearches(out: FieldError[], searches: readonly string[], path: string): void {
  if (searches.length > searchesMax) {
    const detail = `must not have more than ${searchesMax} search paths`;
    out.push(invalidValue(path, searches, detail));
  }
  if (searches.join(" ").length > searchTextMax) {
    const detail = `must not have more than ${searchTextMax} characters (including spaces) in the search list`;
    out.push(invalidValue(path, searches, detail));
  }
  searches.forEach((search, at) => {
    if (search === ".") return;
    const name = search.endsWith(".") ? search.slice(0, -1) : search;
    append(out, invalidEach(index(path, at), name, underscoreDomainErrors(name)));
  });
}

function checkNames(out: FieldError[], spec: Fields, path: string): void {
  for (const field of ["serviceAccountName", "nodeName", "priorityClassName"]) {
    const name = text(spec, field);
    if (name === "") continue;
    append(out, invalidEach(child(path, field), name, dnsSubdomainName(name, false)));
  }
  const runtime = maybeText(spec, "runtimeClassName");
  if (runtime !== undefined) {
    const errors = dnsSubdomainName(runtime, false);
    append(out, invalidEach(child(path, "runtimeClassName"), runtime, errors));
  }
  for (const field of ["hostname", "subdomain"]) {
    const name = text(spec, field);
    if (name !== "") append(out, invalidEach(child(path, field), name, dns1123LabelErrors(name)));
  }
  checkHostnameOverride(out, spec, child(path, "hostnameOverride"));
  const deadline = maybeInteger(spec, "activeDeadlineSeconds");
  if (deadline !== undefined && (deadline < 1 || deadline > int32Max)) {
    const at = child(path, "activeDeadlineSeconds");
    out.push(invalidValue(at, deadline, rangeText(1, int32Max)));
  }
}

/** The Linux kernel's limit. */
const hostnameMax = 64;

function checkHostnameOverride(out: FieldError[], spec: Fields, path: string): void {
  const name = maybeText(spec, "hostnameOverride");
  if (name === undefined) return;
  if (spec["setHostnameAsFQDN"] === true)
    out.push(forbiddenField(path, "may not be specified when setHostnameAsFQDN is true"));
  if (spec["hostNetwork"] === true)
    out.push(forbiddenField(path, "may not be specified when hostNetwork is true"));
  if (isLonger(name, hostnameMax)) out.push(tooLong(path, hostnameMax));
  append(out, invalidEach(path, name, dnsSubdomainName(name, false)));
}

function checkHostAliases(out: FieldError[], spec: Fields, path: string): void {
  items(spec, "hostAliases").forEach((alias, at) => {
    const here = index(path, at);
    checkAddress(out, text(alias, "ip"), child(here, "ip"));
    texts(alias, "hostnames").forEach((name, i) => {
      const at1 = index(child(here, "hostnames"), i);
      append(out, invalidEach(at1, name, dnsSubdomainName(name, false)));
    });
  });
}

const template: PodContext = { podName: undefined, isPod: false };

export function checkPodTemplate(out: FieldError[], holder: Fields, path: string): void {
  const metadata = part(holder, "metadata");
  append(out, validateLabels(textMap(metadata, "labels"), child(path, "labels")));
  const annotations = textMap(metadata, "annotations");
  append(out, validateAnnotations(annotations, child(path, "annotations")));
  const spec = part(holder, "spec");
  checkAppArmorAnnotations(out, annotations, spec, child(path, "annotations"));
  checkPodSpec(out, spec, template, child(path, "spec"));
  if (count(spec, "ephemeralContainers") === 0) return;
  const at = child(path, "spec", "ephemeralContainers");
  out.push(forbiddenField(at, "ephemeral containers not allowed in pod template"));
}
