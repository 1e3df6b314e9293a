import type { TurnEvent } from 'mortise/contracts/agent';
import type { MessageRow } from './gateway.js';

/** What the transcript shows, in order. */
export type Entry =
  | { readonly kind: 'user'; readonly text: string }
  | { readonly kind: 'assistant'; readonly text: string }
  | {
      readonly kind: 'tool';
      readonly name: string;
      /** The arguments in one line. */
      readonly input: string;
      readonly state: 'running' | 'ok' | 'failed' | 'ended';
      readonly summary: string;
    }
  | {
      readonly kind: 'notice';
      readonly tone: 'info' | 'error';
      readonly text: string;
      readonly hint?: string | undefined;
    };

/** The entries after one more event of a turn. */
export function withEvent(entries: readonly Entry[], event: TurnEvent): readonly Entry[] {
  // Notices of the UI do not interrupt a text.
  const at = entries.findLastIndex(({ kind }) => kind !== 'notice');
  const last = entries[at];
  switch (event.type) {
    case 'assistant_delta':
      return last?.kind === 'assistant'
        ? entries.with(at, { kind: 'assistant', text: last.text + event.delta })
        : [...entries, { kind: 'assistant', text: event.delta }];
    case 'tool_call': {
      const { name, input } = event.tool_call;
      return [...entries, { kind: 'tool', name, input: inputText(input), state: 'running', summary: '' }];
    }
    case 'tool_result': {
      const { name, ok, summary = '' } = event.tool_result;
      const state = ok ? 'ok' : 'failed';
      const at = entries.findLastIndex(
        (entry) => entry.kind === 'tool' && entry.state === 'running' && entry.name === name,
      );
      const call = entries[at];
      if (call?.kind !== 'tool') return [...entries, { kind: 'tool', name, input: '', state, summary }];
      return entries.with(at, { ...call, state, summary });
    }
    case 'completed': {
      const isShown = last?.kind === 'assistant' || event.reply === '';
      return isShown ? entries : [...entries, { kind: 'assistant', text: event.reply }];
    }
    default:
      return entries;
  }
}

/** Marks the running calls of an ended turn as ended. */
export function withoutRunning(entries: readonly Entry[]): readonly Entry[] {
  return entries.map((entry) =>
    entry.kind === 'tool' && entry.state === 'running' ? { ...entry, state: 'ended' } : entry,
  );
}

/** A stored chat. The tools of a turn come before its text unless the chat records another order. */
export function storedEntries(messages: readonly MessageRow[]): readonly Entry[] {
  return messages.flatMap(({ role, content, metadata = {} }): readonly Entry[] => {
    const text = content
      .map((part) => part.text ?? '')
      .join(role === 'assistant' ? '\n\n' : '\n')
      .trim();
    if (role === 'user') return text === '' ? [] : [{ kind: 'user', text }];
    if (role !== 'assistant') return [];
    const tools = noticesOf(metadata.tool_call_notices);
    const said: readonly Entry[] = text === '' ? [] : [{ kind: 'assistant', text }];
    const { text_order: textOrder, tool_order: toolOrder, status } = metadata;
    const isTextFirst = typeof textOrder === 'number' && typeof toolOrder === 'number' && textOrder < toolOrder;
    const parts = isTextFirst ? [...said, ...tools] : [...tools, ...said];
    const ended = typeof status === 'string' && status !== 'completed' && status !== 'running';
    return ended ? [...parts, { kind: 'notice', tone: 'info', text: status }] : parts;
  });
}

function noticesOf(notices: unknown): readonly Entry[] {
  if (!Array.isArray(notices)) return [];
  return withoutRunning(
    notices.reduce<readonly Entry[]>((entries, notice: { raw?: unknown }) => {
      try {
        return withEvent(entries, JSON.parse(String(notice.raw)) as TurnEvent);
      } catch {
        return entries;
      }
    }, []),
  );
}

/** Readable arguments: the text of a single one, else JSON. */
function inputText(input: unknown): string {
  if (input === undefined || input === null) return '';
  if (typeof input !== 'object') return String(input);
  const { items, questions } = input as { items?: unknown; questions?: unknown };
  if (Array.isArray(questions))
    return questions.map((one: { header?: unknown } | null) => String(one?.header ?? '')).join(' · ');
  const only = Array.isArray(items) && items.length === 1 ? (items[0] as unknown) : input;
  const values = typeof only === 'object' && only !== null ? Object.values(only) : [];
  if (values.length === 1 && typeof values[0] === 'string') return values[0];
  return JSON.stringify(only);
}
