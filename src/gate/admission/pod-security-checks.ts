/**
 * The checks of the Pod Security Standards: each reads a pod and returns nothing, or the violation and its location.
 *
 * In     a pod's metadata and spec (of a Pod or of a template) and the minor version of the standard.
 * Out    reason and detail with upstream's texts (k8s.io/pod-security-admission).
 * Order  baseline checks before restricted ones, each group by identifier: messages depend on this order.
 * Absent the rules of versions before 1.25 for Windows pods: such pods are checked by the rules of 1.25.
 */
import { ownEntry } from "#base/own.ts";
import type {
  Container,
  LifecycleHandler,
  PodSecurityContext,
  PodSpec,
  Probe,
  SecurityContext,
  SELinuxOptions,
} from "#api/gen/types.ts";
import type { ObjectMeta } from "#api/object.ts";

export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

interface JudgedPod {
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
  /** 36 for v1.36 and for latest. */
  readonly minor: number;
}

type JudgedContainer = Pick<
  Container,
  | "name"
  | "securityContext"
  | "ports"
  | "lifecycle"
  | "livenessProbe"
  | "readinessProbe"
  | "startupProbe"
>;

interface Check {
  /** The baseline check that this restricted check replaces. */
  readonly replaces?: string;
  readonly sinceMinor?: number;
  readonly find: (pod: JudgedPod) => Violation | undefined;
}

/** The violations of `pod` at `level`; empty when it is allowed. */
export function judgePod(
  pod: JudgedPod,
  level: "privileged" | "baseline" | "restricted",
): readonly Violation[] {
  if (level === "privileged") return [];
  const isInForce = ([, { sinceMinor = 0 }]: readonly [string, Check]): boolean =>
    sinceMinor <= pod.minor;
  const stricter = level === "restricted" ? restricted.filter(isInForce) : [];
  const replaced = stricter.map(([, check]) => check.replaces);
  const kept = baseline.filter((entry) => isInForce(entry) && !replaced.includes(entry[0]));
  return [...kept, ...stricter].flatMap(([, check]) => check.find(pod) ?? []);
}

/** `reason (detail), reason (detail)`. */
export function describeViolations(violations: readonly Violation[]): string {
  return violations
    .map(({ reason, detail }) => (detail === "" ? reason : `${reason} (${detail})`))
    .join(", ");
}

// ---- texts

function plural(singular: string, count: number): string {
  return count === 1 ? singular : `${singular}s`;
}

function list(items: readonly string[]): string {
  return items.map((item) => `"${item}"`).join(", ");
}

function containersText(names: readonly string[]): string {
  return `${plural("container", names.length)} ${list(names)}`;
}

function sortNames(items: Iterable<string>): readonly string[] {
  return [...new Set(items)].sort();
}

/** Names who set a field: `pod and containers "a", "b"`. */
function setters(pod: boolean, containers: readonly string[]): string {
  const named = containers.length === 0 ? [] : [containersText(containers)];
  return [...(pod ? ["pod"] : []), ...named].join(" and ");
}

function containersOf({ spec }: JudgedPod): readonly JudgedContainer[] {
  return [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
}

function namesWhere(pod: JudgedPod, bad: (container: JudgedContainer) => boolean): string[] {
  return containersOf(pod)
    .filter(bad)
    .map((container) => container.name);
}

/** Since 1.35, fields confined by a user namespace are not checked. */
function isConfined(pod: JudgedPod): boolean {
  return pod.minor >= 35 && pod.spec.hostUsers === false;
}

function isWindows(pod: JudgedPod): boolean {
  return pod.spec.os?.name === "windows";
}

/** A field both the pod and its containers may set: values outside `allowed`, and what set them. */
function badValues(
  pod: JudgedPod,
  read: (context: SecurityContext | PodSecurityContext | undefined) => string | undefined,
  allowed: readonly string[],
): {
  readonly podIsBad: boolean;
  readonly containers: string[];
  readonly values: readonly string[];
} {
  const isBad = (value: string | undefined): boolean =>
    value !== undefined && !allowed.includes(value);
  const own = read(pod.spec.securityContext);
  const containers = namesWhere(pod, (container) => isBad(read(container.securityContext)));
  const set = containersOf(pod).map((container) => read(container.securityContext));
  const values = sortNames([own, ...set].filter((value): value is string => isBad(value)));
  return { podIsBad: isBad(own), containers, values };
}

// ---- baseline

const profileTypes = ["RuntimeDefault", "Localhost"];
const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";

function appArmor(pod: JudgedPod): Violation | undefined {
  const { podIsBad, containers, values } = badValues(
    pod,
    (context) => context?.appArmorProfile?.type,
    profileTypes,
  );
  const annotations = Object.entries(pod.metadata.annotations ?? {})
    .filter(([key, value]) => key.startsWith(appArmorPrefix) && !allowedAppArmor(value))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  const who = [
    ...(podIsBad || containers.length > 0 ? [setters(podIsBad, containers)] : []),
    ...(annotations.length === 0 ? [] : [plural("annotation", annotations.length)]),
  ];
  if (who.length === 0) return undefined;
  const all = [...values, ...annotations];
  return {
    reason: plural("forbidden AppArmor profile", all.length),
    detail: `${who.join(" and ")} must not set AppArmor profile type to ${list(all)}`,
  };
}

function allowedAppArmor(value: string): boolean {
  return value === "" || value === "runtime/default" || value.startsWith("localhost/");
}

const baselineCapabilities: ReadonlySet<string> = new Set([
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
]);

function addedCapabilities(container: JudgedContainer): readonly string[] {
  return container.securityContext?.capabilities?.add ?? [];
}

function capabilities(pod: JudgedPod): Violation | undefined {
  const bad = (name: string): boolean => !baselineCapabilities.has(name);
  const names = namesWhere(pod, (container) => addedCapabilities(container).some(bad));
  if (names.length === 0) return undefined;
  const added = sortNames(containersOf(pod).flatMap(addedCapabilities).filter(bad));
  return {
    reason: "non-default capabilities",
    detail: `${containersText(names)} must not include ${list(added)} in securityContext.capabilities.add`,
  };
}

function hostNamespaces({ spec }: JudgedPod): Violation | undefined {
  const set = (["hostNetwork", "hostPID", "hostIPC"] as const).filter(
    (field) => spec[field] === true,
  );
  if (set.length === 0) return undefined;
  return { reason: "host namespaces", detail: set.map((field) => `${field}=true`).join(", ") };
}

function hostPathVolumes({ spec }: JudgedPod): Violation | undefined {
  const names = (spec.volumes ?? [])
    .filter((volume) => volume.hostPath !== undefined)
    .map((volume) => volume.name);
  if (names.length === 0) return undefined;
  return { reason: "hostPath volumes", detail: `${plural("volume", names.length)} ${list(names)}` };
}

function hostPorts(pod: JudgedPod): Violation | undefined {
  const portsOf = (container: JudgedContainer): readonly string[] =>
    (container.ports ?? []).flatMap(({ hostPort = 0 }) =>
      hostPort === 0 ? [] : [String(hostPort)],
    );
  const names = namesWhere(pod, (container) => portsOf(container).length > 0);
  if (names.length === 0) return undefined;
  const ports = sortNames(containersOf(pod).flatMap(portsOf));
  const uses = names.length === 1 ? "uses" : "use";
  return {
    reason: "hostPort",
    detail: `${containersText(names)} ${uses} ${plural("hostPort", ports.length)} ${ports.join(", ")}`,
  };
}

function hostProbes(pod: JudgedPod): Violation | undefined {
  const hostsOf = (container: JudgedContainer): readonly string[] => {
    const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
    const handlers: readonly (Probe | LifecycleHandler | undefined)[] = [
      livenessProbe,
      readinessProbe,
      startupProbe,
      lifecycle?.postStart,
      lifecycle?.preStop,
    ];
    const hosts = handlers.flatMap((handler) => [handler?.httpGet?.host, handler?.tcpSocket?.host]);
    return hosts.filter((host): host is string => host !== undefined && host !== "");
  };
  const names = sortNames(namesWhere(pod, (container) => hostsOf(container).length > 0));
  if (names.length === 0) return undefined;
  const hosts = sortNames(containersOf(pod).flatMap(hostsOf));
  const uses = names.length === 1 ? "uses" : "use";
  return {
    reason: "probe or lifecycle host",
    detail: `${containersText(names)} ${uses} ${plural("probe or lifecycle host", hosts.length)} ${list(hosts)}`,
  };
}

function findPrivileged(pod: JudgedPod): Violation | undefined {
  const names = namesWhere(pod, ({ securityContext }) => securityContext?.privileged === true);
  if (names.length === 0) return undefined;
  return {
    reason: "privileged",
    detail: `${containersText(names)} must not set securityContext.privileged=true`,
  };
}

function procMount(pod: JudgedPod): Violation | undefined {
  const mountOf = ({ securityContext }: JudgedContainer): string =>
    securityContext?.procMount ?? "Default";
  const names = namesWhere(pod, (container) => mountOf(container) !== "Default");
  if (names.length === 0) return undefined;
  const types = sortNames(
    containersOf(pod)
      .map(mountOf)
      .filter((type) => type !== "Default"),
  );
  return {
    reason: "procMount",
    detail: `${containersText(names)} must not set securityContext.procMount to ${list(types)}`,
  };
}

function seLinux(pod: JudgedPod): Violation | undefined {
  const types = ["", "container_t", "container_init_t", "container_kvm_t"];
  if (pod.minor >= 31) types.push("container_engine_t");
  const isBad = (options: SELinuxOptions | undefined): boolean =>
    options !== undefined &&
    (!types.includes(options.type ?? "") ||
      (options.user ?? "") !== "" ||
      (options.role ?? "") !== "");
  const own = pod.spec.securityContext?.seLinuxOptions;
  const names = namesWhere(pod, ({ securityContext }) => isBad(securityContext?.seLinuxOptions));
  if (!isBad(own) && names.length === 0) return undefined;
  const set = [own, ...containersOf(pod).map((c) => c.securityContext?.seLinuxOptions)];
  const badTypes = sortNames(
    set.map((options) => options?.type ?? "").filter((type) => !types.includes(type)),
  );
  const faults = [
    ...(badTypes.length === 0 ? [] : [`${plural("type", badTypes.length)} ${list(badTypes)}`]),
    ...(set.some((options) => (options?.user ?? "") !== "") ? ["user may not be set"] : []),
    ...(set.some((options) => (options?.role ?? "") !== "") ? ["role may not be set"] : []),
  ];
  const who = setters(isBad(own), names);
  return {
    reason: "seLinuxOptions",
    detail: `${who} set forbidden securityContext.seLinuxOptions: ${faults.join("; ")}`,
  };
}

function seccompValues(pod: JudgedPod) {
  return badValues(pod, (context) => context?.seccompProfile?.type, profileTypes);
}

/** Since this version there are fields for what annotations said before. */
const seccompFieldsMinor = 19;
const seccompPodKey = "seccomp.security.alpha.kubernetes.io/pod";
const seccompContainerPrefix = "container.seccomp.security.alpha.kubernetes.io/";

function seccompAnnotations(pod: JudgedPod): Violation | undefined {
  const annotations = pod.metadata.annotations ?? {};
  const containers = containersOf(pod).map(({ name }) => `${seccompContainerPrefix}${name}`);
  const bad = [...new Set([seccompPodKey, ...containers])].flatMap((key) => {
    const value = ownEntry(annotations, key);
    const isFine = value === undefined || isSeccompAnnotation(value);
    return isFine ? [] : [`${key}=${JSON.stringify(value)}`];
  });
  if (bad.length === 0) return undefined;
  const detail = `forbidden ${plural("annotation", bad.length)} ${bad.toSorted().join(", ")}`;
  return { reason: "seccompProfile", detail };
}

function isSeccompAnnotation(value: string): boolean {
  const known = value === "runtime/default" || value === "docker/default";
  return known || value.startsWith("localhost/");
}

function seccomp(pod: JudgedPod): Violation | undefined {
  if (pod.minor < seccompFieldsMinor) return seccompAnnotations(pod);
  const { podIsBad, containers, values } = seccompValues(pod);
  if (!podIsBad && containers.length === 0) return undefined;
  const who = setters(podIsBad, containers);
  return {
    reason: "seccompProfile",
    detail: `${who} must not set securityContext.seccompProfile.type to ${list(values)}`,
  };
}

/** Safe sysctls with the minor version that first allowed them. */
const safeSysctls: Readonly<Record<string, number>> = {
  "kernel.shm_rmid_forced": 0,
  "net.ipv4.ip_local_port_range": 0,
  "net.ipv4.tcp_syncookies": 0,
  "net.ipv4.ping_group_range": 0,
  "net.ipv4.ip_unprivileged_port_start": 0,
  "net.ipv4.ip_local_reserved_ports": 27,
  "net.ipv4.tcp_keepalive_time": 29,
  "net.ipv4.tcp_fin_timeout": 29,
  "net.ipv4.tcp_keepalive_intvl": 29,
  "net.ipv4.tcp_keepalive_probes": 29,
  "net.ipv4.tcp_rmem": 32,
  "net.ipv4.tcp_wmem": 32,
};

function sysctls({ spec, minor }: JudgedPod): Violation | undefined {
  const bad = (spec.securityContext?.sysctls ?? [])
    .map((sysctl) => sysctl.name)
    .filter((name) => minor < (ownEntry(safeSysctls, name) ?? minor + 1));
  return bad.length === 0 ? undefined : { reason: "forbidden sysctls", detail: bad.join(", ") };
}

function hostProcess(pod: JudgedPod): Violation | undefined {
  const own = pod.spec.securityContext?.windowsOptions?.hostProcess === true;
  const names = namesWhere(
    pod,
    ({ securityContext }) => securityContext?.windowsOptions?.hostProcess === true,
  );
  if (!own && names.length === 0) return undefined;
  const who = setters(own, names);
  return {
    reason: "hostProcess",
    detail: `${who} must not set securityContext.windowsOptions.hostProcess=true`,
  };
}

// ---- restricted

function privilegeEscalation(pod: JudgedPod): Violation | undefined {
  if (isWindows(pod)) return undefined;
  const names = namesWhere(
    pod,
    ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false,
  );
  if (names.length === 0) return undefined;
  return {
    reason: "allowPrivilegeEscalation != false",
    detail: `${containersText(names)} must set securityContext.allowPrivilegeEscalation=false`,
  };
}

function restrictedCapabilities(pod: JudgedPod): Violation | undefined {
  if (isWindows(pod)) return undefined;
  const bad = (name: string): boolean => name !== "NET_BIND_SERVICE";
  const keeping = namesWhere(
    pod,
    ({ securityContext }) => !(securityContext?.capabilities?.drop ?? []).includes("ALL"),
  );
  const adding = namesWhere(pod, (container) => addedCapabilities(container).some(bad));
  const added = sortNames(containersOf(pod).flatMap(addedCapabilities).filter(bad));
  const details = [
    ...(keeping.length === 0
      ? []
      : [`${containersText(keeping)} must set securityContext.capabilities.drop=["ALL"]`]),
    ...(adding.length === 0
      ? []
      : [
          `${containersText(adding)} must not include ${list(added)} in securityContext.capabilities.add`,
        ]),
  ];
  if (details.length === 0) return undefined;
  return { reason: "unrestricted capabilities", detail: details.join("; ") };
}

const restrictedSources: ReadonlySet<string> = new Set([
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
]);

function restrictedVolumes({ spec }: JudgedPod): Violation | undefined {
  const sourcesOf = (volume: object): readonly string[] =>
    Object.entries(volume)
      .filter(([key, value]) => key !== "name" && value !== undefined)
      .map(([key]) => key);
  const bad = (spec.volumes ?? []).filter(
    (volume) => !sourcesOf(volume).some((source) => restrictedSources.has(source)),
  );
  if (bad.length === 0) return undefined;
  const names = bad.map((volume) => volume.name);
  const types = sortNames(bad.map((volume) => sourcesOf(volume)[0] ?? "unknown"));
  const uses = names.length === 1 ? "uses" : "use";
  return {
    reason: "restricted volume types",
    detail: `${plural("volume", names.length)} ${list(names)} ${uses} ${plural("restricted volume type", types.length)} ${list(types)}`,
  };
}

function runAsNonRoot(pod: JudgedPod): Violation | undefined {
  if (isConfined(pod)) return undefined;
  const reason = "runAsNonRoot != true";
  const own = pod.spec.securityContext?.runAsNonRoot;
  const explicit = namesWhere(pod, (c) => c.securityContext?.runAsNonRoot === false);
  if (own === false || explicit.length > 0) {
    const who = setters(own === false, explicit);
    return { reason, detail: `${who} must not set securityContext.runAsNonRoot=false` };
  }
  const silent = namesWhere(pod, (c) => c.securityContext?.runAsNonRoot === undefined);
  if (own === true || silent.length === 0) return undefined;
  return {
    reason,
    detail: `pod or ${containersText(silent)} must set securityContext.runAsNonRoot=true`,
  };
}

function runAsUser(pod: JudgedPod): Violation | undefined {
  if (isConfined(pod)) return undefined;
  const own = pod.spec.securityContext?.runAsUser === 0;
  const names = namesWhere(pod, ({ securityContext }) => securityContext?.runAsUser === 0);
  if (!own && names.length === 0) return undefined;
  return { reason: "runAsUser=0", detail: `${setters(own, names)} must not set runAsUser=0` };
}

function restrictedSeccomp(pod: JudgedPod): Violation | undefined {
  if (isWindows(pod)) return undefined;
  const explicit = seccomp(pod);
  if (explicit !== undefined) return explicit;
  const silent = namesWhere(pod, (c) => c.securityContext?.seccompProfile === undefined);
  if (pod.spec.securityContext?.seccompProfile !== undefined || silent.length === 0) {
    return undefined;
  }
  return {
    reason: "seccompProfile",
    detail: `pod or ${containersText(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
  };
}

const procMountUnlessConfined = (pod: JudgedPod): Violation | undefined =>
  isConfined(pod) ? undefined : procMount(pod);

const baselineChecks: Readonly<Record<string, Check>> = {
  appArmorProfile: { find: appArmor },
  capabilities_baseline: { find: capabilities },
  hostNamespaces: { find: hostNamespaces },
  hostPathVolumes: { find: hostPathVolumes },
  hostPorts: { find: hostPorts },
  hostProbesAndHostLifecycle: { find: hostProbes, sinceMinor: 34 },
  privileged: { find: findPrivileged },
  procMount: { find: procMountUnlessConfined },
  seLinuxOptions: { find: seLinux },
  seccompProfile_baseline: { find: seccomp },
  sysctls: { find: sysctls },
  windowsHostProcess: { find: hostProcess },
};

const restrictedChecks: Readonly<Record<string, Check>> = {
  allowPrivilegeEscalation: { find: privilegeEscalation, sinceMinor: 8 },
  capabilities_restricted: {
    find: restrictedCapabilities,
    replaces: "capabilities_baseline",
    sinceMinor: 22,
  },
  procMount_restricted: { find: procMount, replaces: "procMount", sinceMinor: 35 },
  restrictedVolumes: { find: restrictedVolumes, replaces: "hostPathVolumes" },
  runAsNonRoot: { find: runAsNonRoot },
  runAsUser: { find: runAsUser, sinceMinor: 23 },
  seccompProfile_restricted: {
    find: restrictedSeccomp,
    replaces: "seccompProfile_baseline",
    sinceMinor: 19,
  },
};

const baseline = Object.entries(baselineChecks);
const restricted = Object.entries(restrictedChecks);
