/** The form of metrics and selectors in upstream's texts: Go's `%+v` of a LabelSelector. */
import type { LabelSelector, MetricIdentifier } from "#api/gen/types.ts";

/** `queue(&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},})` */
export function externalMetricText({ name, selector }: MetricIdentifier): string {
  return `external metric ${name}(${selectorText(selector)})`;
}

export function selectorText(selector: LabelSelector | undefined): string {
  if (selector === undefined) return "nil";
  const labels = Object.entries(selector.matchLabels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const expressions = (selector.matchExpressions ?? []).map(
    ({ key, operator, values }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${(values ?? []).join(" ")}],},`,
  );
  const map = `map[string]string{${labels.map(([key, value]) => `${key}: ${value},`).join("")}}`;
  const list = `[]LabelSelectorRequirement{${expressions.join("")}}`;
  return `&LabelSelector{MatchLabels:${map},MatchExpressions:${list},}`;
}
