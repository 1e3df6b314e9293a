import { type AnswerUsage, objectsOf, type PassedAnswer } from 'mortise/contracts/models';
import { isJsonObject, type JsonObject } from 'mortise/sdk';

/** What is recorded of an answer that was passed through. */
export interface ReadAnswer {
  readonly reply: string;
  readonly usage: AnswerUsage;
  /** It ended by itself, and not with a call of a tool. */
  readonly complete: boolean;
}

/** Reads the copy of an answer; undefined for one that is no message. */
export function readPassedAnswer(passed: PassedAnswer): ReadAnswer | undefined {
  const objects = objectsOf(passed);
  return passed.streams ? readEvents(objects) : readWhole(objects[0]);
}

function readWhole(message: JsonObject | undefined): ReadAnswer | undefined {
  if (!message || !Array.isArray(message.content)) return undefined;
  const reply = message.content.filter(isJsonObject).map(textMember).join('');
  return { reply, usage: readUsage(message.usage), complete: isEnd(message.stop_reason) };
}

function readEvents(events: readonly JsonObject[]): ReadAnswer {
  let reply = '';
  let usage: JsonObject = {};
  let stopReason: unknown;
  for (const event of events) {
    const { delta, message } = event;
    if (isJsonObject(message) && isJsonObject(message.usage)) usage = message.usage;
    if (isJsonObject(event.usage)) usage = { ...usage, ...event.usage };
    if (!isJsonObject(delta)) continue;
    if (delta.type === 'text_delta') reply += textMember(delta);
    stopReason = delta.stop_reason ?? stopReason;
  }
  return { reply, usage: readUsage(usage), complete: isEnd(stopReason) };
}

function textMember({ text }: JsonObject): string {
  return typeof text === 'string' ? text : '';
}

function isEnd(stopReason: unknown): boolean {
  return typeof stopReason === 'string' && stopReason !== 'tool_use' && stopReason !== 'pause_turn';
}

function readUsage(usage: unknown): AnswerUsage {
  if (!isJsonObject(usage)) return undefined;
  const count = (name: string): number => (typeof usage[name] === 'number' ? usage[name] : 0);
  const cached = count('cache_read_input_tokens');
  return {
    inputTokens: count('input_tokens') + count('cache_creation_input_tokens') + cached,
    cachedInputTokens: cached,
    outputTokens: count('output_tokens'),
  };
}
