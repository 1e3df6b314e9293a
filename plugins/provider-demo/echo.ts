import type { GenerateRequest, ModelMessage } from 'mortise/sdk';

/** `Echo: ` and all user messages of the context, joined by one space. */
export function echo({ messages }: Pick<GenerateRequest, 'messages'>): string {
  const texts = messages.filter(({ role }) => role === 'user').map(textOf);
  const input = texts.filter((text) => text !== '').join(' ');
  return `Echo: ${input === '' ? '(empty input)' : input}`;
}

function textOf({ content }: ModelMessage): string {
  if (typeof content === 'string') return content;
  return content.flatMap(({ type, text }) => (type === 'text' && text ? [text] : [])).join(' ');
}
