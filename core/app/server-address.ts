import { openSettings } from '../settings/index.js';

/** Where the server of this project listens, and its keys, according to its settings. */
export interface ServerAddress {
  /** `http://127.0.0.1:8088` */
  readonly base: string;
  readonly apiKey: string | undefined;
  readonly adminKey: string | undefined;
}

const defaultPort = 8088;

/** Unusable settings give the defaults: the caller asks the server, or reports that it does not answer. */
export async function serverAddress(projectDir: string): Promise<ServerAddress> {
  const opened = await openSettings({ projectDir });
  if (!opened.ok) return { base: `http://127.0.0.1:${defaultPort}`, apiKey: undefined, adminKey: undefined };
  try {
    const { host, port, apiKey, adminKey } = opened.settings.host.http;
    const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
    const shown = name.includes(':') ? `[${name}]` : name;
    return { base: `http://${shown}:${port === 0 ? defaultPort : port}`, apiKey, adminKey };
  } finally {
    await opened.settings.dispose();
  }
}
