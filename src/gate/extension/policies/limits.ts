/** Limits of admission expressions. Source: k8s.io/apiserver pkg/apis/cel/config.go, 1.36. */
export const limits = {
  /** Cost units of one evaluation of one expression. */
  callCost: 1_000_000,
  /** Cost units of all expressions of one policy about one request. */
  policyCost: 10_000_000,
  /** Cost units of all matchConditions of one policy or webhook. */
  matchConditionsCost: 2_500_000,
  /** Bytes of a message that messageExpression made; a longer one is not used. */
  messageBytes: 5 * 1024,
  /** Bytes of the value of an audit annotation; the rest is cut. */
  annotationBytes: 10 * 1024,
} as const;
