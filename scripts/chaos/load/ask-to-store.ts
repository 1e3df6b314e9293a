import { type Agent, request } from 'node:http';
import type { MemoryInput } from '../plan/memory-input.js';
import type { Endpoint } from '../plan/requests.js';
import { type Acknowledgement, promiseOf } from './acknowledgement.js';

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Path and body of a request to an endpoint. */
function call(endpoint: Endpoint, memory: MemoryInput): readonly [path: string, body: Json] {
  const { text, space, kind, meta, evidence, evidenceRefs, actor, itemId } = memory;
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
  if (endpoint === 'rest') return ['/memory/store', args];
  if (endpoint === 'legacy') return ['/mcp', { tool: 'memory_store', arguments: args }];
  return ['/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'memory_store', arguments: args } }];
}

/** The tool's result within the endpoint's response; the body itself when there is none. */
function resultOf(endpoint: Endpoint, { body }: HttpAnswer): Json {
  const { result, error } = body;
  if (endpoint === 'legacy' && isObject(result)) return result;
  if (endpoint !== 'json-rpc') return body;
  if (isObject(error)) return { ok: false, ...(isObject(error.data) ? error.data : {}), message: error.message };
  const [content] = isObject(result) && Array.isArray(result.content) ? result.content : [];
  return isObject(content) && typeof content.text === 'string' ? JSON.parse(content.text) : body;
}

/** Stores a memory through one endpoint of a server. Never throws: a missing response is an outcome too. */
export async function askToStore(
  origin: string,
  endpoint: Endpoint,
  memory: MemoryInput,
  agent: Agent,
): Promise<Acknowledgement> {
  const [path, body] = call(endpoint, memory);
  try {
    const answer = await post(`${origin}${path}`, body, agent);
    const result = resultOf(endpoint, answer);
    const { correlation_id, final_space } = result;
    return {
      memory,
      endpoint,
      promised: promiseOf(result),
      finalSpace: typeof final_space === 'string' ? final_space : null,
      correlationId: typeof correlation_id === 'string' ? correlation_id : null,
    };
  } catch {
    return { memory, endpoint, promised: { kind: 'unanswered' }, finalSpace: null, correlationId: null };
  }
}

interface HttpAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const LIMIT_MS = 10_000;

/** `POST` with a JSON body. @throws Error when the response is missing or incomplete. */
function post(url: string, body: unknown, agent: Agent): Promise<HttpAnswer> {
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method: 'POST',
      agent,
      timeout: LIMIT_MS,
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
    });
    outgoing.once('timeout', () => outgoing.destroy(new Error('no response in time')));
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
      response.once('error', reject);
      response.once('aborted', () => reject(new Error('incomplete response')));
      response.once('end', () => {
        try {
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(answer) });
        } catch (error) {
          reject(error);
        }
      });
    });
    outgoing.end(text);
  });
}
