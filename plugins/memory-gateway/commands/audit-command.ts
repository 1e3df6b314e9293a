import type { AuditQuery, AuditVerification } from 'mortise/contracts/logbook';
import type { Command, CommandFacts, CommandInput, CommandResult } from 'mortise/sdk';
import type { GatewayParts } from '../parts.js';
import { columns, textOption, wrongUsage } from './command-answer.js';

const filters = {
  action: 'action',
  operation: 'operation',
  reasonPrefix: 'reasonPrefix',
  actor: 'actor',
  space: 'space',
  outboxId: 'outboxId',
  correlationId: 'correlationId',
  since: 'since',
  until: 'until',
  cursor: 'cursor',
} as const;

/** Undefined for an option without its text. */
function readQuery(input: CommandInput): AuditQuery | undefined {
  const query: Record<string, string> = {};
  for (const [option, member] of Object.entries(filters)) {
    const value = textOption(input, option);
    if (value === null) return undefined;
    if (value !== undefined) query[member] = value;
  }
  const limit = textOption(input, 'limit');
  if (limit === null || (limit !== undefined && !/^\d+$/.test(limit))) return undefined;
  return { ...query, ...(limit === undefined ? {} : { limit: Number(limit) }) };
}

async function list(query: AuditQuery, { audit }: GatewayParts): Promise<CommandResult> {
  const { rows, next } = await audit.query(query);
  const lines = rows.map((row) => [row.auditId, row.createdAt, row.action, row.reason, row.targetSpace ?? '']);
  const text = columns([['ID', 'AT', 'ACTION', 'REASON', 'SPACE'], ...lines]);
  return {
    exitCode: 0,
    data: { rows, next_cursor: next },
    text: next === null ? text : `${text}\nMore: --cursor ${next}`,
  };
}

function sentenceOf({ writerId, seq, auditId, problem }: NonNullable<AuditVerification['broken']>): string {
  const place = `(writer ${writerId}, link ${seq}): ${problem}.`;
  if (problem !== 'truncated') return `The audit chain is broken at audit row ${auditId} ${place}`;
  const after = auditId === '' ? 'from its first row on' : `after audit row ${auditId}`;
  return `The audit chain is cut off ${after} ${place}`;
}

async function verify({ audit }: GatewayParts): Promise<CommandResult> {
  const found = await audit.verify();
  const { broken } = found;
  const intact = `The audit chain is intact: ${found.links} links of ${found.writers} writers.`;
  return { exitCode: found.ok ? 0 : 1, data: found, text: broken === null ? intact : sentenceOf(broken) };
}

/** `mortise memory audit list|verify`: `verify` ends with 1 when the chain is broken. */
export function auditCommand(facts: CommandFacts, parts: GatewayParts): Command {
  return {
    ...facts,
    isRead: () => true,
    async run(input) {
      const [what, ...more] = input.args;
      const query = readQuery(input);
      if (more.length > 0 || query === undefined) return wrongUsage(facts.usage);
      if (what === 'list') return list(query, parts);
      return what === 'verify' ? verify(parts) : wrongUsage(facts.usage);
    },
  };
}
