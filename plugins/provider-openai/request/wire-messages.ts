import type { ModelContentPart, ModelMessage } from 'mortise/sdk';
import type { OpenAI } from 'openai';
import { providerError } from '../errors.js';

type WireMessage = OpenAI.ChatCompletionMessageParam;
type WirePart = OpenAI.ChatCompletionContentPart;

/** Parts that are passed on as they are: they are written in the API's own words. */
const ownParts = ['image_url', 'input_audio', 'file'];

/** Messages in the API's form. An assistant's message that says nothing and calls nothing is left out. */
export function wireMessages(messages: readonly ModelMessage[]): WireMessage[] {
  return messages.flatMap((message) => wireMessage(message) ?? []);
}

function wireMessage(message: ModelMessage): WireMessage | undefined {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: textOf(message) };
    case 'user':
      return { role: 'user', content: userContent(message) };
    case 'assistant':
      return assistantMessage(message);
    case 'tool':
      return toolMessage(message);
  }
}

function assistantMessage(message: ModelMessage): WireMessage | undefined {
  const content = textOf(message);
  const calls = message.toolCalls ?? [];
  if (calls.length === 0) return content === '' ? undefined : { role: 'assistant', content };
  return {
    role: 'assistant',
    content: content === '' ? null : content,
    tool_calls: calls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    })),
  };
}

/** The tool's name is no part of the API's own form, but others that speak its language ask for it. */
function toolMessage(message: ModelMessage): WireMessage {
  const { toolCallId = '', name } = message;
  const own = name === undefined ? {} : { name };
  return { role: 'tool', tool_call_id: toolCallId, content: textOf(message), ...own };
}

function userContent(message: ModelMessage): string | WirePart[] {
  const { content } = message;
  if (typeof content === 'string' || content.every(({ type }) => type === 'text')) return textOf(message);
  return content.map(wirePart);
}

function wirePart(part: ModelContentPart): WirePart {
  if (part.type === 'text') return { type: 'text', text: part.text ?? '' };
  if (ownParts.includes(part.type)) return part as unknown as WirePart;
  if (part.type === 'image' && typeof part.url === 'string') return { type: 'image_url', image_url: { url: part.url } };
  throw providerError('provider_not_supported', 'provider does not support attachments of this type');
}

function textOf({ content }: ModelMessage): string {
  if (typeof content === 'string') return content;
  return content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : [])).join('\n');
}
