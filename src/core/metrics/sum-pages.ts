/**
 * Exposition texts of several threads of one process as one: samples of the same series are added, except where each
 * thread tells of the same thing; there the first page that has the series counts.
 */

interface Family {
  readonly described: string[];
  /** Value of each series. */
  readonly samples: Map<string, number>;
}

/** @param isCommon whether all threads report the same value for this metric: of the process, or of shared state. */
export function sumPages(pages: readonly string[], isCommon: (name: string) => boolean): string {
  const families = new Map<string, Family>();
  for (const page of pages) {
    let family: Family | undefined;
    let keeps = false;
    for (const line of page.split("\n")) {
      if (line.startsWith("# ")) {
        const [, what = "", name = ""] = line.split(" ", 3);
        family = familyOf(families, name);
        if (!family.described.some((known) => known.startsWith(`# ${what} `)))
          family.described.push(line);
        if (what === "TYPE") keeps = isCommon(name);
      } else if (line !== "" && family !== undefined) addSample(family, line, keeps);
    }
  }
  return `${[...families.values()].flatMap(linesOf).join("\n")}\n`;
}

function familyOf(families: Map<string, Family>, name: string): Family {
  const known = families.get(name) ?? { described: [], samples: new Map<string, number>() };
  families.set(name, known);
  return known;
}

function addSample({ samples }: Family, line: string, keeps: boolean): void {
  const end = line.lastIndexOf(" ");
  const series = line.slice(0, end);
  const value = Number(line.slice(end + 1).replace("+Inf", "Infinity"));
  const before = samples.get(series);
  if (before === undefined) samples.set(series, value);
  else if (!keeps) samples.set(series, before + value);
}

function linesOf({ described, samples }: Family): readonly string[] {
  return [...described, ...[...samples].map(([series, value]) => `${series} ${textOf(value)}`)];
}

function textOf(value: number): string {
  return value === Number.POSITIVE_INFINITY ? "+Inf" : String(value);
}
