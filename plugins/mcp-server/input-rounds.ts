import { checkedAnswer } from './client-answers.js';
import { capabilityFor, demand } from './wire/capabilities.js';
import { isObject, type JsonObject, member } from './wire/json.js';

/** Unwinds a run that cannot go on without an answer; the client repeats the request with it. */
export class InputRequired extends Error {
  constructor() {
    super('Waiting for input of the client.');
    this.name = 'InputRequired';
  }
}

/** Questions of one run: those answered already are answered again from memory, the others end the run. */
export interface InputRounds {
  ask(request: JsonObject): Promise<JsonObject>;
  /** Questions without an answer. */
  readonly open: Readonly<Record<string, JsonObject>>;
  /** Answers that were used, to be handed back with the next question. */
  readonly used: JsonObject;
}

/** @param answers by key, of this round and those before it. */
export function createInputRounds(answers: JsonObject, capabilities: JsonObject): InputRounds {
  const open: Record<string, JsonObject> = {};
  const used: Record<string, JsonObject> = {};
  let asked = 0;
  return {
    open,
    used,
    async ask(question) {
      const { key, request } = keyed(question, ++asked);
      demand(capabilities, capabilityFor(request));
      const answer = member(answers, key);
      if (answer !== undefined) {
        const checked = await checkedAnswer(request, answer);
        used[key] = checked;
        return checked;
      }
      open[key] = request;
      // Questions asked side by side are sent together: each waits for one turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
      throw new InputRequired();
    },
  };
}

/** A question may carry its own `key`; else its place in the run names it, which is the same in every round. */
export function keyed(question: JsonObject, place: number): { readonly key: string; readonly request: JsonObject } {
  const key = member(question, 'key');
  const { method, params } = question;
  const request = isObject(params) ? { method, params } : { method };
  return { key: typeof key === 'string' && key !== '' ? key : `input-${place}`, request };
}
