import { isJsonObject } from 'mortise/sdk';

/**
 * The content blocks of an answer as the API sent them, for later requests: thinking and its signature are only accepted
 * unchanged. They are kept as JSON text, because numbers in the input of a tool may not survive parsing.
 */
const prefix = '{"anthropic":';

export function toOpaque(blocks: readonly string[]): string {
  return `${prefix}[${blocks.join(',')}]}`;
}

/** JSON text of the list of blocks; undefined for the content of another adapter. */
export function fromOpaque(opaque: string | undefined): string | undefined {
  return opaque?.startsWith(prefix) ? opaque.slice(prefix.length, -1) : undefined;
}

/** One content block while it is streamed. */
export class BlockBuilder {
  readonly #block: Record<string, unknown>;
  readonly #toolInput: string[] = [];

  constructor(start: Readonly<Record<string, unknown>>) {
    this.#block = { ...start };
  }

  get type(): unknown {
    return this.#block.type;
  }

  get id(): string {
    return String(this.#block.id ?? '');
  }

  get name(): string {
    return String(this.#block.name ?? '');
  }

  /** The arguments of a tool call as text. */
  get input(): string {
    const streamed = this.#toolInput.join('');
    if (streamed.trim() !== '') return streamed;
    return isJsonObject(this.#block.input) ? JSON.stringify(this.#block.input) : '{}';
  }

  add(delta: Readonly<Record<string, unknown>>): void {
    for (const member of ['text', 'thinking', 'signature'] as const) {
      const piece = delta[member];
      if (typeof piece === 'string') this.#block[member] = `${this.#block[member] ?? ''}${piece}`;
    }
    if (typeof delta.partial_json === 'string') this.#toolInput.push(delta.partial_json);
    if (delta.citation !== undefined) {
      const known = Array.isArray(this.#block.citations) ? this.#block.citations : [];
      this.#block.citations = [...known, delta.citation];
    }
  }

  /** The block as JSON text; undefined for an empty text, which the API does not accept back. */
  toJson(): string | undefined {
    if (this.type === 'text' && (this.#block.text ?? '') === '') return undefined;
    if (this.#block.input === undefined) return JSON.stringify(this.#block);
    const { input: _, ...rest } = this.#block;
    const input = isJson(this.input) ? this.input : '{}';
    return `${JSON.stringify(rest).slice(0, -1)},"input":${input}}`;
  }
}

/** The model may have been cut off within the arguments. */
function isJson(text: string): boolean {
  try {
    return isJsonObject(JSON.parse(text));
  } catch {
    return false;
  }
}
