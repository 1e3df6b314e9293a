import type { ModelContentPart } from 'mortise/sdk';
import { invalidParams } from './errors.js';
import { isObject, type Json } from './json.js';

const attachmentLimit = 32;

/** What is sent beside the text: parts of a message, as `/agent/process` takes them in `content`. */
export function readAttachments({ attachments = [] }: Json): readonly ModelContentPart[] {
  if (!Array.isArray(attachments) || attachments.length > attachmentLimit) {
    throw invalidParams('attachments', `must be a list of at most ${attachmentLimit} objects`);
  }
  return attachments.map((part: unknown) => {
    if (!isObject(part) || typeof part.type !== 'string' || part.type === 'text') {
      throw invalidParams('attachments', 'must be objects with a type other than text');
    }
    return { ...part, type: part.type };
  });
}
