import { type AnswerUsage, objectsOf, type PassedAnswer } from 'mortise/contracts/models';
import { isJsonObject } from 'mortise/sdk';
import { readUsage } from '../read-usage.js';

/** Reads the copy of a completion that was passed through; undefined for one that broke off or calls tools. */
export function readPassedChat(passed: PassedAnswer): { reply: string; usage: AnswerUsage } | undefined {
  let reply = '';
  let usage: AnswerUsage;
  let finish: unknown;
  for (const object of objectsOf(passed)) {
    usage = readUsage(object.usage) ?? usage;
    const choice: unknown = Array.isArray(object.choices) ? object.choices[0] : undefined;
    if (!isJsonObject(choice)) continue;
    const part = passed.streams ? choice.delta : choice.message;
    if (isJsonObject(part) && typeof part.content === 'string') reply += part.content;
    finish = choice.finish_reason ?? finish;
  }
  const isComplete = typeof finish === 'string' && finish !== 'tool_calls' && finish !== 'function_call';
  return isComplete ? { reply, usage } : undefined;
}
