/** What an autoscaler says: conditions and warnings. */
export interface Said {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/** A Warning event. */
export interface Warning {
  readonly reason: string;
  readonly message: string;
}
