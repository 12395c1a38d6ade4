/** A row of a joined view in the form of a watched object, so that streams treat both alike. */
import type { AnyObject } from "#api/object.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { JoinedRow } from "./join-plan.ts";

const encoder = new TextEncoder();

export class RowObject implements CachedObject {
  readonly namespace = "";
  readonly labels = {};
  readonly revision: number;
  readonly resourceVersion: string;
  readonly row: JoinedRow;
  readonly #encoded = new Map<string, Uint8Array>();
  #json: Uint8Array | undefined;

  /** @param revision Number of the change in the view's log; 0: the row is part of a stream's initial state. */
  constructor(row: JoinedRow, revision: number, resourceVersion: string) {
    this.row = row;
    this.revision = revision;
    this.resourceVersion = resourceVersion;
  }

  get name(): string {
    return this.row.id;
  }

  get object(): AnyObject {
    return JSON.parse(this.row.change) as AnyObject;
  }

  get json(): Uint8Array {
    return (this.#json ??= encoder.encode(this.row.change));
  }

  get bytes(): number {
    return this.row.change.length;
  }

  field(): string {
    return "";
  }

  encoded(format: string, make: (object: CachedObject) => Uint8Array): Uint8Array {
    const known = this.#encoded.get(format);
    if (known !== undefined) return known;
    const made = make(this);
    this.#encoded.set(format, made);
    return made;
  }
}
