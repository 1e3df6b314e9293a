/** Unread output of a command: its beginning, up to a limit, and whether there was more. */
export class OutputBuffer {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #isTruncated = false;

  /** @param limit bytes */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  add(chunk: Buffer): void {
    const room = this.#limit - this.#bytes;
    if (chunk.length > room) this.#isTruncated = true;
    if (room <= 0) return;
    const kept = chunk.subarray(0, room);
    this.#chunks.push(kept);
    this.#bytes += kept.length;
  }

  /** Takes the text out, at most `most` bytes of it; the rest is dropped. */
  take(most = this.#limit): string {
    const all = Buffer.concat(this.#chunks);
    const isCut = this.#isTruncated || all.length > most;
    this.#chunks = [];
    this.#bytes = 0;
    this.#isTruncated = false;
    const text = all.subarray(0, most).toString('utf8');
    // A character that the limit has cut in two.
    return isCut ? `${text.replace(/\uFFFD$/, '')}\n... (output truncated)` : text;
  }
}
