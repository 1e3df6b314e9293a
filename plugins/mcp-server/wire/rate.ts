/** A token bucket's size: `requests` at once, refilled over `seconds`. */
export interface Rate {
  readonly requests: number;
  readonly seconds: number;
}

/** Reads `<requests>/<seconds>`; undefined when it is none. */
export function parseRate(text: string): Rate | undefined {
  const found = /^\s*(\d{1,9})\s*\/\s*(\d{1,6}(?:\.\d{1,3})?)\s*$/.exec(text);
  if (!found) return undefined;
  const rate = { requests: Number(found[1]), seconds: Number(found[2]) };
  return rate.requests > 0 && rate.seconds > 0 ? rate : undefined;
}
