/** A view of the operator's file as the relay serves it, of one resource or joined of several. */
import type { Question } from "../access/question.ts";
import type { Pollable } from "../etag/pollable.ts";
import type { PolledView } from "./polled-view.ts";
import type { ViewDefinition } from "./view-definition.ts";

export interface ServedView {
  readonly definition: ViewDefinition;
  readonly source: Pollable;
  /** The view made last. Undefined before the first lists. */
  readonly made: PolledView | undefined;
  /** Path of the list that a poll reads, for audit. */
  readonly listPath: string;
  /** Returns the rights that a reader needs. */
  questions(): readonly Question[];
}
