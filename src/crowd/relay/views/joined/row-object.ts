/** A row of a joined view as the objects of a watch are, so that it is streamed as they are. */
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

  /** `revision` counts the changes of the view; 0: of the state that a stream begins with. */
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
