/** Limits of admission expressions. Source: k8s.io/apiserver pkg/apis/cel/config.go, 1.36. */
export const limits = {
  /** Maximum cost units of one evaluation of one expression. */
  callCost: 1_000_000,
  /** Maximum cost units of all expressions of one policy for one request. */
  policyCost: 10_000_000,
  /** Maximum cost units of all matchConditions of one policy or webhook. */
  matchConditionsCost: 2_500_000,
  /** Maximum bytes of a message from messageExpression. A longer one is not used. */
  messageBytes: 5 * 1024,
  /** Maximum bytes of an audit annotation's value. The rest is cut off. */
  annotationBytes: 10 * 1024,
} as const;
