/**
 * The differences between the answers of etcd releases, in one list. All other calls of the behaviour suite
 * have one answer on all releases.
 *
 * A case or a single call with one of these names is sent only to the releases that answer it
 * as 3.6 does (or 3.7, for calls that are new there), and to Pilothouse beside them.
 */
import { isAtLeast, type EtcdRelease } from "./servers.ts";

interface Difference {
  /** The first release that answers like this. */
  readonly from?: EtcdRelease;
  /** The first release that no longer does. */
  readonly before?: EtcdRelease;
  readonly others: string;
}

const differences = {
  "unknown sorts": {
    from: "3.6",
    others: "3.4 sorts by key for an order that is none, and dies of a target that is none",
  },
  "a watch from the compacted revision": {
    from: "3.6",
    others: "3.4 forgets the delete of that revision (etcd 19179)",
  },
  "progress on request": {
    from: "3.6",
    others: "3.4 tells progress at once, before events and to streams without watches (etcd 15220)",
  },
  "the revision of a hash": { from: "3.6", others: "3.4 has no such field" },
  "a hash at the compacted revision": { from: "3.6", others: "3.4 says compacted" },
  "a negative start": {
    before: "3.7",
    others: "3.7 refuses to create the watch, with id -1",
  },
  downgrades: { from: "3.6", others: "3.4 does not know the method" },
  "the release a canceled downgrade tells": { from: "3.6", before: "3.7", others: "3.7 says 3.7" },
  "the state of authentication": { from: "3.6", others: "3.4 does not know the method" },
  "an alarm of no kind": { from: "3.6", others: "3.4 arms it" },
  RangeStream: { from: "3.7", others: "older ones do not know the method" },
} as const satisfies Readonly<Record<string, Difference>>;

export type DifferenceName = keyof typeof differences;

/** Whether a release answers like the transcripts. */
export function answersSo(release: EtcdRelease, name: DifferenceName): boolean {
  const { from, before }: Difference = differences[name];
  if (from !== undefined && !isAtLeast(release, from)) return false;
  return before === undefined || !isAtLeast(release, before);
}
