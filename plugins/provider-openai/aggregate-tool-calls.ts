import { uniqueIds } from 'mortise/contracts/models';
import type { ModelToolCall } from 'mortise/sdk';

/** A piece of a tool call in a chunk. APIs omit or repeat any of its members. */
export interface ToolCallDelta {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown } | null | undefined;
}

/** A fragment as it arrives; `id` and `name` come with the first one. */
interface CallPiece {
  readonly index: number;
  readonly id?: string;
  readonly name?: string;
  readonly arguments: string;
}

interface Call {
  readonly index: number | undefined;
  id: string;
  name: string;
  arguments: string;
}

/**
 * Assembles tool calls from their pieces. A piece belongs to the call of its index, else of its id; a name without
 * either starts a new call, and anything else continues the call of the previous piece. An index that is reused with
 * another id and a name starts a new call too, and then refers to that one.
 */
export class ToolCallAggregator {
  readonly #calls: Call[] = [];
  #last: Call | undefined;

  /** @returns the piece with the position of its call; undefined when it belongs to no call */
  add(delta: ToolCallDelta): CallPiece | undefined {
    const index = Number.isInteger(delta.index) ? Number(delta.index) : undefined;
    const id = text(delta.id);
    const name = text(delta.function?.name);
    const found = this.#find(index, id, name);
    const call = found ?? this.#begin(index, id, name);
    if (!call) return undefined;
    const args = argumentText(delta.function?.arguments);
    if (id !== '') call.id = id;
    if (name !== '') call.name = name;
    call.arguments += args;
    this.#last = call;
    return {
      index: this.#calls.indexOf(call),
      ...(found || call.id === '' ? {} : { id: call.id }),
      ...(found || name === '' ? {} : { name }),
      arguments: args,
    };
  }

  /** The calls in the order of their indices if all have one, else in order of appearance. */
  complete(): readonly ModelToolCall[] {
    const calls = this.#calls.every(({ index }) => index !== undefined)
      ? this.#calls.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))
      : this.#calls;
    const ids = uniqueIds(calls.map(({ id }) => id));
    return calls.map(({ name, arguments: args }, at) => ({
      id: ids[at] ?? '',
      name,
      arguments: args.trim() === '' ? '{}' : args,
    }));
  }

  /** Undefined when the piece starts a call or belongs to none. */
  #find(index: number | undefined, id: string, name: string): Call | undefined {
    if (index !== undefined) {
      const ofIndex = this.#calls.filter((call) => call.index === index);
      const same = id === '' ? undefined : ofIndex.findLast((call) => call.id === id);
      const newest = ofIndex.at(-1);
      const isAnother = id !== '' && name !== '' && newest !== undefined && newest.id !== '';
      return same ?? (isAnother ? undefined : newest);
    }
    if (id !== '') return this.#calls.findLast((call) => call.id === id);
    return name === '' ? this.#last : undefined;
  }

  #begin(index: number | undefined, id: string, name: string): Call | undefined {
    if (index === undefined && id === '' && name === '') return undefined;
    const call: Call = { index, id: '', name: '', arguments: '' };
    this.#calls.push(call);
    return call;
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function argumentText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : '';
}
