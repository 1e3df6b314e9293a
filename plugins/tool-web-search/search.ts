import { batchResult } from 'mortise/contracts/agent';
import {
  type GuardedFetch,
  isJsonObject,
  type JsonObject,
  MortiseError,
  readResponse,
  startDeadline,
} from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { type SearchResult, type ServiceName, services } from './services.js';

export interface SearchItem {
  readonly query: string;
  readonly provider?: string;
  readonly count?: number;
  readonly timeout_seconds?: number;
}

/** A service that can be asked. */
interface Account {
  readonly name: ServiceName;
  readonly baseUrl: string;
  readonly key: string;
}

interface SearchDeps {
  readonly fetch: GuardedFetch;
  /** The default one first. */
  readonly accounts: readonly Account[];
}

const names = Object.keys(services) as ServiceName[];
const usualCount = 5;
const maxResults = 10;
const usualSeconds = 20;
const maxSeconds = 120;
const maxBytes = 256 * 1_024;

/** The services that have a key, the default one first. */
export function accountsOf(config: Config): readonly Account[] {
  const accounts = names.flatMap((name): readonly Account[] => {
    const key = config[`${name}_key`]?.trim();
    return key ? [{ name, key, baseUrl: config[`${name}_base_url`].replace(/\/$/, '') }] : [];
  });
  const preferred = accounts.filter(({ name }) => name === config.default_provider);
  return [...preferred, ...accounts.filter((account) => !preferred.includes(account))];
}

/** Searches one query after another. A service that fails is a result, not an error. */
export async function search(items: readonly SearchItem[], deps: SearchDeps, signal: AbortSignal): Promise<object> {
  // All items are checked before the first request.
  const asked = items.map((item) => ({ item, query: queryOf(item), account: accountFor(item, deps.accounts) }));
  const results: Awaited<ReturnType<typeof searchOne>>[] = [];
  for (const { item, query, account } of asked) results.push(await searchOne(query, item, account, deps.fetch, signal));
  return batchResult(results);
}

async function searchOne(query: string, item: SearchItem, account: Account, fetch: GuardedFetch, signal: AbortSignal) {
  const startedAt = performance.now();
  const count = limited(item.count, usualCount, maxResults);
  const facts = { provider: account.name, query };
  const done = () => Math.round(performance.now() - startedAt);
  const deadline = startDeadline(limited(item.timeout_seconds, usualSeconds, maxSeconds) * 1_000, signal);
  try {
    const answer = await ask(query, count, account, fetch, deadline.signal);
    const results = services[account.name].results(answer).slice(0, count);
    const total = services[account.name].total?.(answer);
    const known = total === undefined ? {} : { total };
    const text = [`search ${account.name} "${query}" found ${results.length} result(s)`, ...results.map(shown)].join(
      '\n',
    );
    return { ok: true, ...facts, count: results.length, ...known, results, duration_ms: done(), text };
  } catch (cause) {
    signal.throwIfAborted();
    const error = deadline.expired ? 'the search service did not answer in time' : failureOf(cause);
    const text = `search ${account.name} "${query}" failed: ${error}`;
    return { ok: false, ...facts, count: 0, results: [], duration_ms: done(), error, text };
  } finally {
    deadline.close();
  }
}

function shown({ title, url, snippet }: SearchResult, index: number): string {
  return `${index + 1}. ${title}\n   ${url}${snippet === undefined ? '' : `\n   ${snippet}`}`;
}

async function ask(
  query: string,
  count: number,
  account: Account,
  fetch: GuardedFetch,
  signal: AbortSignal,
): Promise<JsonObject> {
  const { url, init } = services[account.name].request(account, query, count);
  // The key is part of the request: it must not follow a redirect.
  const response = await fetch(url, { ...init, signal, redirect: 'manual' });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new SearchFailure(`the search service answered with status ${response.status}`);
  }
  const { bytes, isCut } = await readResponse(response, maxBytes);
  if (isCut) throw new SearchFailure('the answer of the search service is too large');
  const answer: unknown = JSON.parse(bytes.toString());
  if (!isJsonObject(answer)) throw new SearchFailure('the search service did not answer with an object');
  return answer;
}

/** A failure whose message may be shown: it holds no key. */
class SearchFailure extends Error {}

function failureOf(error: unknown): string {
  if (error instanceof SearchFailure) return error.message;
  return error instanceof SyntaxError
    ? 'the search service did not answer with JSON'
    : 'the search service could not be reached';
}

function queryOf({ query }: SearchItem): string {
  if (query.trim() === '') throw invalid('tool input query is required');
  return query.trim();
}

function accountFor({ provider }: SearchItem, accounts: readonly Account[]): Account {
  const name = provider?.trim().toLowerCase();
  const account = name ? accounts.find((one) => one.name === name) : accounts[0];
  if (account) return account;
  const isKnown = names.some((one) => one === name);
  throw invalid(isKnown ? 'tool input provider is not configured' : 'tool input provider is unsupported');
}

function limited(value: number | undefined, usual: number, most: number): number {
  return value === undefined || !(value > 0) ? usual : Math.min(Math.ceil(value), most);
}

function invalid(message: string): MortiseError {
  return new MortiseError('invalid_tool_input', message, { status: 400 });
}
