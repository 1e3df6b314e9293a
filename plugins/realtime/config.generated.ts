/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Maximum number of concurrent requests on one socket. */
  readonly maxInFlight: number;
  /** Interval of WebSocket pings in seconds; 0 = never. */
  readonly pingSeconds: number;
  /** How long a turn continues after its socket closed, in seconds; 0 = cancelled at once. */
  readonly disconnectGraceSeconds: number;
  /** How long a socket with queued output may read nothing before it is closed, in seconds. */
  readonly slowReaderSeconds: number;
  /** Time limit in seconds for the first frame of a socket without a key in its headers. */
  readonly authSeconds: number;
}
