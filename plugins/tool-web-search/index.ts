import { explainMembers, type PluginDefinition } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { accountsOf, type SearchItem, search } from './search.js';
import { searchFacts } from './search-facts.js';

/** Web search, while it is enabled and a service has a key. */
export default function toolWebSearch(): PluginDefinition<Config> {
  return {
    key: 'tool-web-search',
    start(host) {
      const { config, log } = host;
      const accounts = accountsOf(config);
      if (!config.enabled) return;
      if (accounts.length === 0) {
        log.warn({ code: 'search_not_configured' }, 'web search is enabled, but no search service has a key');
        return;
      }
      const deps = { fetch: host.use('fetch'), accounts };
      host.contribute('tool', 'search', {
        ...searchFacts,
        explain: explainMembers({ query: 'tool input query is required' }),
        run: ({ items }, { signal }) => search(items as readonly SearchItem[], deps, signal),
      });
    },
  };
}
