/** Syntax tree of a parsed template. */

export type TemplateNode =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "action"; readonly pipe: Pipe }
  | {
      readonly kind: "if" | "with" | "range";
      readonly pipe: Pipe;
      readonly body: readonly TemplateNode[];
      readonly otherwise: readonly TemplateNode[];
    }
  | { readonly kind: "template"; readonly name: string; readonly pipe: Pipe | undefined }
  | { readonly kind: "break" | "continue" };

export interface Pipe {
  /** One variable, or two in a range; empty: none. */
  readonly variables: readonly string[];
  /** Whether the operator is `=` instead of `:=`. */
  readonly isAssignment: boolean;
  readonly commands: readonly Command[];
}

export type Command = readonly Operand[];

export type Operand =
  | { readonly kind: "dot"; readonly path: readonly string[] }
  | { readonly kind: "variable"; readonly name: string; readonly path: readonly string[] }
  | { readonly kind: "pipe"; readonly pipe: Pipe; readonly path: readonly string[] }
  | { readonly kind: "literal"; readonly value: string | number | boolean | undefined }
  | { readonly kind: "function"; readonly name: string };

export interface Template {
  readonly body: readonly TemplateNode[];
  /** By name: the body of `{{ define "name" }}`. */
  readonly defined: ReadonlyMap<string, readonly TemplateNode[]>;
}
