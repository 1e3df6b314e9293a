/** Bytes of a refusal that are read: enough for the API's words. */
const limit = 64 * 1024;

/** The response; a failed one with its body read up to a limit, since the SDK reads all of it. */
export async function shortBody(response: Response): Promise<Response> {
  if (response.ok || response.body === null) return response;
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const part of response.body) {
      parts.push(part);
      length += part.length;
      if (length >= limit) break;
    }
  } catch {
    // The status alone says enough.
  }
  const { status, headers } = response;
  return new Response(Buffer.concat(parts), { status, headers: new Headers([...headers]) });
}
