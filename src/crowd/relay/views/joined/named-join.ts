/**
 * A joined view of the operator's file, on its mirrors: maintained from their first lists on, with or without pollers.
 *
 * Holds  a reader needs list and watch on every resource that is joined, wherever the view reads it: what is joined in
 *        is shown.
 */
import { must } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";
import type { Question } from "../../access/question.ts";
import { JoinedPoll } from "../../etag/joined-poll.ts";
import type { RelayLimits } from "../../limits.ts";
import { collectionPath, type MirroredKind } from "../../mirror/mirrored-kind.ts";
import type { Mirrored } from "../../mirror/mirrored.ts";
import { questionsOn, selectionOf } from "../named-view.ts";
import type { ServedView } from "../served-view.ts";
import type { ViewDefinition } from "../view-definition.ts";
import { lineFrame, listFrame } from "../view-form.ts";
import { declaredPlan, type JoinedShape } from "./declared-plan.ts";
import { type JoinedForm, type JoinedSpec, JoinedView } from "./joined-view.ts";
import { shippedSpec } from "./shipped.ts";

const unselected = { labelSelector: "", fieldSelector: "", labels: undefined, fields: undefined };

interface NamedJoinDeps {
  readonly clock: Clock;
  readonly random: Random;
}

export class NamedJoin implements ServedView {
  readonly definition: ViewDefinition;
  readonly source: JoinedPoll;
  readonly #deps: NamedJoinDeps;
  readonly #resources: readonly Mirrored[];
  readonly #limits: RelayLimits;
  readonly #spec: JoinedSpec;
  #view: JoinedView | undefined;
  #isReplaced = false;

  /** @param resources Mirrored resources in the order of the plan's inputs. */
  constructor(
    deps: NamedJoinDeps,
    definition: ViewDefinition,
    resources: readonly Mirrored[],
    limits: RelayLimits,
  ) {
    this.definition = definition;
    this.#deps = deps;
    this.#resources = resources;
    this.#limits = limits;
    this.#spec = specOf(
      definition,
      resources.map(({ kind }) => kind),
      limits,
    );
    this.source = new JoinedPoll(definition.name, resources, () => this.view());
    for (const { mirror } of resources) mirror.whenReached(0, () => this.#begin());
  }

  get made(): JoinedView | undefined {
    return this.#view;
  }

  get listPath(): string {
    return collectionPath(must(this.#resources[0], "a resource").kind);
  }

  /** Returns the view; a new one after a mirror has started anew. */
  view(): JoinedView {
    if (this.#view === undefined || this.#view.ended) {
      const sources = this.#resources.map(({ kind, mirror }, at) => ({
        mirror,
        predicate: selectionOf(this.#selection(at), kind),
      }));
      const { clock, random } = this.#deps;
      this.#view = new JoinedView({ clock, random, sources }, this.#spec, this.#limits);
    }
    return this.#view;
  }

  questions(): readonly Question[] {
    return this.#resources.flatMap(({ kind }, at) => questionsOn(kind, this.#selection(at)));
  }

  /** Closes the view, because another mirror has replaced one of its mirrors. */
  replaced(): void {
    this.#isReplaced = true;
    this.#view?.close();
  }

  #begin(): void {
    if (this.source.isReady && !this.#isReplaced) this.view();
  }

  /** Returns the selection of an input: selectors apply to the rows' resource only; joins select the other objects. */
  #selection(at: number): ViewDefinition {
    return at === 0 ? this.definition : { ...this.definition, ...unselected };
  }
}

function specOf(
  definition: ViewDefinition,
  kinds: readonly MirroredKind[],
  limits: RelayLimits,
): JoinedSpec {
  const { shipped, name, joins, format, shape } = definition;
  if (shipped !== undefined) return shippedSpec(shipped, kinds);
  const kind = must(kinds[0], "the kind of the rows");
  const steps = joins.map((join, at) => ({
    ...join,
    kind: must(kinds[at + 1], "the kind of a join"),
  }));
  const joined = joinedShape(shape, format);
  const form: JoinedForm =
    joined.kind === "text"
      ? { contentType: "text/plain; charset=utf-8", frame: lineFrame }
      : { contentType: "application/json", frame: listFrame({ name }) };
  return { plan: declaredPlan({ kind, joins: steps, shape: joined }, limits), form };
}

/** Returns the shape of the rows; the parser of the file refuses joined views without a shape of their own. */
function joinedShape(
  shape: ViewDefinition["shape"],
  format: ViewDefinition["format"],
): JoinedShape {
  if (shape.kind === "text") return { ...shape, format };
  return shape.kind === "fields" ? shape : { kind: "fields", rules: [] };
}
