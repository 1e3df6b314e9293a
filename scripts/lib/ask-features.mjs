const memory = 'The harbour opens at six.';

/** A request for each feature, and the plugins that answer it. */
const features = [
  { uses: ['agent', 'provider-demo', 'channel-console'], ask: askTurn },
  { uses: ['claude-api', 'models', 'provider-demo'], ask: askAsClaudeClient },
  { uses: ['openai-api', 'models', 'provider-demo'], ask: askAsOpenAiClient },
  { uses: ['mcp-server', 'memory-gateway'], ask: storeMemory },
  { uses: ['mcp-server', 'memory-gateway', 'memory-backend-local'], ask: findMemory },
];

/**
 * Sends the requests that need no deleted plugin.
 * @param {string} origin of a running server
 * @param {ReadonlySet<string>} missing keys of plugins
 * @throws Error with an unexpected answer
 */
export async function askFeatures(origin, missing) {
  const { status } = await fetch(`${origin}/healthz`);
  if (status !== 200) throw new Error(`GET /healthz answered ${status}`);
  for (const { uses, ask } of features) if (!uses.some((key) => missing.has(key))) await ask(origin);
}

/** @param {string} origin */
async function askTurn(origin) {
  const input = [{ role: 'user', type: 'message', content: [{ type: 'text', text: 'hello' }] }];
  const { reply } = await post(origin, '/agent/process', { session_id: 's1', user_id: 'me', input });
  if (reply !== 'Echo: hello') throw new Error(`/agent/process replied ${JSON.stringify(reply)}`);
}

const demo = { model: 'demo/demo-chat', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] };

/** @param {string} origin */
async function askAsClaudeClient(origin) {
  const { content } = await post(origin, '/v1/messages', demo);
  if (content[0]?.text !== 'Echo: hello') throw new Error(`/v1/messages answered ${JSON.stringify(content)}`);
}

/** @param {string} origin */
async function askAsOpenAiClient(origin) {
  const { choices } = await post(origin, '/v1/chat/completions', demo);
  const text = choices[0]?.message.content;
  if (text !== 'Echo: hello') throw new Error(`/v1/chat/completions answered ${JSON.stringify(text)}`);
}

/** @param {string} origin */
async function storeMemory(origin) {
  await callTool(origin, 'memory_store', { payload_md: memory, target_space: 'private:me' });
}

/** @param {string} origin */
async function findMemory(origin) {
  const found = JSON.stringify(await callTool(origin, 'memory_query', { query: 'harbour', spaces: ['private:me'] }));
  if (!found.includes(memory)) throw new Error(`memory_query does not find what memory_store stored: ${found}`);
}

/**
 * @param {string} origin
 * @param {string} name
 * @param {object} args
 */
function callTool(origin, name, args) {
  return post(origin, '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
}

/**
 * @param {string} origin
 * @param {string} path
 * @param {object} body
 */
async function post(origin, path, body) {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(`${origin}${path}`, init);
  const text = await response.text();
  const answer = response.ok ? JSON.parse(text) : undefined;
  if (!answer || answer.error || answer.result?.isError)
    throw new Error(`POST ${path} answered ${response.status}: ${text}`);
  return answer;
}
