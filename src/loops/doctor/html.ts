/**
 * A report as one HTML file that loads nothing and runs nothing.
 *
 * Every value comes from the cluster: each is escaped, in text only; none is ever in an attribute.
 */
import { type Report, printable } from "./report.ts";

/** Defense in depth: if a value were not escaped, its scripts, images and forms still would not work. */
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
section{border-left:.4rem solid #b80;padding:0 1rem;margin:1.5rem 0}section.page{border-color:#b00}
dt{font-weight:bold}dd{margin:0 0 .4rem;overflow-wrap:anywhere}code,pre{background:#eee;padding:.1rem .3rem;overflow-x:auto}`;

export function htmlOf(report: Report, at: string): string {
  const { findings, gaps } = report;
  const found = findings.map(
    (finding) => `<section class="${finding.severity === "page" ? "page" : "warn"}">
<h2>${escape(finding.severity)}: ${escape(finding.sentence)}</h2>
<dl>
${row("rule", finding.rule)}${row("who", finding.culprit)}${row("seen", figuresOf(finding.figures))}
<dt>do</dt><dd><code>${escape(finding.remedy)}</code></dd>${manifestOf(finding.manifest)}
${row("certainty", `${Math.round(finding.certainty * 100)} %`)}${finding.unseen === undefined ? "" : row("not seen", finding.unseen)}
</dl>
</section>`,
  );
  const unseen = gaps.map(
    ({ what, why, right }) => `<li>${escape(what)}: ${escape(why)} (needs: ${escape(right)})</li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>The doctor's report</title>
<style>${style}</style>
</head>
<body>
<h1>${findings.length === 0 ? "Nothing found by what could be read" : `${findings.length} findings`}</h1>
<p>${escape(at)}</p>
${found.join("\n")}
<h2>Not seen</h2>
<ul>
${unseen.join("\n")}
</ul>
</body>
</html>
`;
}

function manifestOf(manifest: string | undefined): string {
  if (manifest === undefined) return "";
  return `<dd><pre>${manifest.split("\n").map(escape).join("\n")}</pre></dd>`;
}

function row(name: string, value: string): string {
  return `<dt>${name}</dt><dd>${escape(value)}</dd>`;
}

function figuresOf(figures: Readonly<Record<string, number | string>>): string {
  return Object.entries(figures)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

const marks = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&#39;"],
  ["`", "&#96;"],
]);

function escape(value: string): string {
  return printable(value).replace(/[&<>"'`]/g, (mark) => marks.get(mark) ?? "");
}
