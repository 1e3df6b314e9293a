import type { ObservationInput } from 'mortise/sdk';
import { cutText } from '../cut-text.js';

/** Makes observations of what someone types, and counts them. */
export class TypedText {
  #typed = 0;

  /** Undefined for a blank text, which says nothing. */
  read(text: string, options: { actor_id?: string; session_key?: string } = {}): ObservationInput | undefined {
    if (text.trim() === '') return undefined;
    this.#typed += 1;
    const { actor_id = 'user', session_key = 'dm:local' } = options;
    return {
      source_name: 'text_input',
      ingress: 'adapter',
      session_key,
      actor: { actor_type: 'user', actor_id },
      ...cutText({ text, extra: { message_id: `text_input:${this.#typed}` } }),
    };
  }
}
