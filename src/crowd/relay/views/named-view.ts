/**
 * A view from the operator's file, on its resource: maintained from the first list on, with or without
 * pollers, so that no poll pays for building it.
 */
import type { Clock } from "#platform/clock.ts";
import { type Predicate } from "#watch/predicate.ts";
import { keyOfText } from "#forms/shared-object.ts";
import type { Question } from "../access/question.ts";
import type { RelayLimits } from "../limits.ts";
import { collectionPath, type MirroredKind } from "../mirror/mirrored-kind.ts";
import type { Mirrored } from "../mirror/mirrored.ts";
import { PlainPoll } from "../etag/plain-poll.ts";
import { predicateOf, type Selectors } from "../kubernetes/read-query.ts";
import type { ServedView } from "./served-view.ts";
import type { ViewDefinition } from "./view-definition.ts";
import { textRules } from "./joined/text-rules.ts";
import { fieldsForm, objectsForm, textForm, type ViewForm } from "./view-form.ts";
import { View, type ViewSpec } from "./view.ts";

export class NamedView implements ServedView {
  readonly definition: ViewDefinition;
  readonly source: PlainPoll;
  readonly #resource: Mirrored;
  readonly #clock: Clock;
  readonly #limits: RelayLimits;
  readonly #spec: ViewSpec;
  #view: View | undefined;

  constructor(
    deps: { clock: Clock },
    definition: ViewDefinition,
    resource: Mirrored,
    limits: RelayLimits,
  ) {
    this.definition = definition;
    this.#resource = resource;
    this.source = new PlainPoll(resource, () => this.view());
    this.#clock = deps.clock;
    this.#limits = limits;
    this.#spec = specOf(definition, resource.kind, limits);
    resource.mirror.whenReached(0, () => void this.view());
  }

  /** Returns the view; a new one after the mirror has started anew. */
  view(): View {
    if (this.#view === undefined || this.#view.ended) {
      const deps = { clock: this.#clock, mirror: this.#resource.mirror };
      this.#view = new View(deps, this.#spec, this.#limits);
    }
    return this.#view;
  }

  /** The view made last. Undefined before the first list. */
  get made(): View | undefined {
    return this.#view;
  }

  get listPath(): string {
    return collectionPath(this.#resource.kind);
  }

  /** Returns the rights that a reader needs: list and watch on everything the view selects from. */
  questions(): readonly Question[] {
    return questionsOn(this.#resource.kind, this.definition);
  }
}

/** Returns the questions for list and watch of a resource, in all namespaces and with the selectors of a view. */
export function questionsOn(
  kind: MirroredKind,
  selection: Pick<ViewDefinition, "namespaces" | "labelSelector" | "fieldSelector">,
): readonly Question[] {
  const { group, version, resource } = kind;
  const { labelSelector, fieldSelector } = selection;
  const selectors = { labelSelector, fieldSelector };
  return namespacesOf(selection, kind).flatMap((namespace) =>
    ["list", "watch"].map((verb) => {
      const where = { subresource: "", namespace, name: "" };
      return { verb, group, version, resource, ...where, ...selectors };
    }),
  );
}

/** Returns the selected namespaces; [""]: all. */
function namespacesOf(
  definition: Pick<ViewDefinition, "namespaces">,
  kind: MirroredKind,
): readonly string[] {
  const { namespaces } = definition;
  return kind.namespaced && namespaces.length > 0 ? namespaces : [""];
}

function specOf(
  definition: ViewDefinition,
  kind: MirroredKind,
  limits: Pick<RelayLimits, "rowLengthMax">,
): ViewSpec {
  const predicate = selectionOf(definition, kind);
  return { predicate, form: formOf(definition, kind, limits), zone: definition.zone };
}

/** Returns the predicate of the objects that a view selects. */
export function selectionOf(
  selection: Selectors & Pick<ViewDefinition, "namespaces">,
  kind: MirroredKind,
): Predicate {
  const [first = "", ...more] = namespacesOf(selection, kind);
  return more.length === 0
    ? predicateOf(kind, first, selection)
    : within(predicateOf(kind, "", selection), [first, ...more]);
}

/** Selects objects of several namespaces: all namespaces are watched, and each object is checked. */
function within(all: Predicate, namespaces: readonly string[]): Predicate {
  const keys = new Set(namespaces.map(keyOfText));
  return {
    ...all,
    selective: true,
    matches: (object) => keys.has(object.namespace) && all.matches(object),
  };
}

function formOf(
  { name, shape, format }: ViewDefinition,
  kind: MirroredKind,
  { rowLengthMax }: Pick<RelayLimits, "rowLengthMax">,
): ViewForm {
  switch (shape.kind) {
    case "objects":
      return objectsForm(kind);
    case "fields":
      return fieldsForm(name, shape.rules);
    case "text":
      return textForm(name, shape.template, textRules(format, rowLengthMax));
    default:
      return shape satisfies never;
  }
}
