import { canonicalJson, type ModelToolCall } from 'mortise/sdk';

/** Identical calls in a row that end a turn. */
const repeatLimit = 5;
/** Tools that are meant to be asked again. */
const exempt = ['wait', 'write_stdin', 'request_user_input'];

/** Notices a model that makes the same call again and again and gets the same answer. */
export class LoopDetector {
  #last: string | undefined;
  #count = 0;

  /** True when this call was the last straw. */
  repeats({ name, arguments: text }: ModelToolCall, result: string): boolean {
    if (exempt.includes(name)) return false;
    const call = `${name}\n${canonicalArguments(text)}\n${result}`;
    this.#count = call === this.#last ? this.#count + 1 : 1;
    this.#last = call;
    return this.#count >= repeatLimit;
  }
}

function canonicalArguments(text: string): string {
  try {
    return canonicalJson(JSON.parse(text));
  } catch {
    return text;
  }
}
