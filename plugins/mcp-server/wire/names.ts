/** Members of `_meta` that the protocol reserves. */
export const metaNames = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  correlationId: 'io.mortise/correlationId',
} as const;

/** Key of the tasks extension in `capabilities.extensions`. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** Request headers, lower case. */
export const headerNames = {
  version: 'mcp-protocol-version',
  method: 'mcp-method',
  name: 'mcp-name',
  session: 'mcp-session-id',
  lastEvent: 'last-event-id',
  parameterPrefix: 'mcp-param-',
} as const;

export type Headers = Readonly<Record<string, string | undefined>>;

/** A header's value without surrounding blanks; undefined when absent or blank. */
export function header(headers: Headers, name: string): string | undefined {
  const value = headers[name]?.trim();
  return value === '' ? undefined : value;
}
