import type { CallContext, CommandInput, CommandResult } from 'mortise/sdk';
import type { ChunkDetails } from '../contract/kb.js';
import { kbError } from '../errors.js';
import type { KbService, RepoChoice } from '../service/knowledge-base.js';
import { argument, choiceOf, done } from './command-input.js';
import { formatChunk, plain } from './format.js';

/** `mortise kb explain REF|CHUNK_ID`: what a citation says now, and how it scores for a query. */
export async function explain(kb: KbService, input: CommandInput, ctx: CallContext): Promise<CommandResult> {
  const given = argument(input, 'evidence ref or chunk id');
  const query = typeof input.options.query === 'string' ? input.options.query : undefined;
  const choice = choiceOf(input, ctx);
  if (!given.startsWith('kb:')) {
    const chunk = await kb.chunk(given, { query }, ctx);
    assertIn(kb, chunk, choice);
    return done({ state: 'current', chunk }, formatChunk(chunk, 'current'));
  }
  const evidence = await kb.evidence(given, nameOf(kb, choice));
  if (evidence.chunk === undefined) return { exitCode: 1, data: evidence, text: `${plain(given)}: ${evidence.state}` };
  const chunk = await kb.chunk(evidence.chunk.chunk_id, { query }, ctx);
  return done({ ...evidence, chunk }, formatChunk(chunk, evidence.state));
}

/** `mortise kb inspect CHUNK_ID`: a passage as it is stored. */
export async function inspect(kb: KbService, input: CommandInput, ctx: CallContext): Promise<CommandResult> {
  const chunk = await kb.chunk(argument(input, 'chunk_id'), { terms: true });
  assertIn(kb, chunk, choiceOf(input, ctx));
  const terms = Object.entries(chunk.terms ?? {}).map(([term, count]) => `  ${plain(term)} ${count}`);
  const vectors = (chunk.vectors ?? []).map((one) => `  ${one.embedder} ${one.model}, ${one.dimensions} dimensions`);
  const facts = [
    `tokens: ${chunk.tokens}`,
    `content_hash: ${chunk.content_hash}`,
    `previous: ${chunk.previous_chunk_id ?? '-'}`,
    `next: ${chunk.next_chunk_id ?? '-'}`,
  ];
  const lines = [formatChunk(chunk, 'current'), '', ...facts, 'vectors:', ...vectors, 'terms:', ...terms];
  return done(chunk, lines.join('\n'));
}

/** The name of the repo that `--repo` or `--root` selects; undefined without them. */
function nameOf(kb: KbService, choice: RepoChoice): string | undefined {
  return choice.repo === undefined && choice.root === undefined ? undefined : kb.repoOf(choice).name;
}

/** @throws MortiseError `chunk_not_found` for a chunk outside the selected repo */
function assertIn(kb: KbService, { chunk_id, repo }: ChunkDetails, choice: RepoChoice): void {
  if ((nameOf(kb, choice) ?? repo) !== repo) throw kbError('chunk_not_found', { chunk_id });
}
