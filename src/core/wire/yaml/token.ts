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
  /** The text of a scalar, the name of an alias or anchor, or the handle of a tag. */
  readonly value?: string;
  /** The suffix of a tag, or the prefix of a tag directive. */
  readonly suffix?: string;
  /** For a scalar: neither quoted nor a block. */
  readonly isPlain?: boolean;
}
