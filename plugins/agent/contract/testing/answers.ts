/** A user message of `POST /agent/process`. */
export function user(text: string): object {
  return { role: 'user', type: 'message', content: [{ type: 'text', text }] };
}

/** The events of a streamed answer; the last one is `[DONE]`. */
export async function eventsOf(response: Response): Promise<unknown[]> {
  const text = await response.text();
  return text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => (frame === 'data: [DONE]' ? '[DONE]' : JSON.parse(frame.slice(6))));
}

export async function errorOf(
  response: Response,
): Promise<{ status: number; code: string; message: string; details?: unknown }> {
  const { error } = (await response.json()) as { error: { code: string; message: string; details?: unknown } };
  return { status: response.status, ...error };
}
