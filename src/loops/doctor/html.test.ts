/** The HTML report: hostile values in every field stay text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { htmlOf } from "./html.ts";

const hostile = `</code></dd><script>alert(1)</script><img src=x onerror=alert(1)>" onload='x' &lt;\u0000\u202e]]>-->\``;

const report = {
  findings: [
    {
      rule: hostile,
      sentence: hostile,
      culprit: hostile,
      severity: "page" as const,
      figures: { [hostile]: hostile },
      remedy: hostile,
      certainty: 1,
      unseen: hostile,
    },
  ],
  gaps: [{ what: hostile, why: hostile, right: hostile }],
};

test("hostile names in every field make no element, no attribute and no control character", () => {
  const html = htmlOf(report, hostile);
  const calm = htmlOf(
    JSON.parse(JSON.stringify(report).replaceAll(JSON.stringify(hostile), '"x"')),
    "x",
  );
  const tags = (text: string): readonly string[] => text.match(/<[^>]*>/g) ?? [];
  assert.deepEqual(tags(html), tags(calm));
  assert.doesNotMatch(html, /<script|<img/i);
  // oxlint-disable-next-line no-control-regex -- these must not be there
  assert.doesNotMatch(html, /[\u0000-\u0009\u202a-\u202e]/);
  assert.ok(html.includes("&lt;script&gt;alert(1)&lt;/script&gt;"));
});

test("the file loads nothing: no address, and a policy that forbids everything but its own style", () => {
  const html = htmlOf(report, "2026-01-02T03:00:00Z");
  assert.match(html, /Content-Security-Policy" content="default-src 'none'/);
  assert.doesNotMatch(html, /https?:|<link|<script/);
});

test("a report without findings says so, and what was not seen", () => {
  const html = htmlOf({ findings: [], gaps: report.gaps }, "now");
  assert.match(html, /Nothing found/);
  assert.match(html, /needs: /);
});
