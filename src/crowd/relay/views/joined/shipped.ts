/**
 * Views that come with the relay: which resources they join, their options in the operator's file, and their plans.
 *
 *   shipped: skipper-routes      options: as Skipper's flags of its Kubernetes data client (`skipper-options.ts`)
 *   shipped: upstreams           options: {style: nginx}, or haproxy
 *   shipped: endpoints-by-zone
 */
import type { FieldPath, Fields, YamlFields } from "#wire/yaml-fields.ts";
import { kindId, type MirroredKind } from "../../mirror/mirrored-kind.ts";
import { lineFrame, listFrame } from "../view-form.ts";
import type { JoinedForm, JoinedSpec } from "./joined-view.ts";
import { clusterResources } from "./cluster-inputs.ts";
import { upstreamsPlan, upstreamStyles, zonesPlan } from "./service-plans.ts";
import { readSkipperOptions, type SkipperView } from "./skipper-options.ts";
import { skipperPlan, skipperResources } from "./skipper-plan.ts";

export type Shipped =
  | ({ readonly kind: "skipper-routes" } & SkipperView)
  | { readonly kind: "upstreams"; readonly style: (typeof upstreamStyles)[number] }
  | { readonly kind: "endpoints-by-zone" };

const kinds = ["skipper-routes", "upstreams", "endpoints-by-zone"] as const;

/** Reads the shipped view of a definition. Undefined: the definition does not name one. */
export function readShipped(yaml: YamlFields, view: Fields, path: FieldPath): Shipped | undefined {
  if (view["shipped"] === undefined) return undefined;
  const kind = kinds.find((one) => one === view["shipped"]);
  if (kind === undefined) {
    yaml.problem([...path, "shipped"], `must be one of ${kinds.join(", ")}`);
    return undefined;
  }
  const at = [...path, "options"];
  const options = view["options"] ?? {};
  if (kind === "skipper-routes") return { kind, ...readSkipperOptions(yaml, options, at) };
  const read = yaml.map(options, at, kind === "upstreams" ? ["style"] : []);
  if (kind === "endpoints-by-zone") return { kind };
  const style = upstreamStyles.find((one) => one === (read["style"] ?? "nginx"));
  if (style === undefined) {
    yaml.problem([...at, "style"], `must be one of ${upstreamStyles.join(", ")}`);
  }
  return { kind, style: style ?? "nginx" };
}

/** Returns the resources in the order of the plan's inputs; those in `optional` may be missing in the cluster. */
export function shippedResources(shipped: Shipped): {
  readonly resources: readonly string[];
  readonly optional: readonly string[];
} {
  const { services, slices, endpoints } = clusterResources;
  if (shipped.kind !== "skipper-routes") return { resources: [services, slices], optional: [] };
  const behind = shipped.options.legacyEndpoints ? endpoints : slices;
  const { ingresses, routeGroups } = skipperResources;
  const resources = [services, behind, ingresses, routeGroups];
  return { resources, optional: shipped.routeGroups === "required" ? [] : [routeGroups] };
}

export function shippedSpec(shipped: Shipped, inputs: readonly MirroredKind[]): JoinedSpec {
  switch (shipped.kind) {
    case "skipper-routes": {
      const hasGroups = inputs.some((kind) => kindId(kind) === skipperResources.routeGroups);
      return { plan: skipperPlan(shipped.options, shipped, hasGroups), form: textForm };
    }
    case "upstreams":
      return { plan: upstreamsPlan(shipped.style), form: textForm };
    case "endpoints-by-zone": {
      const frame = listFrame({ name: shipped.kind });
      return { plan: zonesPlan(), form: { contentType: "application/json", frame } };
    }
    default:
      return shipped satisfies never;
  }
}

const textForm: JoinedForm = { contentType: "text/plain; charset=utf-8", frame: lineFrame };
