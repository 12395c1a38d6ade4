/**
 * Rewrites HTML in the proxy: changes the URLs in tags (rewrite-url.ts) and passes on all other bytes as they arrive.
 * The list of attributes with URLs is upstream's.
 *
 * In     chunks cut anywhere, in any encoding with ASCII characters as single bytes.
 * Holds  only start tags are changed, not text, comments, end tags, scripts or styles.
 * Bounds a tag is buffered until it ends, up to `tagBytesMax`; a longer tag is passed on unchanged.
 */
import { ownEntry } from "#base/own.ts";
import type { Rewriter } from "./streamed.ts";

const tagBytesMax = 65_536;

const urlAttributes: Readonly<Record<string, readonly string[]>> = {
  a: ["href"],
  applet: ["codebase"],
  area: ["href"],
  audio: ["src"],
  base: ["href"],
  blockquote: ["cite"],
  body: ["background"],
  button: ["formaction"],
  command: ["icon"],
  del: ["cite"],
  embed: ["src"],
  form: ["action"],
  frame: ["longdesc", "src"],
  head: ["profile"],
  html: ["manifest"],
  iframe: ["longdesc", "src"],
  img: ["longdesc", "src", "usemap"],
  input: ["src", "usemap", "formaction"],
  ins: ["cite"],
  link: ["href"],
  object: ["classid", "codebase", "data", "usemap"],
  q: ["cite"],
  script: ["src"],
  source: ["src"],
  video: ["poster", "src"],
};

/** Elements whose content is not parsed for tags until their end tag. */
const rawElements: ReadonlySet<string> = new Set(
  "iframe noembed noframes noscript plaintext script style textarea title xmp".split(" "),
);

const attribute = /[\s/]*([^\s/>=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?/dy;

export class HtmlRewriter implements Rewriter {
  readonly #rewrite: (url: string) => string;
  /** Pending input as latin1: one character per byte. */
  #pending = "";
  /** End of the current raw part: `-->`, `</script`; "" outside a raw part. */
  #rawEnd = "";
  /** Number of scanned characters of the current tag; `#quote` is its open quote. */
  #scanned = 0;
  #quote = "";

  constructor(rewrite: (url: string) => string) {
    this.#rewrite = rewrite;
  }

  write(chunk: Uint8Array): readonly Uint8Array[] {
    this.#pending += Buffer.from(chunk).toString("latin1");
    const out: string[] = [];
    while (this.#pending !== "" && this.#step(out));
    return bytesOf(out);
  }

  end(): readonly Uint8Array[] {
    const rest = this.#pending;
    this.#pending = "";
    return bytesOf([rest]);
  }

  /** @returns false when more input is needed. */
  #step(out: string[]): boolean {
    if (this.#rawEnd !== "") return this.#passRaw(out);
    const start = this.#pending.indexOf("<");
    if (start !== 0) {
      this.#pass(start < 0 ? this.#pending.length : start, out);
      return start >= 0;
    }
    if (this.#pending.startsWith("<!--")) {
      this.#rawEnd = "-->";
      // Passes only `<!`, because `<!-->` is a complete comment.
      this.#pass(2, out);
      return true;
    }
    if ("<!--".startsWith(this.#pending)) return false;
    if (/^<[A-Za-z]/.test(this.#pending)) return this.#passTag(out);
    this.#pass(1, out);
    return true;
  }

  #pass(count: number, out: string[]): void {
    out.push(this.#pending.slice(0, count));
    this.#pending = this.#pending.slice(count);
  }

  #passRaw(out: string[]): boolean {
    const end = this.#pending.search(new RegExp(this.#rawEnd, "i"));
    if (end < 0) {
      this.#pass(Math.max(0, this.#pending.length - this.#rawEnd.length + 1), out);
      return false;
    }
    this.#pass(end + this.#rawEnd.length, out);
    this.#rawEnd = "";
    return true;
  }

  #passTag(out: string[]): boolean {
    const end = this.#findTagEnd();
    if (end === undefined && this.#pending.length <= tagBytesMax) return false;
    this.#scanned = 0;
    this.#quote = "";
    if (end === undefined) {
      // Passes the whole input: a search for tags in it would take quadratic time.
      this.#pass(this.#pending.length, out);
      return true;
    }
    const tag = this.#pending.slice(0, end + 1);
    this.#pending = this.#pending.slice(end + 1);
    const name = /^<([^\s/>]+)/.exec(tag)?.[1]?.toLowerCase() ?? "";
    out.push(this.#rewriteTag(tag, name));
    if (rawElements.has(name) && !tag.endsWith("/>")) this.#rawEnd = `</${name}`;
    return true;
  }

  #findTagEnd(): number | undefined {
    for (; this.#scanned < this.#pending.length; this.#scanned++) {
      const character = this.#pending[this.#scanned] ?? "";
      if (this.#quote !== "") {
        if (character === this.#quote) this.#quote = "";
      } else if (character === '"' || character === "'") {
        // A quote opens a value only after `=`.
        const before = this.#pending.slice(Math.max(0, this.#scanned - 32), this.#scanned);
        if (/=\s*$/.test(before)) this.#quote = character;
      } else if (character === ">") return this.#scanned;
    }
    return undefined;
  }

  #rewriteTag(tag: string, name: string): string {
    const wanted = ownEntry(urlAttributes, name);
    if (wanted === undefined) return tag;
    let made = "";
    let copied = 0;
    attribute.lastIndex = 1 + name.length;
    for (let match = attribute.exec(tag); match !== null; match = attribute.exec(tag)) {
      const [from, to] = match.indices?.[2] ?? match.indices?.[3] ?? match.indices?.[4] ?? [0, 0];
      if (to === from || !wanted.includes((match[1] ?? "").toLowerCase())) continue;
      made += tag.slice(copied, from) + this.#rewrite(tag.slice(from, to));
      copied = to;
    }
    return made + tag.slice(copied);
  }
}

function bytesOf(parts: readonly string[]): readonly Uint8Array[] {
  const text = parts.join("");
  return text === "" ? [] : [Buffer.from(text, "latin1")];
}
