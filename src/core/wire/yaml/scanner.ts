/**
 * The tokens of a YAML 1.1 text, one by one, as libyaml and its port to Go find them.
 *
 * A key of a mapping is known as one only by the `:` behind it, which may be 1,024 characters away: the place of each
 * possible key is kept, and the token of the key is put in there. A token is given out once it can be no such place.
 * Cost   linear in the text: each character is looked at a fixed number of times.
 */
import { Cursor, isDigitCode, type Mark, scanFault, YamlFault } from "./cursor.ts";
import { scanBlock, scanPlain, scanQuoted } from "./scan-scalar.ts";
import { scanAnchor, scanDirective, scanTag } from "./scan-tag.ts";
import type { YamlSource } from "./source.ts";
import type { Token, TokenType } from "./token.ts";

/** A possible start of a simple key, one per flow level. */
interface SimpleKey {
  isPossible: boolean;
  /** The column is that of an open block mapping, so the token must become a key. */
  readonly isRequired: boolean;
  /** Number of the token with which it would begin. */
  readonly number: number;
  readonly mark: Mark;
}

/** Maximum length from the start of a key to its `:`. */
const keyLengthMax = 1024;

const noKey: SimpleKey = {
  isPossible: false,
  isRequired: false,
  number: -1,
  mark: { at: 0, line: 0, column: 0 },
};

export class Scanner {
  readonly #cursor: Cursor;
  readonly #depthMax: number;
  #tokens: Token[] = [];
  #head = 0;
  /** Number of tokens returned so far. */
  #parsed = 0;
  #hasStarted = false;
  #indent = -1;
  readonly #indents: number[] = [];
  readonly #keys: SimpleKey[] = [{ ...noKey }];
  /** Flow level by token number. */
  readonly #levels = new Map<number, number>();
  #isKeyAllowed = true;

  constructor(source: YamlSource, depthMax: number) {
    this.#cursor = new Cursor(source);
    this.#depthMax = depthMax;
  }

  peek(): Token {
    while (this.#needsMore()) this.#fetch();
    return this.#tokens[this.#head] as Token; // there is one: #needsMore
  }

  next(): Token {
    const token = this.peek();
    this.#head++;
    this.#parsed++;
    if (this.#head === this.#tokens.length) {
      this.#tokens = [];
      this.#head = 0;
    }
    return token;
  }

  #needsMore(): boolean {
    if (this.#head === this.#tokens.length) return true;
    const level = this.#levels.get(this.#parsed);
    return level !== undefined && this.#isValid(this.#keys[level] ?? noKey);
  }

  get #isFlow(): boolean {
    return this.#keys.length > 1;
  }

  #add(type: TokenType, start: Mark, end = start): void {
    this.#tokens.push({ type, start, end });
  }

  #fetch(): void {
    const cursor = this.#cursor;
    if (!this.#hasStarted) {
      this.#hasStarted = true;
      cursor.code();
      return this.#add("stream-start", cursor.mark);
    }
    this.#skipToToken();
    this.#unroll(cursor.column);
    if (cursor.isEnd()) return this.#fetchEnd();
    if (cursor.column === 0 && cursor.code() === 37) return this.#fetchDirective();
    if (cursor.isDocumentMark(45)) return this.#fetchDocumentMark("document-start");
    if (cursor.isDocumentMark(46)) return this.#fetchDocumentMark("document-end");
    if (!this.#fetchIndicator(String.fromCharCode(cursor.code()))) this.#fetchPlain();
  }

  /** Whether the character began a token other than a plain scalar. */
  #fetchIndicator(character: string): boolean {
    const cursor = this.#cursor;
    switch (character) {
      case "[":
        return this.#fetchFlowStart("flow-sequence-start");
      case "{":
        return this.#fetchFlowStart("flow-mapping-start");
      case "]":
        return this.#fetchFlowEnd("flow-sequence-end");
      case "}":
        return this.#fetchFlowEnd("flow-mapping-end");
      case ",":
        return this.#fetchFlowEntry();
      case "-":
        return cursor.isBlankOrEnd(1) && this.#fetchBlockEntry();
      case "?":
        return (this.#isFlow || cursor.isBlankOrEnd(1)) && this.#fetchKey();
      case ":":
        return (this.#isFlow || cursor.isBlankOrEnd(1)) && this.#fetchValue();
      case "*":
        return this.#fetchNamed(() => scanAnchor(cursor, "alias"));
      case "&":
        return this.#fetchNamed(() => scanAnchor(cursor, "anchor"));
      case "!":
        return this.#fetchNamed(() => scanTag(cursor));
      case "|":
      case ">":
        return !this.#isFlow && this.#fetchBlockScalar(character === "|");
      case "'":
      case '"':
        return this.#fetchNamed(() => scanQuoted(cursor, character === "'"));
      default:
        return false;
    }
  }

  #skipToToken(): void {
    const cursor = this.#cursor;
    for (;;) {
      if (cursor.at === 0 && cursor.code() === 0xfeff) cursor.skip();
      const isTabAllowed = this.#isFlow || !this.#isKeyAllowed;
      while (cursor.code() === 32 || (isTabAllowed && cursor.code() === 9)) cursor.skip();
      cursor.skipComment();
      if (!cursor.isBreak()) return;
      cursor.readBreak();
      if (!this.#isFlow) this.#isKeyAllowed = true;
    }
  }

  #isValid(key: SimpleKey): boolean {
    if (!key.isPossible) return false;
    const { line, at } = this.#cursor;
    if (key.mark.line >= line && key.mark.at + keyLengthMax >= at) return true;
    if (key.isRequired) throw this.#missingColon(key);
    key.isPossible = false;
    return false;
  }

  #missingColon(key: SimpleKey): YamlFault {
    return scanFault("could not find expected ':'", this.#cursor.mark, key.mark);
  }

  #saveKey(): void {
    if (!this.#isKeyAllowed) return;
    const { mark } = this.#cursor;
    const isRequired = !this.#isFlow && this.#indent === mark.column;
    const number = this.#nextNumber;
    this.#removeKey();
    const level = this.#keys.length - 1;
    this.#keys[level] = { isPossible: true, isRequired, number, mark };
    this.#levels.set(number, level);
  }

  /** Number of the next token found. */
  get #nextNumber(): number {
    return this.#parsed + this.#tokens.length - this.#head;
  }

  #removeKey(): void {
    const key = this.#keys.at(-1) ?? noKey;
    if (!key.isPossible) return;
    if (key.isRequired) throw this.#missingColon(key);
    key.isPossible = false;
    this.#levels.delete(key.number);
  }

  /** Begins a block collection at `column`, before token `number`; absent: here. */
  #roll(column: number, number: number | undefined, type: TokenType, mark: Mark): void {
    if (this.#isFlow || this.#indent >= column) return;
    this.#indents.push(this.#indent);
    this.#indent = column;
    if (this.#indents.length > this.#depthMax) throw new YamlFault("exceeded max depth");
    const token = { type, start: mark, end: mark };
    if (number === undefined) this.#tokens.push(token);
    else this.#tokens.splice(this.#head + number - this.#parsed, 0, token);
  }

  #unroll(column: number): void {
    if (this.#isFlow) return;
    while (this.#indent > column) {
      this.#add("block-end", this.#cursor.mark);
      this.#indent = this.#indents.pop() ?? -1;
    }
  }

  #fetchEnd(): void {
    const cursor = this.#cursor;
    if (cursor.column !== 0) {
      cursor.column = 0;
      cursor.line++;
    }
    this.#unroll(-1);
    this.#removeKey();
    this.#isKeyAllowed = false;
    this.#add("stream-end", cursor.mark);
  }

  #fetchDirective(): void {
    this.#unroll(-1);
    this.#removeKey();
    this.#isKeyAllowed = false;
    this.#tokens.push(scanDirective(this.#cursor));
  }

  #fetchDocumentMark(type: TokenType): void {
    this.#unroll(-1);
    this.#removeKey();
    this.#isKeyAllowed = false;
    this.#fetchCharacters(type, 3);
  }

  #fetchCharacters(type: TokenType, count = 1): true {
    const start = this.#cursor.mark;
    this.#cursor.skip(count);
    this.#add(type, start, this.#cursor.mark);
    return true;
  }

  #fetchFlowStart(type: TokenType): true {
    this.#saveKey();
    this.#keys.push({ ...noKey, number: this.#nextNumber });
    if (this.#keys.length > this.#depthMax + 1) throw new YamlFault("exceeded max depth");
    this.#isKeyAllowed = true;
    return this.#fetchCharacters(type);
  }

  #fetchFlowEnd(type: TokenType): true {
    this.#removeKey();
    const key = this.#isFlow ? this.#keys.pop() : undefined;
    // As upstream, on a level without a key this removes the bracket's, which then cannot begin a key.
    if (key !== undefined) this.#levels.delete(key.number);
    this.#isKeyAllowed = false;
    return this.#fetchCharacters(type);
  }

  #fetchFlowEntry(): true {
    this.#removeKey();
    this.#isKeyAllowed = true;
    return this.#fetchCharacters("flow-entry");
  }

  #refuseUnlessAllowed(what: string): void {
    if (this.#isKeyAllowed) return;
    throw scanFault(
      `${what} are not allowed in this context`,
      this.#cursor.mark,
      this.#cursor.mark,
    );
  }

  #fetchBlockEntry(): true {
    const { mark } = this.#cursor;
    if (!this.#isFlow) {
      this.#refuseUnlessAllowed("block sequence entries");
      this.#roll(mark.column, undefined, "block-sequence-start", mark);
    }
    this.#removeKey();
    this.#isKeyAllowed = true;
    return this.#fetchCharacters("block-entry");
  }

  #fetchKey(): true {
    const { mark } = this.#cursor;
    if (!this.#isFlow) {
      this.#refuseUnlessAllowed("mapping keys");
      this.#roll(mark.column, undefined, "block-mapping-start", mark);
    }
    this.#removeKey();
    this.#isKeyAllowed = !this.#isFlow;
    return this.#fetchCharacters("key");
  }

  #fetchValue(): true {
    const key = this.#keys.at(-1) ?? noKey;
    if (this.#isValid(key)) this.#insertKey(key);
    else {
      if (!this.#isFlow) {
        this.#refuseUnlessAllowed("mapping values");
        const { mark } = this.#cursor;
        this.#roll(mark.column, undefined, "block-mapping-start", mark);
      }
      this.#isKeyAllowed = !this.#isFlow;
    }
    return this.#fetchCharacters("value");
  }

  #insertKey(key: SimpleKey): void {
    const { number, mark } = key;
    this.#tokens.splice(this.#head + number - this.#parsed, 0, {
      type: "key",
      start: mark,
      end: mark,
    });
    this.#roll(mark.column, number, "block-mapping-start", mark);
    key.isPossible = false;
    this.#levels.delete(number);
    this.#isKeyAllowed = false;
  }

  /** Reads a token that may begin a simple key. */
  #fetchNamed(scan: () => Token): true {
    this.#saveKey();
    this.#isKeyAllowed = false;
    this.#tokens.push(scan());
    return true;
  }

  #fetchBlockScalar(isLiteral: boolean): true {
    this.#removeKey();
    this.#isKeyAllowed = true;
    this.#tokens.push(scanBlock(this.#cursor, this.#indent, isLiteral));
    return true;
  }

  #fetchPlain(): void {
    const cursor = this.#cursor;
    if (!this.#beginsPlain()) {
      throw scanFault("found character that cannot start any token", cursor.mark, cursor.mark);
    }
    this.#saveKey();
    this.#isKeyAllowed = false;
    const { token, endsLine } = scanPlain(cursor, this.#indent, this.#isFlow);
    this.#tokens.push(token);
    if (endsLine) this.#isKeyAllowed = true;
  }

  #beginsPlain(): boolean {
    const cursor = this.#cursor;
    const c = cursor.code();
    if (isDigitCode(c)) return true;
    if (c === 45) return !cursor.isBlank(1);
    if (c === 63 || c === 58) return !this.#isFlow && !cursor.isBlankOrEnd(1);
    return !cursor.isBlankOrEnd() && !neverPlain.has(c);
  }
}

const neverPlain: ReadonlySet<number> = new Set(Buffer.from(",[]{}#&*!|>'\"%@`"));
