import type { Socket } from 'mortise/sdk';
import { textFrame } from './frames.js';

/** Buffered bytes above which frames are held back, and characters held back above which the socket is closed. */
const mergeAbove = 1024 * 1024;
const giveUpAbove = 32 * 1024 * 1024;

interface Delta {
  readonly id: string;
  text: string;
}

type Waiting = { readonly frame: string } | Delta;

/**
 * Sends frames to a socket. While more than 1 MiB is buffered in it, frames are held back in order, and adjacent text of
 * one request is joined: a slow reader gets fewer, longer chunks, and nothing is lost.
 */
export class Outbox {
  readonly #socket: Pick<Socket, 'send' | 'buffered'>;
  readonly #now: () => number;
  readonly #onHold: () => void;
  #waiting: Waiting[] = [];
  /** The last text of each request, to which more text can be joined. */
  readonly #tails = new Map<string, Delta>();
  #waitingChars = 0;
  /** Bytes passed to the socket so far, and how many of them the peer had taken when that number last grew. */
  #sent = 0;
  #taken = 0;
  #takenAt: number;
  #closed = false;

  /** `onHold` is called when the first frame is held back: call {@link flush} until {@link holds} is false. */
  constructor(socket: Pick<Socket, 'send' | 'buffered'>, now: () => number, onHold: () => void) {
    this.#socket = socket;
    this.#now = now;
    this.#onHold = onHold;
    this.#takenAt = now();
  }

  /** True while frames are held back. */
  get holds(): boolean {
    return this.#waiting.length > 0;
  }

  send(id: string, frame: object): void {
    this.#tails.delete(id);
    this.#push({ frame: JSON.stringify(frame) });
  }

  /** A piece of a request's answer. */
  delta(id: string, text: string): void {
    const tail = this.#tails.get(id);
    if (tail) {
      tail.text += text;
      this.#waitingChars += text.length;
      return;
    }
    const delta = { id, text };
    this.#push(delta);
    if (this.holds) this.#tails.set(id, delta);
  }

  /** Drops held frames; nothing more is sent. */
  close(): void {
    this.#closed = true;
    this.#waiting = [];
    this.#tails.clear();
  }

  /** Sends held frames as far as the socket has room. */
  flush(): void {
    let sent = 0;
    for (const next of this.#waiting) {
      if (this.#socket.buffered > mergeAbove) break;
      sent += 1;
      if ('id' in next && this.#tails.get(next.id) === next) this.#tails.delete(next.id);
      const frame = written(next);
      this.#waitingChars -= 'id' in next ? next.text.length : frame.length;
      this.#hand(frame);
    }
    if (sent > 0) this.#waiting.splice(0, sent);
  }

  /** How long the peer has taken nothing of what is buffered, milliseconds; infinite when far too much is held back. */
  stalledFor(): number {
    const { buffered } = this.#socket;
    const taken = this.#sent - buffered;
    const now = this.#now();
    if (buffered === 0 || taken > this.#taken) {
      this.#taken = taken;
      this.#takenAt = now;
    }
    return this.#waitingChars > giveUpAbove ? Number.POSITIVE_INFINITY : now - this.#takenAt;
  }

  #push(next: Waiting): void {
    if (this.#closed) return;
    if (!this.holds && this.#socket.buffered <= mergeAbove) {
      this.#hand(written(next));
      return;
    }
    const first = !this.holds;
    this.#waiting.push(next);
    this.#waitingChars += 'id' in next ? next.text.length : next.frame.length;
    if (first) this.#onHold();
  }

  #hand(frame: string): void {
    const before = this.#socket.buffered;
    if (before === 0) this.#takenAt = this.#now();
    this.#socket.send(frame);
    this.#sent += Math.max(0, this.#socket.buffered - before);
  }
}

function written(next: Waiting): string {
  return 'id' in next ? JSON.stringify(textFrame(next.id, next.text)) : next.frame;
}
