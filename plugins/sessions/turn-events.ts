type Event = Readonly<Record<string, unknown>>;

const byteLimit = 64 * 1024;

/**
 * The stored form of a turn's events: at most 64 KiB of JSON. The oldest deltas go first, since the text is in the
 * messages anyway, then the oldest of the rest.
 */
export function limitEvents(events: readonly Event[]): { readonly json: string; readonly truncated: boolean } {
  const whole = JSON.stringify(events);
  if (Buffer.byteLength(whole) <= byteLimit) return { json: whole, truncated: false };
  const sized = events.map((event) => ({ event, bytes: Buffer.byteLength(JSON.stringify(event)) + 1 }));
  let excess = sized.reduce((sum, { bytes }) => sum + bytes, 2) - byteLimit;
  const dropped = new Set<Event>();
  for (const deltas of [true, false]) {
    for (const { event, bytes } of sized) {
      if (excess <= 0) break;
      if (dropped.has(event) || (event.type === 'assistant_delta') !== deltas) continue;
      dropped.add(event);
      excess -= bytes;
    }
  }
  return { json: JSON.stringify(events.filter((event) => !dropped.has(event))), truncated: true };
}
