import type { ModelMessage } from '../../core/sdk/index.js';
import type { Stage } from './stage.js';

/** Invariants of the tables at any time; each query finds the violations of one. */
const rules: Readonly<Record<string, string>> = {
  'rows are numbered from 0 without gaps': `select s.id from {realtime.sessions} s
    left join {realtime.messages} m on m.session_id = s.id group by s.id, s.next_seq
    having count(m.id) <> s.next_seq or coalesce(max(m.seq), -1) <> s.next_seq - 1 or coalesce(min(m.seq), 0) <> 0`,
  'a session has an expiry if and only if it is claimed': `select id from {realtime.sessions}
    where (lock_token is null) <> (lease_expires_at is null)`,
  'a session has at most one running turn under its claim': `select t.session_id as id from {realtime.turns} t
    join {realtime.sessions} s on s.id = t.session_id and s.lease_epoch = t.lease_epoch
    where t.status = 'running' group by t.session_id having count(*) > 1`,
  'the rows of a turn have one claim': `select turn_id as id from {realtime.messages} where turn_id is not null
    group by turn_id having count(distinct lease_epoch) > 1`,
  'a completed turn has a reply': `select t.turn_id as id from {realtime.turns} t where t.status = 'completed'
    and not exists (select 1 from {realtime.messages} m where m.turn_id = t.turn_id and m.role = 'assistant'
      and m.tool_calls is null)`,
};

/** Violations, as `<rule>: <id>`. */
export async function brokenRules({ tables }: Pick<Stage, 'tables'>): Promise<readonly string[]> {
  const broken: string[] = [];
  for (const [rule, sql] of Object.entries(rules)) {
    const { rows } = await tables.statement<{ id: string }>(sql);
    broken.push(...rows.map(({ id }) => `${rule}: ${id}`));
  }
  return broken;
}

/** Whether every provider accepts these messages: each tool call is directly followed by exactly one result. */
export function isAcceptable(messages: readonly ModelMessage[]): boolean {
  for (let at = 0; at < messages.length; ) {
    const message = messages[at];
    at += 1;
    if (message === undefined || message.role === 'tool') return false;
    for (const { id } of message.toolCalls ?? []) {
      const answer = messages[at];
      if (answer?.role !== 'tool' || answer.toolCallId !== id) return false;
      at += 1;
    }
    if (message.role === 'assistant' && message.content === '' && !message.toolCalls?.length) return false;
  }
  return true;
}
