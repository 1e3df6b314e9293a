import type { Texts } from 'mortise/contracts/memory-gateway/testing';
import type { JsonPoster } from '../parts/post-json.js';

const space = { target_space: 'private:bench', actor_user_id: 'bench' };

/** The first memory creates its actor's user row. */
export const storeEnv = { MORTISE_UNKNOWN_ACTOR_POLICY: 'auto_create' };

/** Stores one memory over REST. @throws when it was not stored */
export async function storeByRest(poster: JsonPoster, text: string): Promise<void> {
  const { status, text: answer } = await poster.post('/memory/store', { payload_md: text, ...space });
  if (status !== 200 || !answer.includes('"memory_id":"')) throw new Error(`store answered ${status}: ${answer}`);
}

let calls = 0;

/** Calls a tool over MCP. @throws when it failed */
export async function callTool(poster: JsonPoster, name: string, args: object): Promise<string> {
  calls += 1;
  const message = { jsonrpc: '2.0', id: calls, method: 'tools/call', params: { name, arguments: args } };
  const accept = { accept: 'application/json, text/event-stream' };
  const { status, text } = await poster.post('/mcp', message, accept);
  if (status !== 200 || !text.includes('"result"') || text.includes('"isError":true'))
    throw new Error(`${name} answered ${status}: ${text}`);
  return text;
}

export async function storeByTool(poster: JsonPoster, text: string): Promise<void> {
  await callTool(poster, 'memory_store', { payload_md: text, ...space });
}

/** Fills the server with memories. */
export async function fill(
  poster: JsonPoster,
  texts: Texts,
  count: number,
  say: (line: string) => void,
): Promise<void> {
  let left = count;
  const filler = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      if (left % 10_000 === 0) say(`${count - left} of ${count} memories`);
      await storeByRest(poster, texts.mixed(200));
    }
  };
  await Promise.all(Array.from({ length: 64 }, filler));
}
