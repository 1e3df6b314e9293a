import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { CallContext, Command, CommandInput, CommandResult, PluginControl, StartHost } from 'mortise/sdk';
import type { RefreshReport } from '../contract/kb.js';
import { evaluateQueries } from '../evaluate/evaluate-queries.js';
import type { Evaluation } from '../evaluate/evaluate-set.js';
import { readJsonLines } from '../evaluate/read-set.js';
import type { RepairReport } from '../index/repair-index.js';
import type { EmbedReport } from '../service/fill-index.js';
import type { Job } from '../service/jobs.js';
import type { KbService, RepoChoice } from '../service/knowledge-base.js';
import { explain, inspect } from './chunk-commands.js';
import { argument, choiceOf, done, refusedValue, usage } from './command-input.js';
import {
  formatCoverage,
  formatEmbeddings,
  formatRefresh,
  formatRepair,
  formatSearch,
  formatStats,
  nameLine,
} from './format.js';
import { repos } from './repos-command.js';
import { createWatchCommand } from './watch-command.js';

interface CommandDeps {
  readonly kb: KbService;
  readonly plugins: PluginControl;
  readonly host: Pick<StartHost, 'every' | 'own'>;
  /** The index, for people. */
  readonly file: string;
}

type Run = (input: CommandInput, ctx: CallContext) => Promise<CommandResult>;

/** A job answers at least this often with its progress, milliseconds. */
const stepMs = 250;

/** The commands by contribution key; their usage and options are in the manifest. */
export function createCommands(deps: CommandDeps): Readonly<Record<string, { run: Run; isRead: Command['isRead'] }>> {
  const { kb } = deps;
  const reads = new Set(['kb-search', 'kb-explain', 'kb-inspect', 'kb-stats', 'kb-sources', 'kb-eval']);
  const runs: Record<string, Run> = {
    'kb-refresh': (input, ctx) => refresh(kb, input, ctx),
    'kb-search': (input, ctx) => search(kb, input, ctx),
    'kb-explain': (input, ctx) => explain(kb, input, ctx),
    'kb-inspect': (input, ctx) => inspect(kb, input, ctx),
    'kb-stats': async (input, ctx) => {
      const stats = await kb.stats(chosen(input, ctx));
      // Only admins see where the data directory is.
      if (!ctx.principal.admin) return done(stats, formatStats(stats));
      return done({ ...stats, database_path: deps.file }, formatStats(stats, deps.file));
    },
    'kb-sources': async (input, ctx) => {
      const status = input.options.status;
      const { items, next } = await kb.sources({
        repo: kb.repoOf(choiceOf(input, ctx)).name,
        limit: Number(input.options.limit ?? 1_000),
        after: '',
        ...(typeof status === 'string' ? { status } : {}),
      });
      const rows = items.map((one) => [
        nameLine(one.path),
        one.status,
        String(one.chunks),
        one.doc_type,
        one.reason ?? '',
      ]);
      const text = next === null ? '' : 'There are more; --limit shows up to 1000.';
      return { ...done({ items }, text), table: { head: ['path', 'status', 'chunks', 'type', 'reason'], rows } };
    },
    'kb-eval': (input, ctx) => evaluate(kb, input, ctx),
    'kb-reindex': async (input, ctx) => {
      if (input.resume === undefined && input.options.confirm !== true) {
        const { repos } = await kb.stats(choiceOf(input, ctx));
        const [repo] = repos;
        const text = `This deletes ${repo?.chunks ?? 0} chunks of ${repo?.files ?? 0} files of the repo "${repo?.name ?? ''}" and indexes them again. Run it with --confirm.`;
        return { exitCode: 2, data: { error: 'confirmation_required', repo }, text };
      }
      return await followed(
        kb,
        input,
        () => kb.reindex(choiceOf(input, ctx), callerOf(ctx)),
        (report) => {
          const done_ = report as RefreshReport;
          return done(done_, formatRefresh(done_, false));
        },
      );
    },
    'kb-repair': (input, ctx) =>
      followed(
        kb,
        input,
        () => kb.repair({ check: input.options.check === true, deep: input.options.deep === true }, chosen(input, ctx)),
        (report) => {
          const repaired = report as RepairReport;
          const isBad = input.options.check === true && repaired.checks.some(({ found }) => found > 0);
          return { exitCode: isBad ? 1 : 0, data: repaired, text: formatRepair(repaired) };
        },
      ),
    'kb-embed': (input, ctx) => embed(kb, input, ctx),
    'kb-watch': createWatchCommand(kb, deps.host),
    'kb-repos': (input, ctx) => repos(deps, input, ctx),
  };
  const isRead = (key: string) => (input: CommandInput) =>
    reads.has(key) ||
    input.resume !== undefined ||
    (key === 'kb-repos' && input.args.length === 0) ||
    input.args[0] === 'stats';
  return Object.fromEntries(
    Object.entries(runs).map(([key, run]) => [
      key,
      { run: (input, ctx) => run(input, ctx).catch(refusedValue), isRead: isRead(key) },
    ]),
  );
}

/** The repo that `--repo` or `--root` selects; undefined without them. */
function chosen(input: CommandInput, ctx: CallContext): RepoChoice | undefined {
  const { repo, root } = input.options;
  return repo === undefined && root === undefined ? undefined : choiceOf(input, ctx);
}

function callerOf({ principal, correlationId, requestId }: CallContext) {
  return { principal, correlationId, requestId };
}

function listOf(value: CommandInput['options'][string] | undefined): readonly string[] {
  return Array.isArray(value) ? value : typeof value === 'string' ? [value] : [];
}

/** Starts a job, or goes on waiting for it; reports its progress until it has ended. */
async function followed(
  kb: KbService,
  { resume }: CommandInput,
  start: () => Job,
  finish: (report: object) => CommandResult,
): Promise<CommandResult> {
  const id = resume ?? start().id;
  const job = await kb.jobs.wait(id, stepMs);
  if (job.state === 'queued' || job.state === 'running') return goesOn(job);
  return finish(await kb.reportOf(id));
}

function goesOn(job: Job): CommandResult {
  const hasBegun = job.state === 'queued' || job.phase !== 'queued';
  const again = { resume: job.id, afterMs: 0, ...(hasBegun ? { progress: progressOf(job) } : {}) };
  return { exitCode: 0, data: { job }, text: '', again };
}

function progressOf({ phase, done, total, rate, eta_seconds: etaSeconds }: Job) {
  return { phase, done, total, rate, etaSeconds };
}

const waiting = 'wait';

async function refresh(kb: KbService, input: CommandInput, ctx: CallContext): Promise<CommandResult> {
  const { options } = input;
  if (options.full === true && options.verify === true)
    return usage('--full reads every file and --verify only compares: give one of them.');
  const choice = choiceOf(input, ctx);
  const repo = kb.repoOf(choice).name;
  const start = (): Job => {
    const mode = options.verify === true ? 'verify' : options.full === true ? 'full' : 'incremental';
    const paths = listOf(options.path);
    return kb.refresh({ mode, ...(paths.length > 0 ? { paths } : {}) }, choice, callerOf(ctx));
  };
  try {
    const active = kb.jobs.active(repo);
    const isWaiting = input.resume === waiting || input.resume === undefined;
    if (isWaiting && active !== undefined && options.wait !== false) {
      const progress = progressOf(await kb.jobs.wait(active.id, stepMs));
      return { exitCode: 0, data: {}, text: '', again: { resume: waiting, afterMs: 0, progress } };
    }
    const resumed = input.resume === waiting ? { ...input, resume: undefined } : input;
    return await followed(kb, resumed as CommandInput, start, (report) => {
      const done_ = report as RefreshReport;
      const isStrict = options.strict === true && done_.errors + done_.skipped_files > 0;
      return { exitCode: isStrict ? 1 : 0, data: done_, text: formatRefresh(done_, options.verbose === true) };
    });
  } catch (error) {
    // Another process refreshes this repo.
    if ((error as { code?: unknown }).code !== 'refresh_running' || options.wait === false) throw error;
    const progress = { phase: 'waiting', done: 0, total: 0 };
    return { exitCode: 0, data: {}, text: '', again: { resume: waiting, afterMs: 500, progress } };
  }
}

async function search(kb: KbService, input: CommandInput, ctx: CallContext): Promise<CommandResult> {
  const { options, args } = input;
  if (args.length === 0) return usage('Give a query: mortise kb search "how do I …?"');
  const choice = choiceOf(input, ctx);
  const isExplained = options.explain !== false;
  const text = (name: string): string | undefined => (typeof options[name] === 'string' ? options[name] : undefined);
  const types = listOf(options.docType);
  const tags = listOf(options.tag);
  const body = {
    query: args.join(' '),
    ...(text('topK') === undefined ? {} : { top_k: Number(text('topK')) }),
    ...(text('offset') === undefined ? {} : { offset: Number(text('offset')) }),
    ...(text('scope') === undefined ? {} : { scope: text('scope') }),
    ...(text('asOf') === undefined ? {} : { as_of: text('asOf') }),
    ...(typeof options.rerank === 'boolean' ? { rerank: options.rerank } : {}),
    syntax: options.syntax === true,
    content: options.content === true,
    explain: isExplained,
    filters: {
      ...(types.length > 0 ? { doc_types: types } : {}),
      ...(tags.length > 0 ? { tags } : {}),
      ...(text('since') === undefined ? {} : { modified_after: text('since') }),
      ...(text('until') === undefined ? {} : { modified_before: text('until') }),
    },
  };
  const answer = await kb.search(body, choice, ctx);
  const rootOf = (repo: string): string | undefined =>
    ctx.principal.admin ? (choice.root ?? kb.settings.repos.find(({ name }) => name === repo)?.root) : undefined;
  const spans = formatSearch(answer, { explain: isExplained, rootOf });
  const shown = spans.map((span) => span.text).join('');
  const detail = answer.degraded && `${answer.degraded.message}\nTry: ${answer.degraded.hint}`;
  return { exitCode: 0, data: answer, text: shown, spans, ...(detail ? { detail } : {}) };
}

async function evaluate(kb: KbService, input: CommandInput, ctx: CallContext): Promise<CommandResult> {
  const path = resolve(input.cwd ?? process.cwd(), argument(input, 'folder or .jsonl file'));
  const given = String(input.options.k ?? '1,3,5,10,100')
    .split(',')
    .map(Number);
  if (given.some((k) => !Number.isInteger(k) || k < 1 || k > 100))
    return usage('--k takes whole numbers from 1 to 100, such as 1,5,10.');
  const cutOffs = [...new Set([...given, 10])].sort((a, b) => a - b);
  const format = (report: object): CommandResult => {
    const { set, documents, queries, metrics, timing, rerank: by } = report as Evaluation;
    const rows = [
      ...Object.entries(metrics).map(([name, value]) => [
        name,
        Number.isInteger(value) ? String(value) : value.toFixed(4),
      ]),
      ...Object.entries(timing).map(([name, value]) => [name, String(value)]),
    ];
    const lines = rows.map(([name = '', value]) => `${name.padEnd(22)}${value}`);
    const reordered = by ? `, reordered by ${by.embedder} (${by.model}, alpha ${by.alpha})` : '';
    return done(report, [`${set}: ${documents} documents, ${queries} queries${reordered}`, ...lines].join('\n'));
  };
  const isFolder = input.resume !== undefined || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const rerank = typeof input.options.rerank === 'boolean' ? input.options.rerank : undefined;
  const caller = callerOf(ctx);
  const how = { cutOffs, rerank: rerank ?? kb.settings.rerank.enabled };
  if (isFolder) return followed(kb, input, () => kb.evaluateFolder(path, how, caller), format);
  return format(
    await evaluateQueries(kb, readJsonLines(path), path, { cutOffs, rerank }, choiceOf(input, ctx), caller),
  );
}

async function embed(kb: KbService, input: CommandInput, ctx: CallContext): Promise<CommandResult> {
  const [action] = input.args;
  if (action === 'stats') {
    const stats = await kb.stats(chosen(input, ctx));
    const { embedder, model, total } = stats.embeddings;
    const text = [
      `Embedder: ${embedder ?? '(not active)'}`,
      `Model: ${model ?? '-'}`,
      `Vectors: ${total}`,
      `Coverage: ${formatCoverage(stats)}`,
    ];
    return done(stats.embeddings, text.join('\n'));
  }
  const kind = action === 'refresh' ? 'embed_refresh' : 'embed_build';
  const size = input.options.batchSize;
  return followed(
    kb,
    input,
    () => kb.embed(kind, chosen(input, ctx), typeof size === 'string' ? Number(size) : undefined, callerOf(ctx)),
    (report) => {
      const built = report as EmbedReport;
      return { exitCode: built.errors > 0 ? 1 : 0, data: built, text: formatEmbeddings(built) };
    },
  );
}
