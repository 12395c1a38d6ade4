/**
 * Selectors of cached objects, parsed once per object: every pod event is matched against every owner
 * of its namespace. Objects from informers are frozen, so equal identity means equal content.
 */
import {
  selectNothing,
  selectorFromLabelSelector,
  SelectorError,
  type LabelSelector,
  type LabelSelectorSpec,
} from "#api/selectors/label-selector.ts";
import type { KubeObject } from "#api/object.ts";

const parsed = new WeakMap<object, LabelSelector>();

/** The selector in `spec.selector`; an invalid one selects nothing. */
export function selectorOf(
  object: KubeObject & { readonly spec?: { readonly selector?: LabelSelectorSpec } },
): LabelSelector {
  return memoSelector(object, () => selectorFromLabelSelector(object.spec?.selector));
}

export function memoSelector(object: object, parse: () => LabelSelector): LabelSelector {
  let selector = parsed.get(object);
  if (selector === undefined) parsed.set(object, (selector = parseSafely(parse)));
  return selector;
}

function parseSafely(parse: () => LabelSelector): LabelSelector {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SelectorError) return selectNothing;
    throw error;
  }
}
