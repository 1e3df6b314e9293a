import type { NewMessage, StoredMessage } from 'mortise/contracts/sessions';
import type { ModelFacts, PromptLayer } from 'mortise/sdk';
import { agentError } from './errors.js';
import { estimateTokens } from './estimate-tokens.js';

/** Tokens of a model that says nothing of itself. */
const usualContext = 128_000;
const usualOutput = 16_384;

/** The estimate is no tokeniser: a tenth of the room is left for its errors. */
const usable = 0.9;

type Limits = Pick<ModelFacts, 'context' | 'output'>;

/** Tokens that a model can read. */
export function contextLimit({ context = usualContext }: Limits): number {
  return context;
}

/** Tokens for the turns before this one: what the model can read less what it may write, and what is sent in any case. */
export function historyBudget(
  limits: Limits,
  sent: {
    readonly layers: readonly PromptLayer[];
    readonly tools: readonly object[];
    readonly current: readonly StoredMessage[];
  },
): number {
  const context = contextLimit(limits);
  const output = Math.min(limits.output ?? usualOutput, context / 4);
  const layers = sent.layers.map(({ content }) => estimateTokens(content));
  const tools = sent.tools.map((tool) => estimateTokens(JSON.stringify(tool)));
  const current = sent.current.map(messageTokens);
  return Math.floor((context - output) * usable) - sum([...layers, ...tools, ...current]);
}

/** @throws context_too_large when the new input alone is more than the model can read */
export function checkInput(limits: Limits, input: readonly NewMessage[]): void {
  const limit = contextLimit(limits);
  // No text has more tokens than characters.
  if (sum(input.map(({ content }) => content.length)) <= limit) return;
  const estimated = sum(input.map(messageTokens));
  if (estimated > limit) {
    throw agentError('context_too_large', { details: { estimated_tokens: estimated, limit } });
  }
}

export function messageTokens({ content, toolCalls = [] }: NewMessage): number {
  return estimateTokens(content) + sum(toolCalls.map(({ name, arguments: args }) => estimateTokens(`${name} ${args}`)));
}

/** An upper bound of {@link messageTokens} that costs nothing. */
export function mostTokens({ content, toolCalls = [] }: NewMessage): number {
  return content.length + sum(toolCalls.map(({ name, arguments: args }) => name.length + args.length + 1));
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
