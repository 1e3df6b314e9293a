import { isUnstorableText } from 'mortise/sdk';

/** UTF-8 bytes of the largest file that a prompt layer is made of. */
export const maxPromptBytes = 1_048_576;

/** Why a text cannot be the file of a prompt; undefined when it can. Reads on after `the text`. */
export function promptProblem(text: string): string | undefined {
  if (text.trim() === '') return 'is blank';
  if (isUnstorableText(text)) return 'has a NUL character or half of a surrogate pair';
  if (Buffer.byteLength(text) > maxPromptBytes) return 'is larger than 1 MiB, which is the most that a prompt may be';
  return undefined;
}
