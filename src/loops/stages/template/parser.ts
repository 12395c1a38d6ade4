/**
 * Templates in Go's text/template language, parsed. Names of functions and variables are checked here, as Go does.
 *
 * Bounds textCharsMax characters; nesting of actions and of parentheses depthMax.
 */
import { TemplateError } from "./budget.ts";
import { readTokens, type Token } from "./lexer.ts";
import type { Command, Operand, Pipe, Template, TemplateNode } from "./syntax.ts";

const textCharsMax = 256 * 1024;
const depthMax = 100;

/** @throws TemplateError */
export function parseTemplate(text: string, hasFunction: (name: string) => boolean): Template {
  if (text.length > textCharsMax) {
    throw new TemplateError(`a template of ${text.length} characters; the most is ${textCharsMax}`);
  }
  return new Parser(readTokens(text), hasFunction).template();
}

interface Ending {
  readonly word: "end" | "else" | "eof";
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #hasFunction: (name: string) => boolean;
  readonly #defined = new Map<string, readonly TemplateNode[]>();
  #variables: string[] = ["$"];
  #at = 0;
  #depth = 0;
  #ranges = 0;

  constructor(tokens: readonly Token[], hasFunction: (name: string) => boolean) {
    this.#tokens = tokens;
    this.#hasFunction = hasFunction;
  }

  template(): Template {
    const { nodes, ending } = this.#list();
    if (ending.word !== "eof") throw new TemplateError(`unexpected {{${ending.word}}}`);
    return { body: nodes, defined: this.#defined };
  }

  #list(): { readonly nodes: TemplateNode[]; readonly ending: Ending } {
    const nodes: TemplateNode[] = [];
    for (;;) {
      const token = this.#tokens[this.#at];
      if (token === undefined) return { nodes, ending: { word: "eof" } };
      this.#at++;
      if (token.kind === "text") nodes.push({ kind: "text", text: token.text });
      else {
        const made = this.#action();
        if (made !== undefined && "word" in made) return { nodes, ending: made };
        if (made !== undefined) nodes.push(made);
      }
    }
  }

  /** Parses the rest after an `open` token. Undefined: the action produces no node, like a comment or a definition. */
  #action(): TemplateNode | Ending | undefined {
    const token = this.#tokens[this.#at];
    if (token?.kind === "close") throw new TemplateError("missing value for command");
    if (token === undefined || token.kind === "text" || token.kind === "open") {
      return undefined; // a comment
    }
    const word = token.kind === "word" ? token.name : "";
    switch (word) {
      case "if":
      case "with":
      case "range":
        this.#at++;
        return this.#control(word);
      case "end":
      case "else":
        this.#at++;
        if (word === "end") this.#close();
        return { word };
      case "break":
      case "continue":
        this.#at++;
        this.#close();
        if (this.#ranges === 0) throw new TemplateError(`{{${word}}} outside {{range}}`);
        return { kind: word };
      case "define":
        this.#at++;
        this.#define();
        return undefined;
      case "block":
        this.#at++;
        return this.#block();
      case "template":
        this.#at++;
        return this.#template();
      default: {
        const pipe = this.#pipe(1);
        this.#close();
        return { kind: "action", pipe };
      }
    }
  }

  #close(): void {
    if (this.#tokens[this.#at]?.kind !== "close") throw this.#unexpected();
    this.#at++;
  }

  #control(kind: "if" | "with" | "range"): TemplateNode {
    if (++this.#depth > depthMax) throw new TemplateError(`nested deeper than ${depthMax}`);
    const known = this.#variables.length;
    const pipe = this.#pipe(kind === "range" ? 2 : 1);
    this.#close();
    if (kind === "range") this.#ranges++;
    const { nodes: body, ending } = this.#list();
    if (kind === "range") this.#ranges--;
    const otherwise = ending.word === "else" ? this.#otherwise(kind) : [];
    if (ending.word === "eof") throw new TemplateError(`{{${kind}}} without {{end}}`);
    this.#variables.length = known;
    this.#depth--;
    return { kind, pipe, body, otherwise };
  }

  /** Parses the rest after `else`: a list, or another `if` or `with`, which shares the `end`. */
  #otherwise(kind: "if" | "with" | "range"): readonly TemplateNode[] {
    const token = this.#tokens[this.#at];
    if (token?.kind === "word" && token.name === kind && kind !== "range") {
      this.#at++;
      return [this.#control(kind)];
    }
    this.#close();
    const { nodes, ending } = this.#list();
    if (ending.word !== "end") throw new TemplateError(`{{else}} without {{end}}`);
    return nodes;
  }

  #name(): string {
    const token = this.#tokens[this.#at++];
    if (token?.kind !== "string") throw this.#unexpected();
    return token.value;
  }

  #define(): void {
    const name = this.#name();
    this.#close();
    this.#defined.set(name, this.#definition(name));
  }

  #definition(name: string): readonly TemplateNode[] {
    if (++this.#depth > depthMax) throw new TemplateError(`nested deeper than ${depthMax}`);
    const outer = this.#variables;
    this.#variables = ["$"];
    const { nodes, ending } = this.#list();
    if (ending.word !== "end") throw new TemplateError(`definition of ${name} without {{end}}`);
    this.#variables = outer;
    this.#depth--;
    return nodes;
  }

  #block(): TemplateNode {
    const name = this.#name();
    const pipe = this.#pipe(1);
    this.#close();
    this.#defined.set(name, this.#definition(name));
    return { kind: "template", name, pipe };
  }

  #template(): TemplateNode {
    const name = this.#name();
    const pipe = this.#tokens[this.#at]?.kind === "close" ? undefined : this.#pipe(1);
    this.#close();
    return { kind: "template", name, pipe };
  }

  #pipe(variablesMax: 1 | 2): Pipe {
    const { variables, isAssignment } = this.#declared(variablesMax);
    const commands: Command[] = [];
    do commands.push(this.#command());
    while (this.#took("|"));
    // A declared variable is visible only after its own pipeline.
    if (!isAssignment) this.#variables.push(...variables);
    return { variables, isAssignment, commands };
  }

  #declared(most: 1 | 2): Pick<Pipe, "variables" | "isAssignment"> {
    const start = this.#at;
    const variables: string[] = [];
    for (;;) {
      const token = this.#tokens[this.#at];
      if (token?.kind !== "variable") break;
      variables.push(token.name);
      this.#at++;
      if (variables.length < most && this.#took(",")) continue;
      if (this.#took(":=")) return { variables, isAssignment: false };
      if (this.#took("=")) {
        for (const name of variables) this.#known(name);
        return { variables, isAssignment: true };
      }
      break;
    }
    this.#at = start;
    return { variables: [], isAssignment: false };
  }

  #took(mark: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.kind !== "mark" || token.mark !== mark) return false;
    this.#at++;
    return true;
  }

  #command(): Command {
    const operands: Operand[] = [];
    for (;;) {
      const operand = this.#operand();
      if (operand === undefined) break;
      operands.push(operand);
    }
    if (operands.length === 0) throw this.#unexpected();
    return operands;
  }

  #operand(): Operand | undefined {
    const token = this.#tokens[this.#at];
    if (token === undefined) return undefined;
    switch (token.kind) {
      case "dot":
        this.#at++;
        return { kind: "dot", path: this.#path([]) };
      case "field":
        this.#at++;
        return { kind: "dot", path: this.#path([token.name]) };
      case "variable":
        this.#at++;
        this.#known(token.name);
        return { kind: "variable", name: token.name, path: this.#path([]) };
      case "string":
      case "number":
        this.#at++;
        return { kind: "literal", value: token.value };
      case "word":
        this.#at++;
        return this.#word(token.name);
      case "mark":
        return token.mark === "(" ? this.#parenthesis() : undefined;
      default:
        return undefined;
    }
  }

  #parenthesis(): Operand {
    if (++this.#depth > depthMax) throw new TemplateError(`nested deeper than ${depthMax}`);
    this.#at++;
    const pipe = this.#pipe(1);
    if (!this.#took(")")) throw this.#unexpected();
    this.#depth--;
    return { kind: "pipe", pipe, path: this.#path([]) };
  }

  /** Reads the fields that follow without a space. */
  #path(path: string[]): readonly string[] {
    for (;;) {
      const token = this.#tokens[this.#at];
      if (token?.kind !== "field" || !token.isGlued) return path;
      path.push(token.name);
      this.#at++;
    }
  }

  #word(name: string): Operand {
    if (name === "true" || name === "false") return { kind: "literal", value: name === "true" };
    if (name === "nil") return { kind: "literal", value: undefined };
    if (!this.#hasFunction(name)) throw new TemplateError(`function "${name}" not defined`);
    return { kind: "function", name };
  }

  #known(name: string): void {
    if (!this.#variables.includes(name)) throw new TemplateError(`undefined variable "${name}"`);
  }

  #unexpected(): TemplateError {
    const token = this.#tokens[this.#at];
    const shown = token === undefined ? "end of the template" : JSON.stringify(token);
    return new TemplateError(`unexpected ${shown}`);
  }
}
