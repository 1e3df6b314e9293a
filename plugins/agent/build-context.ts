import type { ModelMessage, PromptLayer, SessionsService, StoredMessage } from 'mortise/sdk';

/** Tool texts of all but this many of the newest turns are cut. */
const wholeToolTurns = 3;
const oldToolText = 500;

/**
 * What the model is sent: the layers, then the rows of the chat, oldest first, repaired so that each tool call has its
 * answer. Everything is sent.
 */
export function buildContext(
  layers: readonly PromptLayer[],
  rows: readonly StoredMessage[],
  modelMessages: SessionsService['modelMessages'],
): readonly ModelMessage[] {
  const system: ModelMessage[] = layers.map(({ role, content }) => ({ role, content }));
  return [...system, ...modelMessages(cutOldToolTexts(rows))];
}

function cutOldToolTexts(rows: readonly StoredMessage[]): readonly StoredMessage[] {
  const turns = [...new Set(rows.filter(({ turnId }) => turnId !== null).map(({ turnId }) => turnId))];
  const whole = new Set(turns.slice(-wholeToolTurns));
  return rows.map((row) => {
    if (row.role !== 'tool' || whole.has(row.turnId) || row.content.length <= oldToolText) return row;
    return { ...row, content: [...row.content].slice(0, oldToolText).join('') };
  });
}
