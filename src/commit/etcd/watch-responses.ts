/**
 * Turns commits into the responses of one watch: filtered, encoded, and split: between revisions when a
 * response grows large, between events only when the client asked for fragments.
 */
import type { Commit, KeyValue, StoreEvent } from "#store/store.ts";
import type { EventEncoder } from "./event-encoder.ts";

/** The options of a watch and the size limits of its responses. */
export interface Cut {
  /** All options as one text; watches with equal options have equal texts. */
  readonly asked: string;
  readonly prevKv: boolean;
  readonly noPut: boolean;
  readonly noDelete: boolean;
  readonly responseBytes: number;
  /** Infinity: fragments were not requested. */
  readonly fragmentBytes: number;
}

interface Response {
  /** Revision of the last commit in it; the watch then has everything up to here. */
  readonly revision: number;
  readonly events: readonly Buffer[];
  /** Whether more of the same revision follows. */
  readonly fragment: boolean;
}

interface CutContext {
  readonly encoder: EventEncoder;
  /** Whether other watches may get the same events. */
  readonly shared: boolean;
  /** Previous values of changes at or below this revision are compacted and not sent. */
  readonly compactRevision: number;
}

export function cutResponses(
  cut: Cut,
  commits: readonly Commit[],
  context: CutContext,
): readonly Response[] {
  const responses: Response[] = [];
  let events: Buffer[] = [];
  let bytes = 0;
  let revision = 0;
  const flush = (): void => {
    if (events.length > 0) responses.push({ revision, events, fragment: false });
    events = [];
    bytes = 0;
  };
  for (const commit of commits) {
    const encoded = encodeCommit(cut, commit, context);
    let size = 0;
    for (const one of encoded) size += one.length;
    if (bytes + size > cut.responseBytes) flush();
    if (size >= cut.fragmentBytes && encoded.length > 1) {
      flush();
      responses.push(...fragments(cut.fragmentBytes, commit.revision, encoded));
      continue;
    }
    events.push(...encoded);
    bytes += size;
    revision = commit.revision;
  }
  flush();
  return responses;
}

function encodeCommit(cut: Cut, commit: Commit, context: CutContext): Buffer[] {
  const { revision } = commit;
  // etcd reads the previous value at the revision before, which may be compacted.
  const previous = cut.prevKv && revision - 1 >= context.compactRevision;
  const encoded: Buffer[] = [];
  for (const event of commit.events) {
    if (!wanted(cut, event)) continue;
    const before = previous ? previousOf(commit, event) : undefined;
    encoded.push(context.encoder.encode(event, revision, before, context.shared));
  }
  return encoded;
}

/** The key's value at the revision before; undefined for a key that this revision creates. */
function previousOf({ revision, events }: Commit, event: StoreEvent): KeyValue | undefined {
  const { previous } = event;
  if (previous === undefined || previous.modRevision < revision) return previous;
  // A key changed twice in one transaction existed before if its first change has a previous value.
  const created = event.kind === "put" && event.kv.createRevision === revision;
  return created ? undefined : events.find(({ key }) => key === event.key)?.previous;
}

function wanted(cut: Cut, event: StoreEvent): boolean {
  return event.kind === "put" ? !cut.noPut : !cut.noDelete;
}

function fragments(bytesMax: number, revision: number, encoded: readonly Buffer[]): Response[] {
  const responses: Response[] = [];
  let events: Buffer[] = [];
  let bytes = 0;
  for (const one of encoded) {
    if (events.length > 0 && bytes + one.length >= bytesMax) {
      responses.push({ revision, events, fragment: true });
      events = [];
      bytes = 0;
    }
    events.push(one);
    bytes += one.length;
  }
  return [...responses, { revision, events, fragment: false }];
}
