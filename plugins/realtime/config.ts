/** Times in seconds. */
export interface Config {
  readonly maxInFlight: number;
  /** 0 = no pings. */
  readonly pingSeconds: number;
  readonly disconnectGraceSeconds: number;
  readonly slowReaderSeconds: number;
  readonly authSeconds: number;
}
