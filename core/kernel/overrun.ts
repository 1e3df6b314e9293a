/** A step of stopping a plugin that had not ended when its time was over. */
export class Overrun extends Error {
  /** `drain`, `stop` or `release`. */
  readonly step: string;

  constructor(step: string, message: string) {
    super(message);
    this.step = step;
  }
}

/** What a plugin had not ended when the time to stop was over. */
export interface Unfinished {
  readonly plugin: string;
  /** A step of stopping it, or a call that went on. */
  readonly what: string;
}
