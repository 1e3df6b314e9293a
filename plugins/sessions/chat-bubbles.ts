import type { MessagePage, TurnStatus } from 'mortise/contracts/sessions';

type Row = MessagePage['messages'][number];

/** A message as the chat page shows it: one bubble per turn for the assistant, its tool calls folded in. */
interface RuntimeMessage {
  readonly id: string;
  readonly role: string;
  readonly type: string;
  readonly content: readonly Readonly<Record<string, unknown>>[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface Bubble {
  readonly message: RuntimeMessage;
  /** `seq` of its first row: pages end between bubbles. */
  readonly firstSeq: number;
}

const plainStatuses: readonly (TurnStatus | null)[] = ['completed', 'step_limit', null];

/** Folds rows, oldest first, into bubbles. The rows of a turn are adjacent, since turns of a session are serial. */
export function chatBubbles(rows: readonly Row[]): readonly Bubble[] {
  const bubbles: Bubble[] = [];
  for (let index = 0; index < rows.length; ) {
    const row = rows[index];
    if (row === undefined) break;
    let end = index + 1;
    if (isAnswer(row)) {
      while (end < rows.length && rows[end]?.turnId === row.turnId && isAnswer(rows[end])) end += 1;
    }
    const bubble = isAnswer(row) ? answerBubble(rows.slice(index, end)) : plainMessage(row);
    if (bubble) bubbles.push({ message: bubble, firstSeq: row.seq });
    index = end;
  }
  return bubbles;
}

function isAnswer(row: Row | undefined): boolean {
  return row?.role === 'assistant' || (row?.role === 'tool' && row.turnId !== null);
}

function plainMessage(row: Row): RuntimeMessage {
  return withMetadata(
    { id: row.id, role: row.role, type: row.type ?? 'message', content: row.parts ?? textPart(row.content) },
    statusOf(row),
  );
}

function answerBubble(rows: readonly Row[]): RuntimeMessage | undefined {
  const texts = rows.filter(({ role, content }) => role === 'assistant' && content !== '');
  const head = rows.findLast(({ role }) => role === 'assistant') ?? rows[0];
  if (!head) return undefined;
  const notices = toolNotices(rows);
  const { text_order, tool_order, provider_response_id } = head.meta ?? {};
  return withMetadata(
    {
      id: head.id,
      role: 'assistant',
      type: head.type ?? 'message',
      content: texts.flatMap(({ content }) => textPart(content)),
    },
    {
      ...(notices.length > 0 ? { tool_call_notices: notices } : {}),
      ...defined({ text_order, tool_order, provider_response_id, turn_id: head.turnId ?? undefined }),
      ...statusOf(head),
    },
  );
}

/** One notice per call: the event of its result, or of the call if it never finished. */
function toolNotices(rows: readonly Row[]): readonly { readonly raw: string }[] {
  const results = new Map(rows.filter(({ role }) => role === 'tool').map((row) => [row.toolCallId, row.meta ?? {}]));
  return rows.flatMap((row) =>
    (row.toolCalls ?? []).map(({ id, name, arguments: text }) => {
      const step = row.meta?.step ?? 1;
      const result = results.get(id);
      const { ok, summary } = result ?? {};
      const event = result
        ? { type: 'tool_result', step, tool_result: { name, ok: ok === true, ...defined({ summary }) } }
        : { type: 'tool_call', step, tool_call: { name, input: parsed(text) } };
      return { raw: JSON.stringify(event) };
    }),
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { raw_arguments: text };
  }
}

function textPart(text: string): readonly { readonly type: 'text'; readonly text: string }[] {
  return [{ type: 'text', text }];
}

function statusOf(row: Row): Record<string, unknown> {
  return plainStatuses.includes(row.turnStatus) ? {} : { turn_status: row.turnStatus };
}

function defined(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function withMetadata(message: RuntimeMessage, metadata: Record<string, unknown>): RuntimeMessage {
  return Object.keys(metadata).length === 0 ? message : { ...message, metadata };
}
