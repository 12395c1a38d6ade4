/** A view of the operator's file as it is served, of one resource or joined of several. */
import type { Question } from "../access/question.ts";
import type { Pollable } from "../etag/pollable.ts";
import type { PolledView } from "./polled-view.ts";
import type { ViewDefinition } from "./view-definition.ts";

export interface ServedView {
  readonly definition: ViewDefinition;
  readonly source: Pollable;
  /** Undefined before the first lists. */
  readonly made: PolledView | undefined;
  /** Of the list that a poll reads: for audit. */
  readonly listPath: string;
  /** The rights a reader needs. */
  questions(): readonly Question[];
}
