/**
 * Resizing a running pod: only requests and limits of cpu and memory change; existing requests and limits
 * are never removed. Texts and order as upstream's core/validation.
 */
import { given } from "#base/given.ts";
import type { FieldError } from "../status.ts";
import { podQosClass } from "../strategies/qos.ts";
import { semanticEqual } from "./equal.ts";
import { child, forbiddenField, index, invalidValue } from "./errors.ts";
import type { Fields } from "./fields.ts";
import { has, hasEntries, isFields, items, part, text, textMap } from "./fields.ts";
import { checkPod, mirrorAnnotation } from "./pods.ts";

type List = "containers" | "initContainers";

const compute = new Set(["cpu", "memory"]);

export function validateResize(next: Fields, old: Fields): FieldError[] {
  const refused = resizeRefused(old);
  if (refused !== undefined) return [forbiddenField("[]", refused)];
  const out: FieldError[] = [];
  checkPod(out, next);
  const spec = part(next, "spec");
  const before = part(old, "spec");
  checkQosClass(out, next, old);
  if (!supportsResize(part(old, "status"))) {
    out.push(forbiddenField("spec", "Pod running on node without support for resize"));
  }
  if (hasPodResources(spec) || hasPodResources(before)) checkPodResources(out, spec, before);
  const claims = part(old, "status")["nodeAllocatableResourceClaimStatuses"];
  if (Array.isArray(claims) && claims.length > 0) {
    const why = "pods with node allocatable resource claims cannot be resized";
    out.push(forbiddenField("spec", why));
  }
  if (!checkOrder(out, spec, before)) return out;
  for (const list of ["initContainers", "containers"] as const) {
    items(before, list).forEach((was, at) => {
      const path = child(index(child("spec", list), at), "resources");
      checkKept(out, part(items(spec, list)[at] ?? {}, "resources"), part(was, "resources"), path);
    });
  }
  checkContainers(out, spec, before);
  checkInitContainers(out, spec, before);
  if (out.length === 0 && !semanticEqual(masked(spec, before), before)) {
    out.push(forbiddenField("spec", "only cpu and memory resources are mutable"));
  }
  return out;
}

function resizeRefused(old: Fields): string | undefined {
  const annotations = textMap(part(old, "metadata"), "annotations");
  if (annotations[mirrorAnnotation] !== undefined) return "static pods cannot be resized";
  const os = text(part(part(old, "spec"), "os"), "name");
  return os === "windows" ? "windows pods cannot be resized" : undefined;
}

function checkQosClass(out: FieldError[], next: Fields, old: Fields): void {
  const qos = text(part(old, "status"), "qosClass") || podQosClass(part(old, "spec"));
  if (qos === podQosClass(part(next, "spec"))) return;
  const shown = text(part(next, "status"), "qosClass");
  out.push(invalidValue("spec", shown, "Pod QOS Class may not change as a result of resizing"));
}

/** A running container that reports its resources is on a node that supports resizing. */
function supportsResize(status: Fields): boolean {
  const running = items(status, "containerStatuses").find((each) =>
    has(part(each, "state"), "running"),
  );
  return running === undefined || has(running, "resources");
}

function hasPodResources(spec: Fields): boolean {
  const resources = part(spec, "resources");
  return hasEntries(resources, "requests") || hasEntries(resources, "limits");
}

function checkPodResources(out: FieldError[], spec: Fields, before: Fields): void {
  const path = "spec.resources";
  if (has(before, "resources") && !has(spec, "resources")) {
    out.push(forbiddenField(path, "pod-level resources cannot be removed"));
    return;
  }
  const now = part(spec, "resources");
  const was = part(before, "resources");
  if (has(before, "resources")) checkKept(out, now, was, path, "pod-level ");
  if (semanticEqual(maskedResources(now, was), was)) return;
  out.push(forbiddenField("spec", "only cpu and memory resources are mutable at pod-level"));
}

function checkKept(
  out: FieldError[],
  now: Fields,
  was: Fields,
  path: string,
  level: "pod-level " | "" = "",
): void {
  for (const [list, what] of [
    ["requests", "resource requests"],
    ["limits", "resource limits"],
  ] as const) {
    const lost = Object.keys(part(was, list)).some((name) => !has(part(now, list), name));
    if (lost) out.push(forbiddenField(child(path, list), `${level}${what} cannot be removed`));
  }
}

/** @returns false when the containers cannot be compared pairwise. */
function checkOrder(out: FieldError[], spec: Fields, before: Fields): boolean {
  const findings = out.length;
  for (const list of ["containers", "initContainers"] as const) {
    const path = child("spec", list);
    const now = items(spec, list);
    const was = items(before, list);
    if (now.length !== was.length) {
      out.push(forbiddenField(path, `${list} may not be added or removed on resize`));
      continue;
    }
    was.forEach((container, at) => {
      if (text(now[at] ?? {}, "name") === text(container, "name")) return;
      const why = `${list} may not be renamed or reordered on resize`;
      out.push(forbiddenField(child(index(path, at), "name"), why));
    });
  }
  return out.length === findings;
}

function checkContainers(out: FieldError[], spec: Fields, before: Fields): void {
  items(before, "containers").forEach((was, at) => {
    const now = items(spec, "containers")[at] ?? {};
    if (semanticEqual(maskedContainer(now, was), comparable(was))) return;
    out.push(forbiddenField("spec", "only cpu and memory resources are mutable"));
  });
}

function checkInitContainers(out: FieldError[], spec: Fields, before: Fields): void {
  items(before, "initContainers").forEach((was, at) => {
    const now = items(spec, "initContainers")[at] ?? {};
    const path = index("spec.initContainers", at);
    if (!semanticEqual(maskedContainer(now, was), comparable(was))) {
      const why = "only cpu and memory resources for init or sidecar containers are mutable";
      out.push(forbiddenField(path, why));
    }
    if (text(now, "restartPolicy") === "Always") return;
    if (semanticEqual(comparable(now), comparable(was))) return;
    for (const policy of items(now, "resizePolicy")) {
      if (text(policy, "restartPolicy") !== "RestartContainer") continue;
      const why =
        "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
      out.push(forbiddenField(path, why));
    }
  });
}

/** `spec` with the cpu and memory of `before`; any other difference is refused. */
function masked(spec: Fields, before: Fields): Fields {
  const containers = (list: List): Fields =>
    has(spec, list)
      ? {
          [list]: items(spec, list).map((now, at) => restored(now, items(before, list)[at] ?? {})),
        }
      : {};
  const { resources: _now, ...rest } = spec;
  const kept = before["resources"];
  return {
    ...rest,
    ...given({ resources: kept }),
    ...containers("containers"),
    ...containers("initContainers"),
  };
}

/** The old resources, because they were checked separately. */
function restored(now: Fields, was: Fields): Fields {
  const { resources: _now, ...rest } = now;
  return "resources" in was ? { ...rest, resources: was["resources"] } : rest;
}

function maskedContainer(now: Fields, was: Fields): Fields {
  const { claims: _claims, ...resources } = part(now, "resources");
  return { ...now, resources: maskedResources(resources, part(was, "resources")) };
}

function comparable(container: Fields): Fields {
  return { ...container, resources: withoutEmpty(part(container, "resources")) };
}

/** cpu and memory of `was`, everything else of `now`. */
function maskedResources(now: Fields, was: Fields): Fields {
  const mask = (list: "requests" | "limits"): Fields => {
    const others = Object.entries(part(now, list)).filter(([name]) => !compute.has(name));
    const kept = Object.entries(part(was, list)).filter(([name]) => compute.has(name));
    return Object.fromEntries([...others, ...kept]);
  };
  return withoutEmpty({ ...now, requests: mask("requests"), limits: mask("limits") });
}

function withoutEmpty(resources: Fields): Fields {
  const entries = Object.entries(resources).filter(
    ([, list]) => !isFields(list) || Object.keys(list).length > 0,
  );
  return Object.fromEntries(entries);
}
