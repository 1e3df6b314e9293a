import type { JsonObject, ModelMessage } from 'mortise/sdk';
import { estimateTokens } from '../estimate-tokens.js';
import type { AnswerUsage } from './answer.js';
import type { AnswerBlock } from './answer-blocks.js';

/** An estimate of a request's input tokens: its texts, and the JSON text of each tool as the client sent it. */
export function estimateInput(messages: readonly ModelMessage[], { tools }: JsonObject): number {
  let tokens = 0;
  for (const { content } of messages) {
    if (typeof content === 'string') tokens += estimateTokens(content);
    else for (const { text } of content) if (text !== undefined) tokens += estimateTokens(text);
  }
  for (const tool of Array.isArray(tools) ? tools : []) tokens += estimateTokens(JSON.stringify(tool));
  return tokens;
}

/** The provider's count, else estimates. */
export function countedUsage(
  usage: AnswerUsage,
  estimatedInput: number,
  blocks: readonly AnswerBlock[],
): Required<NonNullable<AnswerUsage>> {
  if (usage) return { cachedInputTokens: 0, reasoningTokens: 0, ...usage };
  const texts = blocks.map((block) => (block.kind === 'call' ? block.call.arguments : block.text));
  return {
    inputTokens: estimatedInput,
    outputTokens: texts.reduce((sum, text) => sum + estimateTokens(text), 0),
    cachedInputTokens: 0,
    reasoningTokens: 0,
  };
}
