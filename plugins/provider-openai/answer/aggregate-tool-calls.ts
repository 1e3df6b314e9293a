import type { ModelToolCall } from 'mortise/sdk';

/** A fragment of a tool call in a chunk. Compatible APIs omit or repeat members arbitrarily. */
export interface ToolCallDelta {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown } | null | undefined;
}

interface Call {
  readonly index: number | undefined;
  id: string;
  name: string;
  arguments: string;
}

/**
 * Puts tool calls together from their pieces. A piece belongs to the call of its index, else of its id; a name without
 * either begins a call, and anything else goes on with the call of the piece before. An index that is used again with
 * another id and a name begins a call too, and is then the index of that one.
 */
export class ToolCallAggregator {
  readonly #calls: Call[] = [];
  #last: Call | undefined;

  add(delta: ToolCallDelta): void {
    const index = Number.isInteger(delta.index) ? Number(delta.index) : undefined;
    const id = text(delta.id);
    const name = text(delta.function?.name);
    const call = this.#find(index, id, name) ?? this.#begin(index, id, name);
    if (!call) return;
    if (id !== '') call.id = id;
    if (name !== '') call.name = name;
    call.arguments += argumentText(delta.function?.arguments);
    this.#last = call;
  }

  /** The calls in the order of their indices when all of them have one, else as they were first seen. */
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

  /** Undefined when the piece begins a call, or belongs to none. */
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

/** Ids that are missing or were seen before become `call_<n>`, counted from 1, with numbers that are not taken. */
function uniqueIds(ids: readonly string[]): readonly string[] {
  const taken = new Set(ids);
  const used = new Set<string>();
  let number = 0;
  return ids.map((id) => {
    let own = id;
    if (own === '' || used.has(own)) {
      do own = `call_${++number}`;
      while (taken.has(own));
    }
    used.add(own);
    return own;
  });
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function argumentText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : '';
}
