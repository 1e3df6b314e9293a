import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createTestHost, type TestHost, type TestHostOptions } from 'mortise/sdk/testing';
import type { RefreshReport, SearchAnswer } from '../kb.js';

/** A running knowledge base over a folder of the test. */
export interface KbHost {
  readonly host: TestHost;
  readonly root: string;
  /** The file of the index. */
  readonly indexFile: string;
  write(path: string, content: string | Uint8Array): Promise<void>;
  remove(path: string): Promise<void>;
  refresh(request?: object): Promise<RefreshReport>;
  search(query: string, more?: object): Promise<SearchAnswer>;
  /** The parsed body of a request, whatever its status. */
  ask(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly body: Json }>;
  stop(): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of responses, asserted by each test
export type Json = any;

/** Boots the product with the knowledge base over `files`. */
export async function createKbHost(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  config: object = {},
  options: TestHostOptions = {},
): Promise<KbHost> {
  const host = await createTestHost({
    plugins: ['kb', ...(options.plugins ?? [])],
    config: { kb: { repos: [{ name: 'default', path: 'repo' }], watch: false, ...config } },
    ...options,
    ...(options.plugins ? { plugins: ['kb', ...options.plugins] } : {}),
  });
  const root = join(host.dataDir, 'repo');
  const write: KbHost['write'] = async (path, content) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  await mkdir(root, { recursive: true });
  for (const [path, content] of Object.entries(files)) await write(path, content);
  const ask: KbHost['ask'] = async (method, path, body) => {
    const response = await host.fetch(path, {
      method,
      ...(body === undefined
        ? {}
        : {
            headers: { 'content-type': 'application/json' },
            body: typeof body === 'string' ? body : JSON.stringify(body),
          }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  const good = async (path: string, body: object): Promise<Json> => {
    const { status, body: answer } = await ask('POST', path, body);
    if (status !== 200) throw new Error(`${path} answered ${status}: ${JSON.stringify(answer)}`);
    return answer;
  };
  return {
    host,
    root,
    indexFile: join(host.dataDir, 'data', 'kb.db'),
    write,
    remove: (path) => rm(join(root, path), { recursive: true }),
    refresh: (request = {}) => good('/kb/refresh', { ...request, wait: true }),
    search: (query, more = {}) => good('/kb/search', { query, ...more }),
    ask,
    stop: () => host.stop(),
  };
}

/** Checks that the parts of every hit add up to its score. @returns what is wrong */
export function wrongExplanations({ results }: SearchAnswer): readonly string[] {
  return results.flatMap(({ explanation: own, score, evidence_ref: ref }) => {
    if (own === undefined) return [`${ref} has no explanation`];
    const near = (one: number, other: number): boolean => Math.abs(one - other) <= 1e-6;
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
    const product = own.text_score * own.document_boost * own.recency_boost;
    const final =
      own.final_score === undefined
        ? product
        : (1 - (own.alpha ?? 0)) * (own.keyword_norm ?? 0) + (own.alpha ?? 0) * (own.vector_score ?? 0);
    const checks = {
      bm25:
        near(sum(own.terms.map(({ contribution }) => contribution)), own.bm25_score) &&
        near(own.bm25_score, own.parts.bm25),
      text: near(sum(Object.values(own.parts)), own.text_score),
      keyword: own.keyword_score === undefined || near(own.keyword_score, product),
      score: near(final, score) && near(own.score, score),
    };
    return Object.entries(checks).flatMap(([name, isRight]) => (isRight ? [] : [`${ref}: ${name}`]));
  });
}
