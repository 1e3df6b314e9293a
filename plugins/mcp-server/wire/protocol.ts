/** The revision without handshake or sessions: every request describes itself. */
export const statelessVersion = '2026-07-28';

/** Revisions that begin with `initialize`, newest first. */
const sessionVersions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

export const latestSessionVersion = '2025-11-25';

/** Version of a call without handshake, session or version header. */
export const bareVersion = '2025-03-26';

export const supportedVersions: readonly string[] = [statelessVersion, ...sessionVersions];

/** Protocol mode: revisions up to 2025-11-25 have sessions, 2026-07-28 is stateless. */
export type Mode = 'session' | 'stateless';

export function isSessionVersion(version: unknown): boolean {
  return (sessionVersions as readonly unknown[]).includes(version);
}

/** From this revision on, results carry `structuredContent` and tools an `outputSchema`. Dates compare as text. */
export function hasStructuredContent(version: string): boolean {
  return version >= '2025-06-18';
}

/** This revision opens its streams with an empty event, so that a client can resume from the very start. */
export function hasPrimingEvent(version: string): boolean {
  return version === '2025-11-25';
}

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

/** Log levels of MCP, least severe first. */
export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return (logLevels as readonly unknown[]).includes(value);
}
