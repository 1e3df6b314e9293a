/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Opens no websocket to QQ, regardless of the channel's configuration. */
  readonly disableInboundSupervisor: boolean;
  /** Delay before the first reconnect of the websocket; doubled after each failure, up to 30 s. */
  readonly reconnectBaseSeconds: number;
}
