import type { DialectName } from './dialects.js';

/** The configuration of `config.schema.json`, defaults filled in. */
export interface OpenMemoryConfig {
  readonly base_url?: string;
  readonly api_key?: string;
  readonly dialect: DialectName | 'auto';
}
