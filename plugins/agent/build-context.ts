import { estimateTokens } from 'mortise/contracts/models';
import type { HistoryLimit, NewMessage, SessionsService, StoredMessage } from 'mortise/contracts/sessions';
import type { ModelFacts, ModelMessage, PromptLayer } from 'mortise/sdk';
import { agentError } from './errors.js';

/** Tool texts of all but this many of the newest turns are cut. */
const wholeToolTurns = 3;
const oldToolText = 500;
/** Turns that are sent regardless of their size. */
const minTurns = 2;

/** Tokens of a model whose adapter declares no sizes. */
const defaultContext = 128_000;
const defaultOutput = 16_384;
/** Token counts are estimates, not a tokenizer's: a tenth of the context is reserved for their error. */
const usable = 0.9;

/** What happens to turns that do not fit into the model's context: summarised, left out, or sent anyway. */
export type Compaction = 'auto' | 'window' | 'off';

type Limits = Pick<ModelFacts, 'context' | 'output'>;

export interface ContextOptions {
  readonly layers: readonly PromptLayer[];
  /** Tool definitions that are sent with the request. */
  readonly tools: readonly object[];
  /** Sizes of the model. */
  readonly limits: Limits;
  readonly compaction: Compaction;
  /** Turns of the chat that were not read and are not in a summary. */
  readonly omitted?: number | undefined;
  /** The current turn. */
  readonly turnId: string;
  readonly modelMessages: SessionsService['modelMessages'];
}

/**
 * The messages for the model: the layers, then the rows of the chat, oldest first, repaired so that each tool call has its
 * answer. Of the earlier turns the newest that fit; a system line in place of the others gives their number.
 */
export function buildContext(rows: readonly StoredMessage[], options: ContextOptions): readonly ModelMessage[] {
  const { layers, modelMessages } = options;
  const { fitting, unfit, current } = splitHistory(rows, options);
  const omitted = countTurns(unfit) + (options.omitted ?? 0);
  const system: ModelMessage[] = layers.map(({ role, content }) => ({ role, content }));
  const gap: ModelMessage[] =
    omitted === 0 ? [] : [{ role: 'system', content: `Earlier conversation omitted (${omitted} turns).` }];
  return [...system, ...gap, ...modelMessages([...fitting, ...current])];
}

interface HistorySplit {
  /** Rows of earlier turns that are left out, oldest first. */
  readonly unfit: readonly StoredMessage[];
  /** Rows of the newest earlier turns, at least two, that fit. */
  readonly fitting: readonly StoredMessage[];
  readonly current: readonly StoredMessage[];
}

/** @param reserved tokens to keep free in addition to those of the options. */
export function splitHistory(
  rows: readonly StoredMessage[],
  { layers, tools, limits, compaction, turnId }: Omit<ContextOptions, 'modelMessages' | 'omitted'>,
  reserved = 0,
): HistorySplit {
  const begin = rows.findIndex((row) => row.turnId === turnId);
  const current = begin < 0 ? [] : rows.slice(begin);
  const earlier = cutOldToolTexts(begin < 0 ? rows : rows.slice(0, begin), turnId);
  if (compaction === 'off') return { unfit: [], fitting: earlier, current };
  const budget = historyBudget(limits, { layers, tools, current }) - reserved;
  return { ...fitHistory(earlier, budget), current };
}

/** @throws context_too_large when the new input alone exceeds the model's context */
export function checkInput({ context: limit = defaultContext }: Limits, input: readonly NewMessage[]): void {
  // No text has more tokens than characters.
  if (sum(input.map(({ content }) => content.length)) <= limit) return;
  const estimated = sum(input.map(messageTokens));
  if (estimated > limit) {
    throw agentError('context_too_large', { details: { estimated_tokens: estimated, limit } });
  }
}

/** Factors of the budget: turns to summarise are read too, as many tokens again as fit. */
const readShare: Readonly<Record<Compaction, number>> = { auto: 2, window: 1, off: Number.POSITIVE_INFINITY };

/** How much of a chat is read: the part that may fit into the model's context or is summarised, or everything. */
export function historyLimit(limits: Limits, compaction: Compaction): HistoryLimit {
  const nothing = { layers: [], tools: [], current: [] };
  return {
    budget: historyBudget(limits, nothing) * readShare[compaction],
    // Every tool text counts as if cut; the uncut ones of the newest turns are read in addition to the budget.
    sizeOf: ({ role, content, ...rest }) =>
      messageTokens({ role, ...rest, content: role === 'tool' ? content.slice(0, oldToolText) : content }),
  };
}

/** Tokens for the earlier turns: the model's context less its output and everything that is sent in any case. */
export function historyBudget(
  { context = defaultContext, output = defaultOutput }: Limits,
  sent: {
    readonly layers: readonly PromptLayer[];
    readonly tools: readonly object[];
    readonly current: readonly StoredMessage[];
  },
): number {
  const layers = sent.layers.map(({ content }) => estimateTokens(content));
  const tools = sent.tools.map((tool) => estimateTokens(JSON.stringify(tool)));
  const current = sent.current.map(messageTokens);
  return Math.floor((context - Math.min(output, context / 4)) * usable) - sum([...layers, ...tools, ...current]);
}

export function messageTokens({ content, toolCalls = [] }: NewMessage): number {
  return estimateTokens(content) + sum(toolCalls.map(({ name, arguments: args }) => estimateTokens(`${name} ${args}`)));
}

/** A cheap upper bound of {@link messageTokens}. */
export function maxTokens({ content, toolCalls = [] }: NewMessage): number {
  return content.length + sum(toolCalls.map(({ name, arguments: args }) => name.length + args.length + 1));
}

/** The current turn is one of the newest, whose tool texts are not cut. */
function cutOldToolTexts(rows: readonly StoredMessage[], turnId: string): readonly StoredMessage[] {
  const turns = [...new Set(rows.filter((row) => row.turnId !== null).map((row) => row.turnId)), turnId];
  const whole = new Set(turns.slice(-wholeToolTurns));
  return rows.map((row) => {
    if (row.role !== 'tool' || whole.has(row.turnId) || row.content.length <= oldToolText) return row;
    return { ...row, content: [...row.content].slice(0, oldToolText).join('') };
  });
}

/** The newest whole turns that fit into the budget; `rows` precede the current turn, oldest first. */
function fitHistory(rows: readonly StoredMessage[], budget: number) {
  if (sum(rows.map(maxTokens)) <= budget) return { unfit: [], fitting: rows };
  const turns = groupTurns(rows);
  let left = budget;
  let fitting = 0;
  for (const turn of turns.toReversed()) {
    left -= sum(turn.map(messageTokens));
    if (left < 0 && fitting >= minTurns) break;
    fitting += 1;
  }
  const begin = turns.length - fitting;
  return { unfit: turns.slice(0, begin).flat(), fitting: turns.slice(begin).flat() };
}

export function countTurns(rows: readonly StoredMessage[]): number {
  return groupTurns(rows).length;
}

/** Rows of one turn are adjacent. Rows without a turn, such as imported ones, form one turn per user message. */
function groupTurns(rows: readonly StoredMessage[]): readonly (readonly StoredMessage[])[] {
  const turns: StoredMessage[][] = [];
  for (const row of rows) {
    const last = turns.at(-1);
    const isSameTurn = last?.[0]?.turnId === row.turnId && (row.turnId !== null || row.role !== 'user');
    if (last && isSameTurn) last.push(row);
    else turns.push([row]);
  }
  return turns;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
