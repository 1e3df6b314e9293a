import type { StoredMessage } from 'mortise/contracts/sessions';
import type { ModelMessage } from 'mortise/sdk';

type Row = Pick<StoredMessage, 'role' | 'content' | 'parts' | 'toolCalls' | 'toolCallId' | 'meta'>;

/** The result of a call that has none: the tool may have acted, and the model must know. */
const interruptedAnswer = JSON.stringify({
  error_code: 'INTERRUPTED',
  message: 'The call was interrupted; its effect is unknown',
});

/**
 * Repairs a history so that every provider accepts it: each tool call has exactly one result, right after it and in the
 * order of the calls; results without a call and assistant rows without text or calls are left out. Idempotent, and
 * without effect on a correct history.
 */
export function repairHistory<R extends Row>(rows: readonly R[]): readonly (R | Row)[] {
  const repaired: (R | Row)[] = [];
  for (let index = 0; index < rows.length; index += 1) {
    const row = rows[index];
    if (row === undefined || row.role === 'tool') continue;
    if (row.role !== 'assistant') {
      repaired.push(row);
      continue;
    }
    const calls = row.toolCalls ?? [];
    if (calls.length === 0) {
      if (row.content.trim() !== '') repaired.push(row);
      continue;
    }
    repaired.push(row);
    const answers = new Map<string, R>();
    for (let next = rows[index + 1]; next?.role === 'tool'; next = rows[index + 1]) {
      if (next.toolCallId !== undefined && !answers.has(next.toolCallId)) answers.set(next.toolCallId, next);
      index += 1;
    }
    for (const { id } of calls) {
      repaired.push(answers.get(id) ?? { role: 'tool', content: interruptedAnswer, toolCallId: id });
    }
  }
  return repaired;
}

/** Repaired rows in the form that providers take. */
export function modelMessages(rows: readonly StoredMessage[]): readonly ModelMessage[] {
  return repairHistory(rows).map((row) => {
    const { opaque, name } = row.meta ?? {};
    return {
      role: row.role,
      content: row.parts ?? row.content,
      ...(row.toolCalls?.length ? { toolCalls: row.toolCalls } : {}),
      ...(row.toolCallId === undefined ? {} : { toolCallId: row.toolCallId }),
      ...(typeof name === 'string' ? { name } : {}),
      ...(typeof opaque === 'string' ? { opaque } : {}),
    };
  });
}
