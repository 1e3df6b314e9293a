/** What a client can read. */
export interface Accepted {
  readonly json: boolean;
  /** Asked for by name: a wildcard alone is what every plain client sends, and means JSON. */
  readonly stream: boolean;
}

/** Reads an `Accept` header. Absent or empty: JSON. A range with `q=0` is refused by the client. */
export function accepted(value: string | undefined): Accepted {
  if (value === undefined || value.trim() === '') return { json: true, stream: false };
  let json = false;
  let stream = false;
  for (const part of value.split(',')) {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    if (parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))) continue;
    if (range === '*/*' || range === 'application/*' || range === 'application/json') json = true;
    if (range === 'text/event-stream' || range === 'text/*') stream = true;
  }
  return { json, stream };
}
