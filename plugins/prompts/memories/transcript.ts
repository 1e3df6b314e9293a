import { estimateTokens } from 'mortise/contracts/models';
import type { StoredMessage } from 'mortise/contracts/sessions';

/** Maximum code points of a tool's result. */
const maxToolTextLength = 500;

/** The newest messages of a chat that fit, oldest first. */
export function transcriptOf(
  messages: readonly Pick<StoredMessage, 'role' | 'content' | 'toolCalls'>[],
  maxTokens: number,
): string {
  const lines: string[] = [];
  let tokens = 0;
  for (const message of messages.toReversed()) {
    const line = lineOf(message);
    tokens += estimateTokens(line);
    if (tokens > maxTokens) break;
    lines.unshift(line);
  }
  return lines.join('\n\n');
}

function lineOf({ role, content, toolCalls = [] }: Pick<StoredMessage, 'role' | 'content' | 'toolCalls'>): string {
  const points = role === 'tool' ? [...content] : [];
  const shown = points.length > maxToolTextLength ? `${points.slice(0, maxToolTextLength).join('')}...` : content;
  return [`${role}: ${shown}`, ...toolCalls.map(({ name }) => `calls ${name}`)].join('\n');
}
