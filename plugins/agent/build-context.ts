import type { SessionsService, StoredMessage } from 'mortise/contracts/sessions';
import type { ModelFacts, ModelMessage, PromptLayer } from 'mortise/sdk';
import { historyBudget } from './context-budget.js';
import { fitHistory } from './fit-history.js';

/** Tool texts of all but this many of the newest turns are cut. */
const wholeToolTurns = 3;
const oldToolText = 500;

/** What becomes of turns that the model has no room for: left out, or sent all the same. */
export type Compaction = 'window' | 'off';

export interface ContextParts {
  readonly layers: readonly PromptLayer[];
  /** Definitions that go with the request. */
  readonly tools: readonly object[];
  /** Of the model. */
  readonly limits: Pick<ModelFacts, 'context' | 'output'>;
  readonly compaction: Compaction;
  /** The turn that asks. */
  readonly turnId: string;
  readonly modelMessages: SessionsService['modelMessages'];
}

/**
 * What the model is sent: the layers, then the rows of the chat, oldest first, repaired so that each tool call has its
 * answer. Of the earlier turns the newest that fit; a word in their place says how many are missing.
 */
export function buildContext(rows: readonly StoredMessage[], parts: ContextParts): readonly ModelMessage[] {
  const { layers, turnId, modelMessages } = parts;
  const begin = rows.findIndex((row) => row.turnId === turnId);
  const current = begin < 0 ? [] : rows.slice(begin);
  const earlier = cutOldToolTexts(begin < 0 ? rows : rows.slice(0, begin), turnId);
  const { rows: kept, omitted } = fitEarlier(earlier, current, parts);
  const system: ModelMessage[] = layers.map(({ role, content }) => ({ role, content }));
  const gap: ModelMessage[] =
    omitted === 0 ? [] : [{ role: 'system', content: `Earlier conversation omitted (${omitted} turns).` }];
  return [...system, ...gap, ...modelMessages([...kept, ...current])];
}

function fitEarlier(
  earlier: readonly StoredMessage[],
  current: readonly StoredMessage[],
  { layers, tools, limits, compaction }: ContextParts,
) {
  if (compaction === 'off') return { rows: earlier, omitted: 0 };
  return fitHistory(earlier, historyBudget(limits, { layers, tools, current }));
}

/** The turn that asks is one of those whose texts stay whole. */
function cutOldToolTexts(rows: readonly StoredMessage[], turnId: string): readonly StoredMessage[] {
  const turns = [...new Set(rows.filter((row) => row.turnId !== null).map((row) => row.turnId)), turnId];
  const whole = new Set(turns.slice(-wholeToolTurns));
  return rows.map((row) => {
    if (row.role !== 'tool' || whole.has(row.turnId) || row.content.length <= oldToolText) return row;
    return { ...row, content: [...row.content].slice(0, oldToolText).join('') };
  });
}
