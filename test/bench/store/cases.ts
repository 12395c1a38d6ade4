/** The cases of `npm run bench -- store`, by name, in the order they are run. */
import { puts, ranges, txns } from "./case-calls.ts";
import type { CaseOptions } from "./case-options.ts";
import { churn } from "./case-churn.ts";
import { floor } from "./case-floor.ts";
import { perf } from "./case-perf.ts";
import { restart } from "./case-restart.ts";
import { size } from "./case-size.ts";
import { watch } from "./case-watch.ts";

export interface BenchCase {
  readonly about: string;
  run(options: CaseOptions): Promise<void>;
}

export const cases: Readonly<Record<string, BenchCase>> = {
  puts: { about: "durable puts of 1 KB at 1, 16, 64 and 256 clients", run: puts },
  floor: {
    about: "what one client's put is made of: the disk, and an answer without a store",
    run: floor,
  },
  txn: { about: "updates guarded by mod_revision, as kube-apiserver makes them", run: txns },
  range: { about: "gets of one key, lists of 10,000 keys of 1 KB", run: ranges },
  watch: { about: "1,000 watchers x 1,000 events/s; 8 x 100,000/s in process", run: watch },
  size: { about: "a million keys: memory, restart, compaction, RangeStream", run: size },
  restart: { about: "a million keys, all from the log: kill -9 to serving", run: restart },
  churn: { about: "a million keys: memory under churn at full rate, in process", run: churn },
  perf: { about: "etcdctl check perf against both (60 s a load and server)", run: perf },
};
