import type { SpokenDialect } from './dialect/spoken-dialect.js';
import type { Client } from './http/create-client.js';

/** What the calls of this backend work with. */
export interface OpenMemoryParts {
  readonly client: Client;
  readonly spoken: SpokenDialect;
  readonly apiKey: string | undefined;
}
