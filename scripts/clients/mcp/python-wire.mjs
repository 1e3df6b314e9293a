// Sends the requests that sse_client of the Python SDK sends: it reads "endpoint", then posts messages sequentially and
// waits for the answer to each POST before it sends the next.
import { exercise } from './exercise.mjs';

const headers = { accept: 'text/event-stream', 'cache-control': 'no-store' };
const controller = new AbortController();
const stream = await fetch(process.argv[2], { headers, signal: controller.signal });
const waiting = new Map();
let address;
const opened = Promise.withResolvers();

async function read() {
  let text = '';
  for await (const chunk of stream.body.pipeThrough(new TextDecoderStream())) {
    text += chunk.replaceAll('\r\n', '\n');
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const fields = new Map(
        text
          .slice(0, end)
          .split('\n')
          .map((line) => line.split(/: ?(.*)/s, 2)),
      );
      text = text.slice(end + 2);
      if (fields.get('event') === 'endpoint') {
        address = new URL(fields.get('data'), process.argv[2]);
        opened.resolve();
      } else if (fields.get('event') === 'message') {
        const message = JSON.parse(fields.get('data'));
        waiting.get(message.id)?.(message);
      }
    }
  }
}

let last = Promise.resolve();
function post(message) {
  const send = async () => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(message) };
    const response = await fetch(address, init);
    if (!response.ok) throw new Error(`POST was answered with ${response.status}.`);
    await response.arrayBuffer();
  };
  last = last.then(send);
  return last;
}

let count = 0;
async function request(method, params) {
  const id = count++;
  const answered = new Promise((resolve) => waiting.set(id, resolve));
  await post({ jsonrpc: '2.0', id, method, params });
  const { result, error } = await answered;
  if (error) throw new Error(error.message);
  return result;
}

const reading = read().catch((error) => {
  if (!controller.signal.aborted) throw error;
});
await opened.promise;
const clientInfo = { name: 'mcp', version: '0.1.0' };
await request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
await exercise('python-wire', (name, args) => request('tools/call', { name, arguments: args }));
controller.abort();
await reading;
