/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** No websocket to QQ is opened, regardless of the channel's configuration. */
  readonly disableInboundSupervisor: boolean;
  /** Wait before the first reconnect of the websocket; doubled after each failure, up to 30 s. */
  readonly reconnectBaseSeconds: number;
}
