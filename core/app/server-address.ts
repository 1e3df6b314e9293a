import { openSettings } from '../settings/index.js';
import type { HostSettings, SettingsSource } from '../settings/types.js';

/** Where the server of this project listens, and its keys, according to its settings. */
export interface ServerAddress {
  /** `http://127.0.0.1:8088` */
  readonly base: string;
  readonly apiKey: string | undefined;
  readonly adminKey: string | undefined;
  /** Language of the command line; absent when the settings cannot be used. */
  readonly locale?: HostSettings['locale'];
}

const defaultPort = 8088;

/** Unusable settings give the defaults: the caller asks the server, or reports that it does not answer. */
export async function serverAddress(source: SettingsSource): Promise<ServerAddress> {
  const opened = await openSettings(source);
  if (!opened.ok) return { base: `http://127.0.0.1:${defaultPort}`, apiKey: undefined, adminKey: undefined };
  try {
    const { locale, http } = opened.settings.host;
    const { host, port, apiKey, adminKey } = http;
    const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
    const shown = name.includes(':') ? `[${name}]` : name;
    return { base: `http://${shown}:${port === 0 ? defaultPort : port}`, apiKey, adminKey, locale };
  } finally {
    await opened.settings.dispose();
  }
}
