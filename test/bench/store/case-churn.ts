/** Memory under the worst churn there can be: in process, all keys at full rate, compaction on. */
import { valueBytes } from "./case-calls.ts";
import type { CaseOptions } from "./case-options.ts";
import type { ChurnOptions, ChurnSample } from "./churn-inside.ts";
import { generate } from "./servers.ts";
import { figure, median, printTable, progress, progressDone } from "./table.ts";

const churned = { keys: 1_000_000, valueBytes, writers: 64, seconds: 20 } as const;
const bytesMax = 1.8e9;

export async function churn({ runs }: CaseOptions): Promise<void> {
  const samples: ChurnSample[] = [];
  for (let run = 0; run < runs; run++) {
    progress(`churn in process: run ${run + 1} of ${runs}`);
    samples.push(await generate("churn-inside.ts", churned satisfies ChurnOptions));
  }
  progressDone();
  const of = (field: keyof ChurnSample): number => median(samples.map((sample) => sample[field]));
  const highest = samples.map(({ highestMiB }) => highestMiB);
  const { keys, writers, seconds } = churned;
  printTable(
    `in process: ${figure(keys)} keys of ${valueBytes} B, ${writers} writers at full rate for ${seconds} s, a compaction every 2 s, median of ${runs}`,
    [
      "puts/s",
      "filled MiB",
      "highest MiB",
      "of runs",
      "in slabs",
      "in a checkpoint",
      "asked",
      "verdict",
    ],
    [
      [
        of("putsPerSecond"),
        of("filledMiB"),
        of("highestMiB"),
        highest.map(figure).join(", "),
        of("slabsMiB"),
        `${Math.round(of("checkpointing") * 100)} %`,
        "<= 1.8 GB",
        Math.max(...highest) * 2 ** 20 <= bytesMax ? "met" : "short",
      ],
    ],
  );
}
