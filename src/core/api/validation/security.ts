/** Security contexts of pods and containers. */
import type { FieldError } from "../status.ts";
import type { Fields } from "./fields.ts";
import {
  count,
  flag,
  has,
  items,
  maybe,
  maybeInteger,
  maybeText,
  part,
  text,
  texts,
} from "./fields.ts";
import {
  child,
  duplicate,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  tooLong,
  append,
} from "./errors.ts";
import { checkRelativePath, idErrors } from "./text.ts";

const profileTypes = ["Localhost", "RuntimeDefault", "Unconfined"];
const appArmorPathMax = 4095;
const sysctlMax = 253;
const sysctlPattern = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const sysctlRegex = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;

export function checkSecurityContext(
  out: FieldError[],
  context: Fields | undefined,
  hostUsers: boolean,
  path: string,
): void {
  if (context === undefined) return;
  checkIds(out, context, ["runAsUser", "runAsGroup"], path);
  const procMount = maybeText(context, "procMount");
  if (procMount !== undefined) {
    const at = child(path, "procMount");
    const known = ["Default", "Unmasked"];
    if (!known.includes(procMount)) out.push(notSupported(at, procMount, known));
    if (hostUsers && procMount === "Unmasked") {
      out.push(invalidValue(at, procMount, "`hostUsers` must be false to use `Unmasked`"));
    }
  }
  checkSeccomp(out, maybe(context, "seccompProfile"), child(path, "seccompProfile"));
  checkEscalation(out, context, path);
  checkAppArmor(out, maybe(context, "appArmorProfile"), child(path, "appArmorProfile"));
}

function checkIds(
  out: FieldError[],
  context: Fields,
  fields: readonly string[],
  path: string,
): void {
  for (const field of fields) {
    const id = maybeInteger(context, field);
    if (id !== undefined) append(out, invalidEach(child(path, field), id, idErrors(id)));
  }
}

function checkEscalation(out: FieldError[], context: Fields, path: string): void {
  if (context["allowPrivilegeEscalation"] !== false) return;
  const start = "cannot set `allowPrivilegeEscalation` to false and";
  if (flag(context, "privileged")) {
    out.push(invalidValue(path, context, `${start} \`privileged\` to true`));
  }
  if (texts(part(context, "capabilities"), "add").includes("CAP_SYS_ADMIN")) {
    out.push(invalidValue(path, context, `${start} \`capabilities.Add\` CAP_SYS_ADMIN`));
  }
}

function checkSeccomp(out: FieldError[], profile: Fields | undefined, path: string): void {
  if (profile === undefined) return;
  const type = text(profile, "type");
  const at = child(path, "type");
  if (type === "") out.push(required(at, "type is required when seccompProfile is set"));
  else if (!profileTypes.includes(type)) out.push(notSupported(at, type, profileTypes));
  const file = maybeText(profile, "localhostProfile");
  const at1 = child(path, "localhostProfile");
  if (type !== "Localhost") {
    if (file === undefined) return;
    out.push(invalidValue(at1, profile, "can only be set when seccomp type is Localhost"));
  } else if (file === undefined) {
    out.push(required(at1, "must be set when seccomp type is Localhost"));
  } else checkRelativePath(out, file, at1);
}

function checkAppArmor(out: FieldError[], profile: Fields | undefined, path: string): void {
  if (profile === undefined) return;
  const type = text(profile, "type");
  const file = maybeText(profile, "localhostProfile");
  const at = child(path, "localhostProfile");
  if (type === "Localhost") {
    const missing = "must be set when AppArmor type is Localhost";
    if (file === undefined) out.push(required(at, missing));
    else if (file.trim() !== file) {
      out.push(invalidValue(at, file, "must not be padded with whitespace"));
    } else if (file === "") out.push(required(at, missing));
    if (file !== undefined && file.length > appArmorPathMax) {
      out.push(tooLong(at, appArmorPathMax));
    }
  } else if (type === "") {
    out.push(required(child(path, "type"), "type is required when appArmorProfile is set"));
  } else if (!profileTypes.includes(type)) {
    out.push(notSupported(child(path, "type"), type, profileTypes));
  } else if (file !== undefined) {
    out.push(invalidValue(at, file, "can only be set when AppArmor type is Localhost"));
  }
}

const oneOf: Readonly<Record<string, readonly string[]>> = {
  fsGroupChangePolicy: ["Always", "OnRootMismatch"],
  supplementalGroupsPolicy: ["Merge", "Strict"],
  seLinuxChangePolicy: ["MountOption", "Recursive"],
};

export function checkPodSecurityContext(out: FieldError[], spec: Fields, path: string): void {
  const context = maybe(spec, "securityContext");
  if (context === undefined) return;
  checkIds(out, context, ["fsGroup", "runAsUser", "runAsGroup"], path);
  const groups = context["supplementalGroups"];
  if (Array.isArray(groups)) {
    groups.forEach((id: number | bigint, at) => {
      append(out, invalidEach(index(child(path, "supplementalGroups"), at), id, idErrors(id)));
    });
  }
  if (flag(spec, "shareProcessNamespace") && flag(spec, "hostPID")) {
    const detail = "ShareProcessNamespace and HostPID cannot both be enabled";
    out.push(invalidValue(child(path, "shareProcessNamespace"), true, detail));
  }
  checkSysctls(out, context, spec, child(path, "sysctls"));
  for (const [field, known] of Object.entries(oneOf)) {
    const value = maybeText(context, field);
    if (value !== undefined && !known.includes(value)) {
      out.push(notSupported(child(path, field), value, known));
    }
  }
  checkSeccomp(out, maybe(context, "seccompProfile"), child(path, "seccompProfile"));
  checkAppArmor(out, maybe(context, "appArmorProfile"), child(path, "appArmorProfile"));
}

function checkSysctls(out: FieldError[], context: Fields, spec: Fields, path: string): void {
  const seen = new Set<string>();
  items(context, "sysctls").forEach((sysctl, at) => {
    const name = text(sysctl, "name");
    const here = child(index(path, at), "name");
    if (name === "") out.push(required(here));
    else if (name.length > sysctlMax || !sysctlRegex.test(name)) {
      const detail = `must have at most ${sysctlMax} characters and match regex ${sysctlPattern}`;
      out.push(invalidValue(here, name, detail));
    } else if (seen.has(name)) out.push(duplicate(here, name));
    seen.add(name);
    const dotted = name.replaceAll("/", ".");
    if (flag(spec, "hostNetwork") && dotted.startsWith("net.")) {
      out.push(invalidValue(here, name, "may not be specified when 'hostNetwork' is true"));
    } else if (flag(spec, "hostIPC") && /^(kernel\.(shm|msg|sem)|fs\.mqueue\.)/.test(dotted)) {
      out.push(invalidValue(here, name, "may not be specified when 'hostIPC' is true"));
    }
  });
}

/** A separate user namespace excludes the host's other namespaces. */
export function checkHostUsers(out: FieldError[], spec: Fields, path: string): void {
  if (spec["hostUsers"] !== false) return;
  const detail = "when `hostUsers` is false";
  for (const [field, shown] of [
    ["hostNetwork", "hostNetwork"],
    ["hostPID", "HostPID"],
    ["hostIPC", "HostIPC"],
  ] as const) {
    if (flag(spec, field)) out.push(forbiddenField(child(path, shown), detail));
  }
  for (const list of ["initContainers", "containers", "ephemeralContainers"]) {
    items(spec, list).forEach((container, at) => {
      if (count(container, "volumeDevices") === 0) return;
      out.push(forbiddenField(child(index(child(path, list), at), "volumeDevices"), detail));
    });
  }
}

const linuxOnlyPod = ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"];
const linuxOnlyPodContext = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "fsGroup",
  "fsGroupChangePolicy",
  "sysctls",
  "runAsUser",
  "runAsGroup",
  "supplementalGroups",
  "supplementalGroupsPolicy",
  "seLinuxChangePolicy",
];
const linuxOnlyContext = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup",
];

export function checkOs(out: FieldError[], spec: Fields, path: string): void {
  const os = maybe(spec, "os");
  if (os === undefined) return;
  const name = text(os, "name");
  if (name === "") out.push(required(child(path, "os", "name"), "cannot be empty"));
  else if (name === "windows") checkWindows(out, spec, path);
  else if (name === "linux") checkLinux(out, spec, path);
  else out.push(notSupported(child(path, "os"), name, ["linux", "windows"]));
}

function checkWindows(out: FieldError[], spec: Fields, path: string): void {
  const detail = "cannot be set for a windows pod";
  for (const field of linuxOnlyPod) {
    if (has(spec, field) && spec[field] !== false)
      out.push(forbiddenField(child(path, field), detail));
  }
  const context = part(spec, "securityContext");
  for (const field of linuxOnlyPodContext) {
    if (has(context, field))
      out.push(forbiddenField(child(path, "securityContext", field), detail));
  }
  eachContainer(spec, path, (container, at) => {
    const own = part(container, "securityContext");
    for (const field of linuxOnlyContext) {
      if (has(own, field)) out.push(forbiddenField(child(at, "securityContext", field), detail));
    }
  });
}

function checkLinux(out: FieldError[], spec: Fields, path: string): void {
  const detail = "windows options cannot be set for a linux pod";
  const check = (holder: Fields, at: string): void => {
    if (!has(part(holder, "securityContext"), "windowsOptions")) return;
    out.push(forbiddenField(child(at, "securityContext", "windowsOptions"), detail));
  };
  check(spec, path);
  eachContainer(spec, path, check);
}

/** Init, regular and ephemeral containers, each with its path. */
function eachContainer(
  spec: Fields,
  path: string,
  visit: (container: Fields, path: string) => void,
): void {
  for (const list of ["initContainers", "containers", "ephemeralContainers"]) {
    items(spec, list).forEach((container, at) => visit(container, index(child(path, list), at)));
  }
}
