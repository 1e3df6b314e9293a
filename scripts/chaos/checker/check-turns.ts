import { type DatabaseReader, table } from './read-database.js';

/** A request for a turn, and the answers that its client got. */
export interface SentRequest {
  /** `<request> <steps>`: the text of the user's message. */
  readonly text: string;
  /** Requests with a key may be repeated. */
  readonly key: string | undefined;
  /** Turns that answers reported as completed, one per answer. */
  readonly answered: readonly string[];
}

interface TurnRow {
  readonly turn_id: string;
  readonly session_id: string;
  readonly status: string;
  readonly idempotency_key: string | null;
}

interface MessageRow {
  readonly turn_id: string | null;
  readonly session_id: string;
  readonly seq: number;
  readonly role: string;
  readonly content: string;
  readonly tool_call_id: string | null;
  readonly status: string;
}

export interface TurnReport {
  readonly statuses: Readonly<Record<string, number>>;
  readonly effects: number;
  readonly violations: readonly string[];
}

const ends = ['completed', 'failed', 'cancelled', 'interrupted', 'step_limit', 'timed_out', 'fenced'];

/** Compares turns, messages and effects with requests and answers, once no turn is running. */
export async function checkTurns(
  reader: DatabaseReader,
  sent: readonly SentRequest[],
  journal: readonly string[],
): Promise<TurnReport> {
  const turns = await reader.rows<TurnRow>(
    `select turn_id, session_id, status, idempotency_key from ${table(reader, 'realtime', 'turns')}`,
  );
  const messages = await reader.rows<MessageRow>(
    `select turn_id, session_id, seq, role, content, tool_call_id, status
     from ${table(reader, 'realtime', 'messages')} order by session_id, seq`,
  );
  const byTurn = Map.groupBy(messages, ({ turn_id }) => turn_id);
  const effects = Map.groupBy(journal, (line) => line.split(' ')[0] ?? '');
  const statuses: Record<string, number> = {};
  for (const { status } of turns) statuses[status] = (statuses[status] ?? 0) + 1;
  const violations = [
    ...turns.flatMap((turn) => checkTurn(turn, byTurn.get(turn.turn_id) ?? [], effects.get(turn.turn_id) ?? [])),
    ...orphans(turns, messages, journal),
    ...checkAnswers(sent, turns, byTurn),
  ];
  return { statuses, effects: journal.length, violations };
}

function checkTurn(
  { turn_id: id, status }: TurnRow,
  rows: readonly MessageRow[],
  effects: readonly string[],
): string[] {
  const found: string[] = [];
  if (!ends.includes(status)) found.push(`${id} is ${status}`);
  const [user, ...others] = rows.filter(({ role }) => role === 'user');
  if (!user || others.length > 0) found.push(`${id} has ${others.length + (user ? 1 : 0)} messages of the user`);
  if (new Set(effects).size < effects.length) found.push(`${id} had an effect twice`);
  const tools = rows.filter(({ role }) => role === 'tool').map(({ tool_call_id: call }) => call);
  if (new Set(tools).size < tools.length) found.push(`${id} has a tool row twice`);
  for (const call of tools) {
    if (!effects.includes(`${id} ${call?.replace('call_', '')}`)) found.push(`${id}: ${call} has a row and no effect`);
  }
  const [request, steps] = user?.content.split(' ') ?? [];
  const replies = rows.filter(({ role, content }) => role === 'assistant' && content === `done ${request}`);
  if (status === 'completed') {
    if (replies.length !== 1) found.push(`${id} is completed with ${replies.length} replies`);
    if (effects.length !== Number(steps)) found.push(`${id} is completed with ${effects.length} of ${steps} effects`);
    if (tools.length !== Number(steps)) found.push(`${id} is completed with ${tools.length} of ${steps} tool rows`);
  } else if (replies.some((row) => row.status === 'complete')) found.push(`${id} is ${status} and has a reply`);
  return found;
}

function orphans(turns: readonly TurnRow[], messages: readonly MessageRow[], journal: readonly string[]): string[] {
  const known = new Set(turns.map(({ turn_id }) => turn_id));
  const places = messages.map(({ session_id, seq }) => `${session_id} ${seq}`);
  return [
    ...messages.filter(({ turn_id }) => !known.has(turn_id ?? '')).map(({ seq }) => `message ${seq} has no turn`),
    ...journal.filter((line) => !known.has(line.split(' ')[0] ?? '')).map((line) => `effect ${line} has no turn`),
    ...(new Set(places).size < places.length ? ['two messages of a session have the same number'] : []),
  ];
}

function checkAnswers(
  sent: readonly SentRequest[],
  turns: readonly TurnRow[],
  byTurn: ReadonlyMap<string | null, readonly MessageRow[]>,
): string[] {
  const statusOf = new Map(turns.map(({ turn_id, status }) => [turn_id, status]));
  const textOf = ({ turn_id }: TurnRow) => byTurn.get(turn_id)?.find(({ role }) => role === 'user')?.content ?? '';
  const byText = Map.groupBy(turns, textOf);
  return sent.flatMap(({ text, key, answered }) => {
    const found: string[] = [];
    const own = byText.get(text) ?? [];
    for (const turnId of answered) {
      if (statusOf.get(turnId) !== 'completed') found.push(`${text} was answered, its turn is ${statusOf.get(turnId)}`);
    }
    if (new Set(answered).size > 1) found.push(`${text} was answered by two turns`);
    if (key === undefined && own.length > 1) found.push(`${text} was sent once and has ${own.length} turns`);
    const completed = own.filter(({ status }) => status === 'completed');
    if (completed.length > 1) found.push(`${text} was completed ${completed.length} times`);
    return found;
  });
}
