import type { GenerateRequest } from 'mortise/sdk';
import type { Config } from './config.generated.js';

/** Whom a request goes to, and who pays: what belongs to one account at one address. */
type Account = Pick<Config, 'api_key' | 'base_url' | 'organization' | 'project' | 'headers'>;

const ownAddress = 'https://api.openai.com/v1';

/**
 * The settings of one call: those of its provider row over the configuration. A row with an address or a key of its own
 * is another account: nothing secret of the configured one may reach it.
 */
export function settingsOf(config: Config, { settings }: Pick<GenerateRequest, 'settings'>): Config {
  const row = settings as Partial<Config>;
  if (row.base_url === undefined && row.api_key === undefined) return { ...config, ...row };
  const { api_key: _, organization: __, project: ___, ...rest } = config;
  const account: Account = { base_url: ownAddress, headers: {} };
  return { ...rest, ...account, ...row };
}
