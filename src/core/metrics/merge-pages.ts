/**
 * Exposition texts of several processes as one: every sample gets a label that says whose it is, and
 * the samples of one metric stand together under one HELP and TYPE, as the format demands.
 */

interface Family {
  readonly described: string[];
  readonly samples: string[];
}

/** @param pages name and text of each process; an empty text adds nothing. */
export function mergeMetrics(
  label: string,
  pages: readonly (readonly [process: string, text: string])[],
): string {
  const families = new Map<string, Family>();
  for (const [process, text] of pages) {
    let family: Family | undefined;
    for (const line of text.split("\n")) {
      if (line.startsWith("# ")) family = described(families, line);
      else if (line !== "") family?.samples.push(labelled(line, `${label}="${process}"`));
    }
  }
  const lines = [...families.values()].flatMap(({ described, samples }) => [
    ...described,
    ...samples,
  ]);
  return `${lines.join("\n")}\n`;
}

function described(families: Map<string, Family>, line: string): Family {
  const [, what = "", name = ""] = line.split(" ", 3);
  const family = families.get(name) ?? { described: [], samples: [] };
  families.set(name, family);
  if (!family.described.some((known) => known.startsWith(`# ${what} `)))
    family.described.push(line);
  return family;
}

function labelled(sample: string, pair: string): string {
  const brace = sample.indexOf("{");
  const space = sample.indexOf(" ");
  if (brace >= 0 && brace < space)
    return `${sample.slice(0, brace + 1)}${pair},${sample.slice(brace + 1)}`;
  return `${sample.slice(0, space)}{${pair}}${sample.slice(space)}`;
}
