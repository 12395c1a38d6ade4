/** What pollers see of a view, of one resource or joined of several. */
import type { ViewContent } from "./view-content.ts";

export interface PolledView {
  readonly contentType: string;
  /** It shows everything that its mirrors dispatched. */
  readonly isUpToDate: boolean;
  /** Resolves when it is up to date, or has ended. */
  whenUpToDate(): Promise<void>;
  /** "" for everything. */
  content(zone: string): ViewContent;
  /** From which the changes since this content can be asked for: X-Revision. */
  readonly position: string;
  /** Long polls. */
  readonly waiting: number;
  /** A mirror started anew: this view is of the past. */
  readonly ended: boolean;
  readonly failures: number;
  readonly zones: number;
  readonly zonesRefused: number;
}
