import type { GenerateRequest } from 'mortise/sdk';
import type { Config } from './config.generated.js';

/** The settings that belong to one account at one address. */
type Account = Pick<Config, 'api_key' | 'base_url' | 'organization' | 'project' | 'headers'>;

const ownAddress = 'https://api.openai.com/v1';

/**
 * The settings of one call: those of its provider row override the configuration. A row with its own address or key is
 * another account, which must not receive secrets of the configured one.
 */
export function settingsOf(config: Config, { settings }: Pick<GenerateRequest, 'settings'>): Config {
  const row = settings as Partial<Config>;
  if (row.base_url === undefined && row.api_key === undefined) return { ...config, ...row };
  const { api_key: _, organization: __, project: ___, ...rest } = config;
  const account: Account = { base_url: ownAddress, headers: {} };
  return { ...rest, ...account, ...row };
}
