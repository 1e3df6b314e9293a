import { canonicalJson, type ModelToolCall } from 'mortise/sdk';

/** Identical calls in a row that are a loop. */
const repeatLimit = 5;
/** Tools that are meant to be asked again. */
const exempt = ['wait', 'write_stdin', 'request_user_input'];

/**
 * Notices a model that makes the same call again and again and gets the same answer. It ends a turn only while that
 * saves more steps than it took to notice: where fewer are left, the step limit ends the turn, with an answer for people.
 */
export class LoopDetector {
  #last: string | undefined;
  #count = 0;

  /** True when this call was the last straw. */
  ends({ name, arguments: text }: ModelToolCall, result: string, stepsLeft: number): boolean {
    if (exempt.includes(name)) return false;
    const call = `${name}\n${canonicalArguments(text)}\n${result}`;
    this.#count = call === this.#last ? this.#count + 1 : 1;
    this.#last = call;
    return this.#count >= repeatLimit && stepsLeft > repeatLimit;
  }
}

function canonicalArguments(text: string): string {
  try {
    return canonicalJson(JSON.parse(text));
  } catch {
    return text;
  }
}
