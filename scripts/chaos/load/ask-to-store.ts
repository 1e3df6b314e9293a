import type { Agent } from 'node:http';
import type { Door } from '../plan/requests.js';
import type { Wish } from '../plan/wish.js';
import { type Acknowledgement, promiseOf } from './acknowledgement.js';
import { type HttpAnswer, post } from './post.js';

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Where a door is, and what it wants to be told. */
function call(door: Door, wish: Wish): readonly [path: string, body: Json] {
  const { text, space, kind, meta, evidence, evidenceRefs, actor, itemId } = wish;
  const args = {
    payload_md: text,
    target_space: space,
    kind,
    meta_json: meta,
    ...(evidence.length > 0 && { evidence }),
    ...(evidenceRefs.length > 0 && { evidence_refs: evidenceRefs }),
    ...(actor !== null && { actor_user_id: actor }),
    ...(itemId !== null && { item_id: itemId }),
  };
  if (door === 'rest') return ['/memory/store', args];
  if (door === 'legacy') return ['/mcp', { tool: 'memory_store', arguments: args }];
  return ['/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'memory_store', arguments: args } }];
}

/** The tool's result, wherever the door puts it; the body itself where there is none. */
function resultOf(door: Door, { body }: HttpAnswer): Json {
  const { result, error } = body;
  if (door === 'legacy' && isObject(result)) return result;
  if (door !== 'json-rpc') return body;
  if (isObject(error)) return { ok: false, ...(isObject(error.data) ? error.data : {}), message: error.message };
  const [content] = isObject(result) && Array.isArray(result.content) ? result.content : [];
  return isObject(content) && typeof content.text === 'string' ? JSON.parse(content.text) : body;
}

/** Asks one door of one server to store a memory. Never throws: no answer is an outcome too. */
export async function askToStore(origin: string, door: Door, wish: Wish, agent: Agent): Promise<Acknowledgement> {
  const [path, body] = call(door, wish);
  try {
    const answer = await post(`${origin}${path}`, body, agent);
    const result = resultOf(door, answer);
    const { correlation_id, final_space } = result;
    return {
      wish,
      door,
      promised: promiseOf(result),
      finalSpace: typeof final_space === 'string' ? final_space : null,
      correlationId: typeof correlation_id === 'string' ? correlation_id : null,
    };
  } catch {
    return { wish, door, promised: { kind: 'unanswered' }, finalSpace: null, correlationId: null };
  }
}
