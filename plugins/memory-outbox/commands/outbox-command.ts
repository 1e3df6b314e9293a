import type { OutboxQuery, OutboxRow, OutboxStatus } from 'mortise/contracts/logbook';
import {
  type CallContext,
  type Command,
  type CommandFacts,
  type CommandInput,
  type CommandResult,
  isCodedError,
  oneLine,
  wrongUsage,
} from 'mortise/sdk';
import type { OutboxDeps } from '../outbox-deps.js';
import { retryDeadRow, wireRow } from '../rows.js';

const PAGE = 500;
const OUTBOX_ID = /^\d{1,15}$/;

function cells(row: OutboxRow): readonly string[] {
  const result = row.status === 'sent' ? row.memoryId : row.lastError;
  return [String(row.outboxId), row.status, row.space, String(row.retryCount), row.updatedAt, result ?? ''];
}

/** Undefined for an option without a value. */
function readQuery({ options }: CommandInput): OutboxQuery | undefined {
  const { status, space, since, limit, cursor } = options;
  const given = [status, space, since, limit, cursor].filter((value) => value !== undefined);
  if (given.some((value) => typeof value !== 'string')) return undefined;
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    status: text(status) as OutboxStatus | undefined,
    space: text(space),
    since: text(since),
    cursor: text(cursor),
    limit: limit === undefined ? undefined : Number(limit),
  };
}

async function list(query: OutboxQuery, { logbook }: OutboxDeps): Promise<CommandResult> {
  const { rows, next } = await logbook.outbox.list(query);
  const data = { rows: rows.map(wireRow), next_cursor: next };
  if (rows.length === 0) return { exitCode: 0, data, text: 'No matching rows.' };
  const table = { head: ['ID', 'STATUS', 'SPACE', 'TRIED', 'UPDATED', 'MEMORY OR ERROR'], rows: rows.map(cells) };
  return { exitCode: 0, data, table, text: next === null ? '' : `More: --cursor ${next}` };
}

async function show(id: string, { logbook }: OutboxDeps): Promise<CommandResult> {
  const row = await logbook.outbox.get(Number(id));
  if (row === null)
    return { exitCode: 1, data: { error: 'outbox_row_not_found' }, text: `There is no outbox row ${id}.` };
  const data = { ...wireRow(row), payload_md: row.payload, meta_json: row.meta, evidence_json: row.evidence };
  const facts = Object.entries(data).filter(([name]) => name !== 'payload_md');
  const text = facts.map(
    ([name, value]) => `${name}: ${oneLine(typeof value === 'string' ? value : JSON.stringify(value))}`,
  );
  return { exitCode: 0, data, text: [...text, '', row.payload].join('\n') };
}

async function deadIds({ logbook }: OutboxDeps): Promise<readonly number[]> {
  const ids: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await logbook.outbox.list({ status: 'dead', limit: PAGE, cursor });
    ids.push(...page.rows.map(({ outboxId }) => outboxId));
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
  return ids.reverse();
}

async function retry(ids: readonly number[], ctx: CallContext, deps: OutboxDeps): Promise<CommandResult> {
  const retried: number[] = [];
  const refused: { readonly outbox_id: number; readonly code: string; readonly message: string }[] = [];
  for (const id of ids) {
    ctx.signal.throwIfAborted();
    try {
      await retryDeadRow(id, ctx, deps);
      retried.push(id);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      refused.push({ outbox_id: id, code: error.code, message: error.message });
    }
  }
  const lines = [retrySummary(retried.length), ...refused.map(({ message }) => oneLine(message))];
  return { exitCode: refused.length === 0 ? 0 : 1, data: { retried, refused }, text: lines.join('\n') };
}

function retrySummary(count: number): string {
  if (count === 0) return 'No dead letters were retried.';
  return count === 1 ? 'Retrying 1 dead letter.' : `Retrying ${count} dead letters.`;
}

/** `mortise memory outbox list|show|retry`: exit 1 for a row that is unknown or not dead. */
export function outboxCommand(facts: CommandFacts, deps: OutboxDeps): Command {
  return {
    ...facts,
    isRead: ({ args }) => args[0] !== 'retry',
    async run(input, ctx) {
      const [action, id, ...more] = input.args;
      const query = readQuery(input);
      if (more.length > 0 || query === undefined) return wrongUsage(facts);
      if (action === 'list' && id === undefined) return list(query, deps);
      if (action === 'retry' && id === undefined && input.options.allDead === true) {
        return retry(await deadIds(deps), ctx, deps);
      }
      if (id === undefined || !OUTBOX_ID.test(id) || input.options.allDead === true) return wrongUsage(facts);
      if (action === 'show') return show(id, deps);
      return action === 'retry' ? retry([Number(id)], ctx, deps) : wrongUsage(facts);
    },
  };
}
