/** Warnings about pod annotations that were replaced by fields. */
import { profileOfAnnotation } from "./apparmor.ts";
import type { Fields } from "./fields.ts";
import { has, maybe, part, text } from "./fields.ts";
import { key } from "./errors.ts";
import { semanticEqual } from "./equal.ts";

type Annotations = Readonly<Record<string, string>>;

/** In upstream's order. */
const gone: readonly (readonly [string, string])[] = [
  [
    "scheduler.alpha.kubernetes.io/critical-pod",
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  ],
  [
    "security.alpha.kubernetes.io/sysctls",
    'non-functional in v1.11+; use the "sysctls" field instead',
  ],
  [
    "security.alpha.kubernetes.io/unsafe-sysctls",
    'non-functional in v1.11+; use the "sysctls" field instead',
  ],
];

export function annotationWarnings(annotations: Annotations, path: string): readonly string[] {
  return gone
    .filter(([name]) => annotations[name] !== undefined)
    .map(([name, why]) => `${key(path, name)}: ${why}`);
}

const seccompPod = "seccomp.security.alpha.kubernetes.io/pod";
const seccompContainer = "container.seccomp.security.alpha.kubernetes.io/";
const appArmor = "container.apparmor.security.beta.kubernetes.io/";
const seccompGone = 'non-functional in v1.27+; use the "seccompProfile" field instead';
const appArmorGone = 'deprecated since v1.30; use the "appArmorProfile" field instead';

interface Profiled {
  readonly annotations: Annotations;
  /** Path of the annotations. */
  readonly path: string;
  readonly spec: Fields;
  /** Undefined: the pod as a whole. */
  readonly container: Fields | undefined;
  /** For pods `appArmorWarnings` warns about AppArmor. */
  readonly as: "pod" | "template";
}

/** Warns about profiles of seccomp and AppArmor in annotations whose field is not set. */
export function profileWarnings(profiled: Profiled): readonly string[] {
  const { annotations, path, spec, container, as } = profiled;
  const name = container === undefined ? "" : text(container, "name");
  const seccomp = container === undefined ? seccompPod : seccompContainer + name;
  const context = part(container ?? spec, "securityContext");
  const out: string[] = [];
  if (annotations[seccomp] !== undefined && !has(context, "seccompProfile")) {
    out.push(`${key(path, seccomp)}: ${seccompGone}`);
  }
  if (container === undefined || as === "pod") return out;
  const said = annotations[appArmor + name];
  if (said === undefined || has(context, "appArmorProfile")) return out;
  if (isProfileOfPod(said, profiled)) return out;
  return [...out, `${key(path, appArmor + name)}: ${appArmorGone}`];
}

function isProfileOfPod(said: string, { spec }: Profiled): boolean {
  const ofPod = maybe(part(spec, "securityContext"), "appArmorProfile");
  const annotated = profileOfAnnotation(said);
  return ofPod !== undefined && annotated !== undefined && semanticEqual(ofPod, annotated);
}
