/** Syntax tree of a parsed query. */

export type Query =
  | { readonly kind: "identity" }
  | { readonly kind: "literal"; readonly value: unknown }
  /** `.name`, `["name"]`, or `[0]`; `of` is the query before it. */
  | {
      readonly kind: "field";
      readonly of: Query;
      readonly key: Query;
      readonly isOptional: boolean;
    }
  /** `.[]`. */
  | { readonly kind: "each"; readonly of: Query; readonly isOptional: boolean }
  | { readonly kind: "list"; readonly body: Query | undefined }
  | {
      readonly kind: "binary";
      readonly operator: Operator;
      readonly left: Query;
      readonly right: Query;
    }
  | { readonly kind: "if"; readonly test: Query; readonly yes: Query; readonly no: Query }
  | { readonly kind: "call"; readonly name: string; readonly args: readonly Query[] };

export type Operator =
  | "|"
  | ","
  | "//"
  | "or"
  | "and"
  | "=="
  | "!="
  | "<"
  | "<="
  | ">"
  | ">="
  | "+"
  | "-"
  | "*"
  | "/"
  | "%";
