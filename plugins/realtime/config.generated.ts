/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Maximum number of concurrent requests on one socket. */
  readonly maxInFlight: number;
  /** Interval of pings; 0 = no pings. */
  readonly pingSeconds: number;
  /** How long a turn continues after its socket closed; 0 = not at all. */
  readonly disconnectGraceSeconds: number;
  /** How long a socket may read nothing of what is buffered. */
  readonly slowReaderSeconds: number;
  /** How long a socket without a key in its headers may take to authenticate. */
  readonly authSeconds: number;
}
