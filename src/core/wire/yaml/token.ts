/** The tokens of a YAML text. */
import type { Mark } from "./cursor.ts";

export type TokenType =
  | "stream-start"
  | "stream-end"
  | "version"
  | "tag-directive"
  | "document-start"
  | "document-end"
  | "block-sequence-start"
  | "block-mapping-start"
  | "block-end"
  | "flow-sequence-start"
  | "flow-sequence-end"
  | "flow-mapping-start"
  | "flow-mapping-end"
  | "block-entry"
  | "flow-entry"
  | "key"
  | "value"
  | "alias"
  | "anchor"
  | "tag"
  | "scalar";

export interface Token {
  readonly type: TokenType;
  readonly start: Mark;
  readonly end: Mark;
  /** Of a scalar its text, of an alias or an anchor its name, of a tag its handle. */
  readonly value?: string;
  /** Of a tag what follows the handle, of a tag directive the prefix. */
  readonly suffix?: string;
  /** Of a scalar: not in quotes, and no block. */
  readonly isPlain?: boolean;
}
