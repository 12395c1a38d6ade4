/**
 * A view from the operator's file, on its resource: maintained from the first list on, with or without
 * pollers, so that no poll pays for building it.
 */
import type { Clock } from "#platform/clock.ts";
import { type Predicate } from "#watch/predicate.ts";
import { keyOfText } from "#forms/shared-object.ts";
import type { Question } from "../access/question.ts";
import type { RelayLimits } from "../limits.ts";
import type { MirroredKind } from "../mirror/mirrored-kind.ts";
import type { Mirrored } from "../mirror/mirrored.ts";
import { predicateOf } from "../kubernetes/read-query.ts";
import type { ViewDefinition } from "./view-definition.ts";
import { fieldsForm, objectsForm, textForm, type ViewForm } from "./view-form.ts";
import { View, type ViewSpec } from "./view.ts";

export class NamedView {
  readonly definition: ViewDefinition;
  readonly resource: Mirrored;
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
    this.resource = resource;
    this.#clock = deps.clock;
    this.#limits = limits;
    this.#spec = specOf(definition, resource.kind);
    resource.mirror.whenReached(0, () => void this.view());
  }

  /** Made anew when the mirror started anew. */
  view(): View {
    if (this.#view === undefined || this.#view.ended) {
      const deps = { clock: this.#clock, mirror: this.resource.mirror };
      this.#view = new View(deps, this.#spec, this.#limits);
    }
    return this.#view;
  }

  /** Undefined before the first list. */
  get made(): View | undefined {
    return this.#view;
  }

  /** The rights a reader needs: list and watch on everything the view selects from. */
  questions(): readonly Question[] {
    const { kind } = this.resource;
    const { group, version, resource } = kind;
    const { labelSelector, fieldSelector } = this.definition;
    const selectors = { labelSelector, fieldSelector };
    return namespacesOf(this.definition, kind).flatMap((namespace) =>
      ["list", "watch"].map((verb) => {
        const where = { subresource: "", namespace, name: "" };
        return { verb, group, version, resource, ...where, ...selectors };
      }),
    );
  }
}

/** [""] for all. */
function namespacesOf(definition: ViewDefinition, kind: MirroredKind): readonly string[] {
  const { namespaces } = definition;
  return kind.namespaced && namespaces.length > 0 ? namespaces : [""];
}

function specOf(definition: ViewDefinition, kind: MirroredKind): ViewSpec {
  const [first = "", ...more] = namespacesOf(definition, kind);
  const predicate =
    more.length === 0
      ? predicateOf(kind, first, definition)
      : within(predicateOf(kind, "", definition), [first, ...more]);
  return { predicate, form: formOf(definition, kind), zone: definition.zone };
}

/** Of several namespaces: watched as all, and each object looked at. */
function within(all: Predicate, namespaces: readonly string[]): Predicate {
  const keys = new Set(namespaces.map(keyOfText));
  return {
    ...all,
    selective: true,
    matches: (object) => keys.has(object.namespace) && all.matches(object),
  };
}

function formOf({ name, shape }: ViewDefinition, kind: MirroredKind): ViewForm {
  switch (shape.kind) {
    case "objects":
      return objectsForm(kind);
    case "fields":
      return fieldsForm(name, shape.rules);
    case "text":
      return textForm(name, shape.template);
    default:
      return shape satisfies never;
  }
}
