/** The same numbers for the same seed: mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The bytes of a stream: events with texts of random lengths, 16 to 48 KB. */
export function seededBytes(seed: number): Buffer {
  const random = randomFrom(seed);
  const size = 16_384 + Math.floor(random() * 32_768);
  let text = '';
  while (text.length < size) {
    const piece = `${Math.floor(random() * 1e9).toString(36)} `.repeat(1 + Math.floor(random() * 40));
    text += `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: piece } })}\n\n`;
  }
  return Buffer.from(text);
}
