/** Tokens of a label selector text. `in` and `notin` are words; the parser knows where they are values. */

export interface LabelToken {
  /** `end` occurs once, as the last token. */
  readonly kind:
    | ")"
    | "("
    | ","
    | "!"
    | "="
    | "=="
    | "!="
    | ">"
    | "<"
    | "in"
    | "notin"
    | "identifier"
    | "end";
  readonly text: string;
}

const symbols = new Set([")", "(", ",", "!", "=", "==", "!=", ">", "<"]);
const symbolCharacters = new Set(["=", "!", "(", ")", ",", ">", "<"]);
const whitespace = new Set([" ", "\t", "\r", "\n"]);

/** Never throws; the last token is `end`. Linear in the text. */
export function lexLabelSelector(text: string): readonly LabelToken[] {
  const tokens: LabelToken[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    if (character === "\0") break; // reads as the end, as upstream
    if (whitespace.has(character)) {
      at += 1;
      continue;
    }
    const token = symbolCharacters.has(character) ? lexSymbol(text, at) : lexWord(text, at);
    tokens.push(token);
    at += token.text.length;
  }
  tokens.push({ kind: "end", text: "" });
  return tokens;
}

/** The longest symbol token at `at`: `==`, `!=`, otherwise one character. */
function lexSymbol(text: string, at: number): LabelToken {
  const two = text.slice(at, at + 2);
  const found = symbols.has(two) ? two : text.charAt(at);
  return { kind: found as LabelToken["kind"], text: found }; // every symbol character is a token
}

function lexWord(text: string, at: number): LabelToken {
  let end = at;
  while (end < text.length && isWordCharacter(text.charAt(end))) end += 1;
  const word = text.slice(at, end);
  if (word === "in" || word === "notin") return { kind: word, text: word };
  return { kind: "identifier", text: word };
}

function isWordCharacter(character: string): boolean {
  return character !== "\0" && !symbolCharacters.has(character) && !whitespace.has(character);
}
