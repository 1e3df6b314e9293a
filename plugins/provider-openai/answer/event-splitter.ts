import { providerError } from '../errors.js';

/** Bytes of one line: more is no answer of a model. */
const lineLimit = 8 * 1024 * 1024;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Takes the data of server-sent events out of bytes, as soon as their line is complete. Comments and other fields are
 * skipped; each `data:` line is taken for itself, since no adapter of this form spreads one chunk over several. Text is
 * made of whole lines only, so that no character is cut.
 */
export class EventSplitter {
  /** Bytes of the line whose end has not come yet. */
  #open: Uint8Array[] = [];
  #length = 0;

  /** @throws provider_invalid_reply for a line beyond 8 MiB */
  *read(part: Uint8Array): Generator<string> {
    let from = 0;
    for (let at = part.indexOf(lineFeed); at >= 0; at = part.indexOf(lineFeed, from)) {
      const data = dataOf(this.#close(part.subarray(from, at)));
      from = at + 1;
      if (data !== undefined) yield data;
    }
    this.#keep(part.subarray(from));
  }

  /** What stands behind the last line end, once nothing more will come. */
  *end(): Generator<string> {
    const data = dataOf(this.#close(new Uint8Array()));
    if (data !== undefined) yield data;
  }

  #keep(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#length += part.length;
    if (this.#length > lineLimit) {
      throw providerError('provider_invalid_reply', 'provider response has too long a line');
    }
    this.#open.push(part);
  }

  #close(last: Uint8Array): Uint8Array {
    if (this.#length === 0) return last;
    const line = Buffer.concat([...this.#open, last]);
    this.#open = [];
    this.#length = 0;
    return line;
  }
}

function dataOf(line: Uint8Array): string | undefined {
  const end = line.at(-1) === carriageReturn ? line.length - 1 : line.length;
  const text = Buffer.from(line.buffer, line.byteOffset, end).toString('utf8');
  return text.startsWith('data:') ? text.slice(5).trim() : undefined;
}
