/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Requests in progress on one socket. */
  readonly maxInFlight: number;
  /** How often a socket is asked whether it is still there; 0 = never. */
  readonly pingSeconds: number;
  /** How long a turn goes on after its socket closed; 0 = not at all. */
  readonly disconnectGraceSeconds: number;
  /** How long a socket may take nothing of what waits for it. */
  readonly slowReaderSeconds: number;
  /** How long a socket without a key in its headers may take for its first frame. */
  readonly authSeconds: number;
}
