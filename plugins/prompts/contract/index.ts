import { isUnstorableText } from 'mortise/sdk';

/** Maximum UTF-8 bytes of a prompt file. */
export const maxPromptBytes = 1_048_576;

/** Why a text is not valid as a prompt file, to follow `the text`; undefined when it is valid. */
export function promptProblem(text: string): string | undefined {
  if (text.trim() === '') return 'is blank';
  if (isUnstorableText(text)) return 'contains a NUL character or half of a surrogate pair';
  if (Buffer.byteLength(text) > maxPromptBytes) return 'is larger than 1 MiB, the maximum size of a prompt';
  return undefined;
}
