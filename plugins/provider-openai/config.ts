import type { GenerateRequest } from 'mortise/sdk';

/** The configuration of `config.schema.json`, defaults filled in. */
export interface OpenAiConfig {
  readonly api_key?: string;
  readonly base_url: string;
  readonly organization?: string;
  readonly project?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly models: readonly { readonly id: string; readonly context?: number; readonly output?: number }[];
  readonly reasoning_effort?: 'minimal' | 'low' | 'medium' | 'high';
  readonly attachments: boolean;
  readonly timeout_ms: number;
  readonly idle_timeout_ms: number;
  readonly max_retries: number;
}

/** The settings that belong to one account at one address. */
type Account = Pick<OpenAiConfig, 'api_key' | 'base_url' | 'organization' | 'project' | 'headers'>;

const ownAddress = 'https://api.openai.com/v1';

/**
 * The settings of one call: those of its provider row override the configuration. A row with its own address or key is
 * another account, which must not receive secrets of the configured one.
 */
export function settingsOf(config: OpenAiConfig, { settings }: Pick<GenerateRequest, 'settings'>): OpenAiConfig {
  const row = settings as Partial<OpenAiConfig>;
  if (row.base_url === undefined && row.api_key === undefined) return { ...config, ...row };
  const { api_key: _, organization: __, project: ___, ...rest } = config;
  const account: Account = { base_url: ownAddress, headers: {} };
  return { ...rest, ...account, ...row };
}
