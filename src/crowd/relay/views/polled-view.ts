/** Interface of a view for pollers, of one resource or joined of several. */
import type { ViewContent } from "./view-content.ts";

export interface PolledView {
  readonly contentType: string;
  /** Whether the view shows everything that its mirrors have dispatched. */
  readonly isUpToDate: boolean;
  /** Resolves when the view is up to date, or has ended. */
  whenUpToDate(): Promise<void>;
  /** Returns the content of a zone; "": all rows. */
  content(zone: string): ViewContent;
  /** Position from which the changes after this content can be requested: X-Revision. */
  readonly position: string;
  /** Number of waiting long polls. */
  readonly waiting: number;
  /** Whether the view has ended because a mirror started anew. */
  readonly ended: boolean;
  readonly failures: number;
  readonly zones: number;
  readonly zonesRefused: number;
}
