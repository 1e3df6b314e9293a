import { type AnswerUsage, objectsOf, type PassedAnswer } from 'mortise/contracts/models';
import { isJsonObject, type JsonObject } from 'mortise/sdk';

interface ReadAnswer {
  readonly reply: string;
  readonly usage: AnswerUsage;
}

/** Reads the copy of an answer that was passed through; undefined when it is incomplete or calls tools. */
export function readPassedAnswer(passed: PassedAnswer): ReadAnswer | undefined {
  const objects = objectsOf(passed);
  return passed.streams ? readEvents(objects) : readWhole(objects[0]);
}

function readWhole(message: JsonObject | undefined): ReadAnswer | undefined {
  if (!message || !Array.isArray(message.content)) return undefined;
  const reply = message.content.filter(isJsonObject).map(textMember).join('');
  return isEnd(message.stop_reason) ? { reply, usage: readUsage(message.usage) } : undefined;
}

function readEvents(events: readonly JsonObject[]): ReadAnswer | undefined {
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
  return isEnd(stopReason) ? { reply, usage: readUsage(usage) } : undefined;
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
