import type { AnswerUsage } from 'mortise/contracts/models';
import { isJsonObject } from 'mortise/sdk';

/** The usage of an answer, in the names of either API. */
export function readUsage(usage: unknown): AnswerUsage {
  if (!isJsonObject(usage)) return undefined;
  const input = usage.prompt_tokens ?? usage.input_tokens;
  const output = usage.completion_tokens ?? usage.output_tokens;
  return typeof input === 'number' && typeof output === 'number'
    ? { inputTokens: input, outputTokens: output }
    : undefined;
}
