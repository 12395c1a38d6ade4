/** Steps one after another, each timed; and the table of what they found. */
export class Skipped extends Error {}

export interface Step {
  readonly name: string;
  /** The steps after it are of no use when it fails. */
  readonly isNeeded?: true;
  /** What the table says of it; rejects with `Skipped` where it cannot be done here. */
  readonly run: () => Promise<string>;
}

export interface Row {
  readonly name: string;
  readonly seconds: number;
  readonly outcome: "ok" | "FAILED" | "skipped";
  readonly text: string;
}

/** Prints each row when it is there. */
export async function runSteps(steps: readonly Step[], rows: Row[]): Promise<void> {
  for (const step of steps) {
    const row = await runStep(step);
    rows.push(row);
    process.stdout.write(`${row.name}: ${row.outcome}, ${row.seconds.toFixed(1)} s: ${row.text}\n`);
    if (row.outcome === "FAILED" && step.isNeeded) return;
  }
}

async function runStep({ name, run }: Step): Promise<Row> {
  const startMs = performance.now();
  const row = (outcome: Row["outcome"], text: string): Row => {
    return { name, seconds: (performance.now() - startMs) / 1000, outcome, text };
  };
  try {
    return row("ok", await run());
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return row(error instanceof Skipped ? "skipped" : "FAILED", text.replaceAll("\n", " "));
  }
}

export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ name, seconds, outcome, text }) => {
    const result = outcome === "ok" ? text : `**${outcome}**: ${text}`;
    return `| ${name} | ${seconds.toFixed(1)} | ${result.replaceAll("|", "\\|")} |`;
  });
  return ["| step | seconds | result |", "|---|---|---|", ...lines].join("\n");
}
