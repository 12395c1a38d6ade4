/** Several errors as one text in the form of Go's utilerrors.NewAggregate: each once, in brackets when there are several. */
export function aggregateText(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  return distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
}
