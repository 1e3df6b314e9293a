import { isJsonObject, type JsonObject } from 'mortise/sdk';

export type ServiceName = 'serpapi' | 'tavily' | 'brave';

export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet?: string;
  /** Host of the address. */
  readonly source: string;
}

interface SearchRequest {
  readonly url: string;
  readonly init: RequestInit;
}

/** How a search service is asked, and where its answer holds the results. */
interface SearchService {
  request(account: { readonly baseUrl: string; readonly key: string }, query: string, count: number): SearchRequest;
  results(answer: JsonObject): readonly SearchResult[];
  /** How many results there are in all, where the service says so. */
  total?(answer: JsonObject): number | undefined;
}

export const services: Readonly<Record<ServiceName, SearchService>> = {
  serpapi: {
    request: ({ baseUrl, key }, query, count) => ({
      url: `${baseUrl}/search.json?${new URLSearchParams({ engine: 'google', q: query, num: String(count), api_key: key })}`,
      init: {},
    }),
    results: ({ organic_results: list }) => readResults(list, 'link', 'snippet'),
    total: ({ search_information: facts }) => {
      const total = isJsonObject(facts) ? facts.total_results : undefined;
      return typeof total === 'number' ? total : undefined;
    },
  },
  tavily: {
    request: ({ baseUrl, key }, query, count) => ({
      url: `${baseUrl}/search`,
      init: {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ api_key: key, query, max_results: count }),
      },
    }),
    results: ({ results: list }) => readResults(list, 'url', 'content'),
  },
  brave: {
    request: ({ baseUrl, key }, query, count) => ({
      url: `${baseUrl}/res/v1/web/search?${new URLSearchParams({ q: query, count: String(count) })}`,
      init: { headers: { 'x-subscription-token': key, accept: 'application/json' } },
    }),
    results: ({ web }) => readResults(isJsonObject(web) ? web.results : undefined, 'url', 'description'),
  },
};

/** Entries without an address are left out. */
function readResults(list: unknown, address: string, snippet: string): readonly SearchResult[] {
  if (!Array.isArray(list)) return [];
  return list.filter(isJsonObject).flatMap((entry) => {
    const url = textOf(entry[address]);
    if (url === undefined || !URL.canParse(url)) return [];
    const shown = textOf(entry[snippet]);
    const result = { title: textOf(entry.title) ?? url, url, source: new URL(url).hostname };
    return [shown === undefined ? result : { ...result, snippet: shown }];
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}
