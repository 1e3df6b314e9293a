import type { AuditQuery, AuditVerification, LedgerMemory } from 'mortise/contracts/logbook';
import {
  type CallContext,
  type Command,
  type CommandFacts,
  type CommandInput,
  type CommandResult,
  printableJson,
  type Transaction,
  wrongUsage,
} from 'mortise/sdk';
import type { Gateway } from './gateway.js';
import { spaceProblem } from './policy/decide.js';
import { reliabilityReport } from './report.js';
import { recoverWrites } from './write/recover-writes.js';

/** The text of an option; null when the option has no value. */
function textOption({ options }: CommandInput, name: string): string | undefined | null {
  const value = options[name];
  if (value === undefined) return undefined;
  return typeof value === 'string' && value !== '' ? value : null;
}

/** `mortise memory recover`: exit 1 when a write could not be settled. */
function recoverCommand(facts: CommandFacts, gateway: Gateway): Command {
  return {
    ...facts,
    async run(_input, { signal }) {
      const done = await recoverWrites(gateway, signal);
      const text = `Settled ${done.stored + done.queued} (stored: ${done.stored}, queued: ${done.queued}, unresolved: ${done.unresolved}).`;
      return { exitCode: done.unresolved === 0 ? 0 : 1, data: done, text };
    },
  };
}

/** `mortise memory report`: exit 1 when an invariant is violated. */
function reportCommand(facts: CommandFacts, gateway: Gateway): Command {
  return {
    ...facts,
    isRead: () => true,
    async run(_input, { correlationId }) {
      const report = await reliabilityReport(correlationId, gateway);
      const { outbox_stats: outbox, audit_stats: audit, memory_stats: memory, backend } = report;
      const text = [
        `Memories: ${memory.total} ${JSON.stringify(memory.by_state)}`,
        `Outbox:   ${outbox.pending} pending, ${outbox.sent} sent, ${outbox.dead} dead`,
        `Audit:    ${audit.total} rows (${audit.allow} allow, ${audit.redirect} redirect, ${audit.reject} reject)`,
        `Backend:  ${backend.key}, circuit ${backend.circuit}${backend.last_error === null ? '' : `, ${backend.last_error}`}`,
        `Rules:    ${report.message ?? 'all invariants hold'}`,
      ];
      return { exitCode: report.message === null ? 0 : 1, data: report, text: text.join('\n') };
    },
  };
}

const auditFilters = [
  'action',
  'operation',
  'reasonPrefix',
  'actor',
  'space',
  'outboxId',
  'correlationId',
  'since',
  'until',
  'cursor',
] as const;

/** Undefined when an option has no value. */
function readAuditQuery(input: CommandInput): AuditQuery | undefined {
  const query: Record<string, string> = {};
  for (const name of auditFilters) {
    const value = textOption(input, name);
    if (value === null) return undefined;
    if (value !== undefined) query[name] = value;
  }
  const limit = textOption(input, 'limit');
  if (limit === null || (limit !== undefined && !/^\d+$/.test(limit))) return undefined;
  return { ...query, ...(limit === undefined ? {} : { limit: Number(limit) }) };
}

async function listAudit(query: AuditQuery, { audit }: Gateway): Promise<CommandResult> {
  const { rows, next } = await audit.query(query);
  const lines = rows.map((row) => [row.auditId, row.createdAt, row.action, row.reason, row.targetSpace ?? '']);
  return {
    exitCode: 0,
    data: { rows, next_cursor: next },
    table: { head: ['ID', 'AT', 'ACTION', 'REASON', 'SPACE'], rows: lines },
    text: next === null ? '' : `More: --cursor ${next}`,
  };
}

function describeBreak({ writerId, seq, auditId, problem }: NonNullable<AuditVerification['broken']>): string {
  const place = `(writer ${writerId}, link ${seq}): ${problem}.`;
  if (problem !== 'truncated') return `The audit chain is broken at audit row ${auditId} ${place}`;
  const after = auditId === '' ? 'from its first row on' : `after audit row ${auditId}`;
  return `The audit chain is cut off ${after} ${place}`;
}

async function verifyAudit({ audit }: Gateway): Promise<CommandResult> {
  const found = await audit.verify();
  const { broken } = found;
  const intact = `The audit chain is intact: ${found.links} links of ${found.writers} writers.`;
  return { exitCode: found.ok ? 0 : 1, data: found, text: broken === null ? intact : describeBreak(broken) };
}

/** `mortise memory audit list|verify`: `verify` exits with 1 when the chain is broken. */
function auditCommand(facts: CommandFacts, gateway: Gateway): Command {
  return {
    ...facts,
    isRead: () => true,
    async run(input) {
      const [action, ...more] = input.args;
      const query = readAuditQuery(input);
      if (more.length > 0 || query === undefined) return wrongUsage(facts);
      if (action === 'list') return listAudit(query, gateway);
      return action === 'verify' ? verifyAudit(gateway) : wrongUsage(facts);
    },
  };
}

const EXPORT_PAGE = 500;

/** The wire form of a ledger row. */
function wireMemory(memory: LedgerMemory) {
  return {
    memory_key: memory.memoryKey,
    space: memory.space,
    payload_md: memory.payload,
    payload_sha: memory.payloadSha,
    kind: memory.kind,
    meta_json: memory.meta,
    evidence_json: memory.evidence,
    actor_user_id: memory.actorUserId,
    item_id: memory.itemId,
    backend: memory.backend,
    backend_memory_id: memory.backendMemoryId,
    state: memory.state,
    audit_id: memory.auditId,
    outbox_id: memory.outboxId,
    correlation_id: memory.correlationId,
    created_at: memory.createdAt,
    updated_at: memory.updatedAt,
  };
}

/** `mortise memory export --space S`: the ledger rows of a space as JSON lines, oldest first. */
function exportCommand(facts: CommandFacts, { logbook }: Gateway): Command {
  return {
    ...facts,
    isRead: () => true,
    async run(input, { signal }) {
      const space = textOption(input, 'space');
      if (space === undefined || space === null || input.args.length > 0) return wrongUsage(facts);
      const problem = spaceProblem(space);
      if (problem !== undefined) return wrongUsage(facts, `--space: ${problem.explanation}.`);
      const rows: ReturnType<typeof wireMemory>[] = [];
      for (let after = 0; ; ) {
        signal.throwIfAborted();
        const page = await logbook.ledger.page({ after, limit: EXPORT_PAGE, space });
        rows.push(...page.map(wireMemory));
        after = page.at(-1)?.seq ?? after;
        if (page.length < EXPORT_PAGE) break;
      }
      return { exitCode: 0, data: rows, text: rows.map((row) => printableJson(row)).join('\n') };
    },
  };
}

const MAX_USER_ID = 128;
const USER_ID_RULE = `A user name has 1 to ${MAX_USER_ID} characters, without control characters or surrounding blanks.`;

/** Accepts exactly what the tools accept as an actor. */
function isUserId(text: string): boolean {
  return text !== '' && text === text.trim() && [...text].length <= MAX_USER_ID && !/\p{Cc}/u.test(text);
}

/** Changes a user together with its audit row. @returns false when there was nothing to change. */
function changeUser(
  userId: string,
  reason: string,
  change: (trx: Transaction) => Promise<boolean>,
  ctx: CallContext,
  { database, audit }: Gateway,
): Promise<boolean> {
  return database.transaction(async (trx) => {
    if (!(await change(trx))) return false;
    await audit.write(
      {
        action: 'allow',
        operation: 'memory-gateway:users',
        reason,
        actorUserId: userId,
        principal: ctx.principal.id,
        correlationId: ctx.correlationId,
        evidence: { source: 'operator', correlation_id: ctx.correlationId },
      },
      { trx },
    );
    return true;
  });
}

async function listUsers({ logbook }: Gateway): Promise<CommandResult> {
  const users = await logbook.users.list();
  const rows = users.map((user) => [user.userId, user.active ? 'active' : 'disabled', user.displayName ?? '']);
  return { exitCode: 0, data: { users }, table: { head: ['USER', 'STATE', 'NAME'], rows }, text: '' };
}

/** `mortise memory users add|list|disable|enable`. */
function usersCommand(facts: CommandFacts, gateway: Gateway): Command {
  const { users } = gateway.logbook;
  return {
    ...facts,
    isRead: ({ args }) => args[0] === 'list',
    async run(input, ctx) {
      const [action, userId, ...more] = input.args;
      if (action === 'list' && userId === undefined) return listUsers(gateway);
      const displayName = textOption(input, 'name');
      if (more.length > 0 || userId === undefined || displayName === null) return wrongUsage(facts);
      if (!isUserId(userId)) return wrongUsage(facts, USER_ID_RULE);
      if (action === 'add') {
        const add = (trx: Transaction) => users.add(userId, { displayName: displayName ?? null }, { trx });
        const isNew = await changeUser(userId, 'memory-gateway:user_added', add, ctx, gateway);
        const data = { user_id: userId, added: isNew };
        if (!isNew) return { exitCode: 1, data, text: `${userId} exists already.` };
        return { exitCode: 0, data, text: `Added ${userId}.` };
      }
      if (action !== 'disable' && action !== 'enable') return wrongUsage(facts);
      const done = `${action}d` as const;
      const setActive = (trx: Transaction) => users.setActive(userId, action === 'enable', { trx });
      const isFound = await changeUser(userId, `memory-gateway:user_${done}`, setActive, ctx, gateway);
      const data = { user_id: userId, [done]: isFound };
      if (!isFound) return { exitCode: 1, data, text: `There is no user ${userId}.` };
      return { exitCode: 0, data, text: `${action === 'enable' ? 'Enabled' : 'Disabled'} ${userId}.` };
    },
  };
}

/** The commands of this plugin by contribution key. */
export const commands: Readonly<Record<string, (facts: CommandFacts, gateway: Gateway) => Command>> = {
  'memory-recover': recoverCommand,
  'memory-audit': auditCommand,
  'memory-report': reportCommand,
  'memory-users': usersCommand,
  'memory-export': exportCommand,
};
