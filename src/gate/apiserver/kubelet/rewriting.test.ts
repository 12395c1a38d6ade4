/** What the proxies change: paths, URLs, HTML; and what their names and addresses mean. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isGlobalUnicast } from "./addresses.ts";
import { exitStatus } from "./exit-status.ts";
import { cleanPath, escapedPath } from "./proxy-path.ts";
import { splitId } from "./proxy-target.ts";
import { HtmlRewriter } from "./rewrite-html.ts";
import { rewriteUrl } from "./rewrite-url.ts";

const page = {
  prefix: "/api/v1/namespaces/n/services/s/proxy",
  backendHost: "10.0.0.1:80",
  requestHost: "api.example:6443",
};

test("links to the backend or to this server lead through the proxy, others stay", () => {
  const p = page.prefix;
  const cases = [
    ["/", `${p}/`],
    ["/a/b/?q=/x#/y", `${p}/a/b/?q=/x#/y`],
    ["//10.0.0.1:80/a", `${p}/a`],
    ["http://10.0.0.1:80/a", `${p}/a`],
    ["https://user@10.0.0.1:80/a", `${p}/a`],
    ["https://api.example:6443/a", `https://api.example:6443${p}/a`],
    [`${p}/a`, `${p}/a`],
    [`${p}x/a`, `${p}${p}x/a`],
    ["/../../../../pods", `${p}/pods`],
    ["a/b", "a/b"],
    ["?q", "?q"],
    ["", ""],
    ["http://10.0.0.1:81/a", "http://10.0.0.1:81/a"],
    ["//evil.example/a", "//evil.example/a"],
    ["http://169.254.169.254/latest", "http://169.254.169.254/latest"],
    ["mailto:/root@x", "mailto:/root@x"],
    ["javascript:/x/.test()", "javascript:/x/.test()"],
  ] as const;
  for (const [given, expected] of cases) assert.equal(rewriteUrl(given, page), expected, given);
});

/** Each URL in brackets. */
function rewritten(html: string, cut: number): string {
  const rewriter = new HtmlRewriter((url) => `[${url}]`);
  const bytes = Buffer.from(html);
  const out: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += cut)
    out.push(...rewriter.write(bytes.subarray(at, at + cut)));
  return Buffer.concat([...out, ...rewriter.end()]).toString();
}

test("URLs in tags are changed wherever a page is cut, and nothing else is", () => {
  const cases = [
    ['<a href="/x">/x</a>', '<a href="[/x]">/x</a>'],
    ["<A\nHREF='/x'class=b>", "<A\nHREF='[/x]'class=b>"],
    [
      "<img src=/a longdesc = /b usemap='#c' alt=/d>",
      "<img src=[/a] longdesc = [/b] usemap='[#c]' alt=/d>",
    ],
    ['<a title="a>b" href="/x">', '<a title="a>b" href="[/x]">'],
    ["<a href='/it\"s'>", "<a href='[/it\"s]'>"],
    ["<abbr href=/x><b src=/x>", "<abbr href=/x><b src=/x>"],
    ["<!-- <a href=/x> --><a href=/y>", "<!-- <a href=/x> --><a href=[/y]>"],
    ["<!--><a href=/y>", "<!--><a href=[/y]>"],
    [
      "<script src=/x>'<a href=/y>'</SCRIPT><a href=/z>",
      "<script src=[/x]>'<a href=/y>'</SCRIPT><a href=[/z]>",
    ],
    ["<textarea><a href=/y></textarea >", "<textarea><a href=/y></textarea >"],
    ["1 < 2 <3 <é <a href=/ü>", "1 < 2 <3 <é <a href=[/ü]>"],
    ["</a href=/x><!DOCTYPE html>", "</a href=/x><!DOCTYPE html>"],
    ["<a href=>x</a><a href><a =/x href=/y>", "<a href=>x</a><a href><a =/x href=/y>"],
    ["<a href=/never", "<a href=/never"],
    ["<constructor href=/x>", "<constructor href=/x>"],
  ] as const;
  for (const [given, expected] of cases) {
    for (const cut of [1, 2, 3, 5, 100]) assert.equal(rewritten(given, cut), expected, given);
  }
});

test("a page of tags that never end is looked at once", () => {
  const html = "<a".repeat(100_000);
  let steps = 0;
  const rewriter = new HtmlRewriter((url) => {
    steps++;
    return url;
  });
  const begin = process.cpuUsage();
  const out = [...rewriter.write(Buffer.from(html)), ...rewriter.end()];
  const { user } = process.cpuUsage(begin);
  assert.equal(Buffer.concat(out).toString(), html);
  assert.equal(steps, 0);
  // Looked at again from each `<` it takes 14 s.
  assert.ok(user < 1_000_000, `${user} microseconds`);
});

test("paths are cleaned and encoded as Go's, and never climb", () => {
  const cleaned = [
    ["", ""],
    ["/", "/"],
    ["/a/./b//c", "/a/b/c"],
    ["/a/../..", "/"],
    ["/a/../../b/", "/b/"],
    ["/a/..b", "/a/..b"],
  ] as const;
  for (const [given, expected] of cleaned) assert.equal(cleanPath(given), expected);
  assert.equal(
    escapedPath("/a b/$&+,:;=@/!*'()/ü?#%"),
    "/a%20b/$&+,:;=@/%21%2A%27%28%29/%C3%BC%3F%23%25",
  );
});

test("names of proxies are [scheme:]name[:port]", () => {
  const cases = [
    ["a", ["", "a", ""]],
    ["a:80", ["", "a", "80"]],
    ["a:", ["", "a", ""]],
    ["https:a:", ["https", "a", ""]],
    [":a:http", ["", "a", "http"]],
    [":80", undefined],
    ["", undefined],
    ["ftp:a:21", undefined],
    ["http:a:1:2", undefined],
  ] as const;
  for (const [given, expected] of cases) {
    const split = splitId(given);
    assert.deepEqual(split && [split.scheme, split.name, split.port], expected, given);
  }
});

test("addresses are those Go calls global unicast", () => {
  for (const address of [
    "10.0.0.1",
    "8.8.8.8",
    "192.168.1.1",
    "fd00::1",
    "2001:db8::1",
    "::ffff:10.0.0.1",
  ])
    assert.equal(isGlobalUnicast(address), true, address);
  for (const address of [
    "127.0.0.2",
    "169.254.1.1",
    "0.0.0.0",
    "239.1.1.1",
    "::1",
    "fe80::2",
    "ff05::1",
    "::ffff:127.0.0.1",
    "fd00::1%eth0",
    "",
    "host",
    "10.0.0.1:80",
    "127.1",
  ])
    assert.equal(isGlobalUnicast(address), false, address);
});

test("an exit code is a number from 0 to 255, or the Status is a failure of the protocol", () => {
  const exit = (message: unknown): string =>
    JSON.stringify({
      status: "Failure",
      reason: "NonZeroExitCode",
      details: { causes: [null, { reason: "ExitCode", message }] },
    });
  assert.deepEqual(exitStatus(""), { metadata: {}, status: "Success" });
  assert.match(JSON.stringify(exitStatus(exit("255"))), /"reason":"NonZeroExitCode"/);
  for (const wrong of [exit("256"), exit(1), exit("-1"), "7", "null", "{", '{"status":"x"}'])
    assert.match(JSON.stringify(exitStatus(wrong)), /error stream protocol error/, wrong);
  const refused = JSON.stringify({ status: "Failure", message: "no such file" });
  assert.match(JSON.stringify(exitStatus(refused)), /Internal error occurred: no such file/);
});
