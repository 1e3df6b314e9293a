import { estimateTokens } from 'mortise/contracts/models';
import type { JsonObject, ModelMessage } from 'mortise/sdk';

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
