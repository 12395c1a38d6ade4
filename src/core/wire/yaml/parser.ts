/**
 * The first document of a YAML text as a tree of nodes. What follows it is not looked at, but for the token that ends
 * it. After  libyaml's parser: the same order of looking at tokens, so that the same mistake is found first.
 */
import { type Mark, orderFault, YamlFault } from "./cursor.ts";
import { Scanner } from "./scanner.ts";
import type { YamlSource } from "./source.ts";
import type { Token, TokenType } from "./token.ts";

export type YamlNode = ScalarNode | ListNode | MappingNode | AliasNode;

interface NodeBase {
  /** From 0. */
  readonly line: number;
}

export interface ScalarNode extends NodeBase {
  readonly kind: "scalar";
  readonly value: string;
  /** "": no tag. */
  readonly tag: string;
  /** Whether it may be something else than a string: it is plain, or has the tag `!`. */
  readonly isImplicit: boolean;
}

interface ListNode extends NodeBase {
  readonly kind: "list";
  readonly items: YamlNode[];
}

export interface MappingNode extends NodeBase {
  readonly kind: "mapping";
  readonly pairs: (readonly [key: YamlNode, value: YamlNode])[];
}

export interface AliasNode extends NodeBase {
  readonly kind: "alias";
  readonly name: string;
  readonly target: YamlNode;
}

interface YamlTree {
  /** Undefined: the text contains no document. */
  readonly root: YamlNode | undefined;
  /** Whether another document or invalid text follows. */
  readonly hasMore: boolean;
}

/** @throws YamlFault */
export function parseTree(source: YamlSource, depthMax: number): YamlTree {
  return new Parser(new Scanner(source, depthMax), depthMax).tree();
}

const beforeContent: ReadonlySet<TokenType> = new Set([
  "version",
  "tag-directive",
  "document-start",
  "document-end",
  "stream-end",
]);
const endsBlockPart: ReadonlySet<TokenType> = new Set(["key", "value", "block-end"]);
const endsEntry: ReadonlySet<TokenType> = new Set(["block-entry", "block-end"]);
const endsIndentless: ReadonlySet<TokenType> = new Set([
  "block-entry",
  "key",
  "value",
  "block-end",
]);
const endsFlowKey: ReadonlySet<TokenType> = new Set(["value", "flow-entry", "flow-mapping-end"]);
const endsFlowValue: ReadonlySet<TokenType> = new Set(["flow-entry", "flow-mapping-end"]);
const endsPairKey: ReadonlySet<TokenType> = new Set(["value", "flow-entry", "flow-sequence-end"]);
const endsPairValue: ReadonlySet<TokenType> = new Set(["flow-entry", "flow-sequence-end"]);

const standardHandles: ReadonlyMap<string, string> = new Map([
  ["!", "!"],
  ["!!", "tag:yaml.org,2002:"],
]);

/** The tag and anchor before a node's content. */
interface Properties {
  anchor?: string;
  tag: Token | undefined;
  readonly start: Mark;
}

class Parser {
  readonly #scanner: Scanner;
  readonly #depthMax: number;
  readonly #anchors = new Map<string, YamlNode>();
  readonly #handles = new Map<string, string>();
  #depth = 0;

  constructor(scanner: Scanner, depthMax: number) {
    this.#scanner = scanner;
    this.#depthMax = depthMax;
  }

  tree(): YamlTree {
    this.#scanner.next();
    const { type } = this.#scanner.peek();
    if (type === "stream-end") return { root: undefined, hasMore: false };
    const isExplicit = beforeContent.has(type) && type !== "document-end";
    this.#readDirectives();
    if (isExplicit) this.#readDocumentStart();
    const token = this.#scanner.peek();
    const isEmpty = isExplicit && beforeContent.has(token.type);
    const root = isEmpty ? empty(token.start) : this.#node(true, false);
    const after = this.#scanner.peek().type;
    return { root, hasMore: after !== "stream-end" && after !== "document-end" };
  }

  #readDocumentStart(): void {
    const token = this.#scanner.peek();
    if (token.type !== "document-start") {
      throw orderFault("did not find expected <document start>", token.start);
    }
    this.#scanner.next();
  }

  #readDirectives(): void {
    let hasVersion = false;
    for (;;) {
      const { type, value = "", suffix = "", start } = this.#scanner.peek();
      if (type === "version") {
        if (hasVersion) throw orderFault("found duplicate %YAML directive", start);
        if (value !== "1.1") throw orderFault("found incompatible YAML document", start);
        hasVersion = true;
      } else if (type === "tag-directive") {
        if (this.#handles.has(value)) throw orderFault("found duplicate %TAG directive", start);
        this.#handles.set(value, suffix);
      } else break;
      this.#scanner.next();
    }
    for (const [handle, prefix] of standardHandles) {
      if (!this.#handles.has(handle)) this.#handles.set(handle, prefix);
    }
  }

  #node(isBlock: boolean, mayBeIndentless: boolean): YamlNode {
    if (++this.#depth > this.#depthMax) throw new YamlFault("exceeded max depth");
    const first = this.#scanner.peek();
    const node = first.type === "alias" ? this.#alias() : this.#content(isBlock, mayBeIndentless);
    this.#depth--;
    return node;
  }

  #alias(): YamlNode {
    const { value: name = "", start } = this.#scanner.next();
    const target = this.#anchors.get(name);
    if (target === undefined) throw new YamlFault(`unknown anchor '${name}' referenced`);
    return { kind: "alias", name, target, line: start.line };
  }

  #content(isBlock: boolean, mayBeIndentless: boolean): YamlNode {
    const properties = this.#properties();
    const tag = this.#tagOf(properties);
    const token = this.#scanner.peek();
    const { line } = properties.start;
    switch (token.type) {
      case "scalar":
        this.#scanner.next();
        return this.#anchored(properties, scalarNode(token, tag, line));
      case "flow-sequence-start":
        return this.#list(properties, (items) => this.#flowItems(items));
      case "flow-mapping-start":
        return this.#mapping(properties, (node) => this.#flowPairs(node));
      case "block-sequence-start":
        if (isBlock) return this.#list(properties, (items) => this.#blockItems(items));
        break;
      case "block-mapping-start":
        if (isBlock) return this.#mapping(properties, (node) => this.#blockPairs(node));
        break;
      case "block-entry":
        if (mayBeIndentless) return this.#list(properties, (items) => this.#indentless(items));
        break;
      default:
        break;
    }
    if (properties.anchor === undefined && tag === "") {
      throw orderFault("did not find expected node content", token.start, properties.start);
    }
    const nothing = { kind: "scalar", value: "", tag, isImplicit: tag === "", line } as const;
    return this.#anchored(properties, nothing);
  }

  #properties(): Properties {
    const properties: Properties = { tag: undefined, start: this.#scanner.peek().start };
    const takeAnchor = (): boolean => {
      const { type, value = "" } = this.#scanner.peek();
      if (type !== "anchor") return false;
      properties.anchor = value;
      this.#scanner.next();
      return true;
    };
    const isAnchorFirst = takeAnchor();
    if (this.#scanner.peek().type === "tag") {
      properties.tag = this.#scanner.next();
      if (!isAnchorFirst) takeAnchor();
    }
    return properties;
  }

  #tagOf({ tag, start }: Properties): string {
    if (tag === undefined) return "";
    const { value: handle = "", suffix = "" } = tag;
    if (handle === "") return suffix;
    const whole = this.#handles.has(handle) ? `${this.#handles.get(handle) ?? ""}${suffix}` : "";
    if (whole !== "") return whole;
    throw orderFault("found undefined tag handle", tag.start, start);
  }

  #anchored<T extends YamlNode>({ anchor }: Properties, node: T): T {
    if (anchor !== undefined) this.#anchors.set(anchor, node);
    return node;
  }

  /** An anchor is already known within its own node. */
  #list(properties: Properties, fill: (items: YamlNode[]) => void): YamlNode {
    const { line } = properties.start;
    const node = this.#anchored(properties, { kind: "list", items: [], line } as ListNode);
    fill(node.items);
    return node;
  }

  #mapping(properties: Properties, fill: (node: MappingNode) => void): YamlNode {
    const { line } = properties.start;
    const node = this.#anchored(properties, { kind: "mapping", pairs: [], line } as MappingNode);
    fill(node);
    return node;
  }

  /** A node, unless the next token belongs to the enclosing one. */
  #part(
    ends: ReadonlySet<TokenType>,
    mark: Mark | undefined,
    indentless: boolean,
    isBlock: boolean,
  ) {
    const token = this.#scanner.peek();
    if (ends.has(token.type)) return empty(mark ?? token.start);
    return this.#node(isBlock, indentless);
  }

  #blockItems(items: YamlNode[]): void {
    const context = this.#scanner.next().start;
    for (;;) {
      const token = this.#scanner.peek();
      if (token.type !== "block-entry" && token.type !== "block-end") {
        throw orderFault("did not find expected '-' indicator", token.start, context);
      }
      this.#scanner.next();
      if (token.type === "block-end") return;
      items.push(this.#part(endsEntry, token.end, false, true));
    }
  }

  #indentless(items: YamlNode[]): void {
    while (this.#scanner.peek().type === "block-entry") {
      const { end } = this.#scanner.next();
      items.push(this.#part(endsIndentless, end, false, true));
    }
  }

  #blockPairs({ pairs }: MappingNode): void {
    const context = this.#scanner.next().start;
    for (;;) {
      const token = this.#scanner.peek();
      if (token.type !== "key" && token.type !== "block-end") {
        throw orderFault("did not find expected key", token.start, context);
      }
      this.#scanner.next();
      if (token.type === "block-end") return;
      const key = this.#part(endsBlockPart, token.end, true, true);
      pairs.push([key, this.#blockValue()]);
    }
  }

  #blockValue(): YamlNode {
    const token = this.#scanner.peek();
    if (token.type !== "value") return empty(token.start);
    this.#scanner.next();
    return this.#part(endsBlockPart, token.end, true, true);
  }

  /** The token after the comma, where one is required. */
  #flowNext(isFirst: boolean, close: TokenType, context: Mark): Token {
    const token = this.#scanner.peek();
    if (token.type === close || isFirst) return token;
    if (token.type === "flow-entry") {
      this.#scanner.next();
      return this.#scanner.peek();
    }
    const bracket = close === "flow-sequence-end" ? "]" : "}";
    throw orderFault(`did not find expected ',' or '${bracket}'`, token.start, context);
  }

  #flowItems(items: YamlNode[]): void {
    const context = this.#scanner.next().start;
    for (let isFirst = true; ; isFirst = false) {
      const token = this.#flowNext(isFirst, "flow-sequence-end", context);
      if (token.type === "flow-sequence-end") break;
      items.push(token.type === "key" ? this.#flowPair() : this.#node(false, false));
    }
    this.#scanner.next();
  }

  /** `[a: b]`: a mapping with a single pair. */
  #flowPair(): YamlNode {
    const { start } = this.#scanner.next();
    const after = this.#scanner.peek();
    const hasKey = !endsPairKey.has(after.type);
    if (!hasKey) this.#scanner.next();
    const key = hasKey ? this.#node(false, false) : empty(after.end);
    const token = this.#scanner.peek();
    if (token.type === "value") this.#scanner.next();
    const value =
      token.type === "value"
        ? this.#part(endsPairValue, token.start, false, false)
        : empty(token.start);
    return { kind: "mapping", pairs: [[key, value]], line: start.line };
  }

  #flowPairs({ pairs }: MappingNode): void {
    const context = this.#scanner.next().start;
    for (let isFirst = true; ; isFirst = false) {
      const token = this.#flowNext(isFirst, "flow-mapping-end", context);
      if (token.type === "flow-mapping-end") break;
      const isKey = token.type === "key";
      if (isKey) this.#scanner.next();
      const key = isKey
        ? this.#part(endsFlowKey, undefined, false, false)
        : this.#node(false, false);
      pairs.push([key, isKey ? this.#flowValue() : empty(this.#scanner.peek().start)]);
    }
    this.#scanner.next();
  }

  #flowValue(): YamlNode {
    const token = this.#scanner.peek();
    if (token.type !== "value") return empty(token.start);
    this.#scanner.next();
    return this.#part(endsFlowValue, undefined, false, false);
  }
}

function scalarNode({ value = "", isPlain }: Token, tag: string, line: number): ScalarNode {
  const isImplicit = tag === "!" || (tag === "" && isPlain === true);
  return { kind: "scalar", value, tag, isImplicit, line };
}

function empty({ line }: Mark): ScalarNode {
  return { kind: "scalar", value: "", tag: "", isImplicit: true, line };
}
