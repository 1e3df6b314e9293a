/** A longer `Retry-After` counts as a day. */
const maxRetryAfterMs = 86_400_000;

/**
 * Milliseconds from `now` (epoch milliseconds) of a `Retry-After` header: seconds, or a date (RFC 9110, section 10.2.3).
 * At most a day; undefined without the header and for any other text.
 */
export function retryAfterMs(headers: Headers, now = Date.now()): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? '';
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), maxRetryAfterMs);
}

/** The body of a response, at most its first `maxBytes`; the rest is not read, which closes the connection. */
export async function readResponse(
  response: Response,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > maxBytes) break;
  }
  const bytes = Buffer.concat(chunks);
  return { bytes: bytes.subarray(0, maxBytes), isCut: bytes.length > maxBytes };
}
