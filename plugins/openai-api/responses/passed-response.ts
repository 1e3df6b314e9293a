import { type AnswerUsage, objectsOf, type PassedAnswer } from 'mortise/contracts/models';
import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { readUsage } from '../read-usage.js';

/** Reads the copy of a response that was passed through; undefined for one that broke off or calls functions. */
export function readPassedResponse(passed: PassedAnswer): { reply: string; usage: AnswerUsage } | undefined {
  const objects = objectsOf(passed);
  const response = passed.streams ? objects.map((event) => event.response).findLast(isJsonObject) : objects[0];
  if (response?.status !== 'completed' && response?.status !== 'incomplete') return undefined;
  const items = Array.isArray(response.output) ? response.output.filter(isJsonObject) : [];
  if (items.some(({ type }) => String(type).endsWith('_call'))) return undefined;
  return { reply: items.map(textOfItem).join(''), usage: readUsage(response.usage) };
}

function textOfItem({ type, content }: JsonObject): string {
  if (type !== 'message' || !Array.isArray(content)) return '';
  return content
    .filter(isJsonObject)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('');
}
