/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** MCP servers by name. Each has a command (stdio) or a url (streamable HTTP). */
  readonly servers: {
    readonly [k: string]: {
      readonly [k: string]: unknown;
    } & {
      /** Program to start. */
      readonly command?: string;
      /** Arguments of the program. One in which a secret is recognised (--token …) is stored as one. */
      readonly args?: readonly string[];
      /** Variables of the program; it gets no others but PATH, HOME and the like. */
      readonly env?: {
        readonly [k: string]: string;
      };
      /** Address of the endpoint. One in which a secret is recognised (?api_key=…) is stored as one. */
      readonly url?: string;
      /** Headers of every request. */
      readonly headers?: {
        readonly [k: string]: string;
      };
      readonly enabled: boolean;
      /** Time limit of a call, in seconds. */
      readonly timeout_seconds: number;
    };
  };
}
