import { connect } from 'node:net';
import { expect } from 'chai';
import { until } from 'mortise/sdk/testing';
import { claudeHost, eventsOf, say } from './support.js';

describe('a shutdown of the Claude-compatible API', () => {
  it('refuses new requests and ends running streams, each in the shape of the API', async () => {
    const claude = await claudeHost();
    claude.scripted.answer(async function* (_, { signal }) {
      yield { type: 'content_delta', text: 'a' };
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    });
    const stream = await claude.ask(say('hi', { stream: true }));
    const open = connect(Number(new URL(claude.host.origin).port), '127.0.0.1');
    let received = '';
    open.on('data', (chunk) => {
      received += chunk.toString();
    });
    open.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await until('the connection is open and idle', () => received.includes('true'));
    received = '';
    const stopped = claude.host.stop(500);
    const head = 'POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
    open.write(`${head}Content-Length: 2\r\n\r\n{}`);
    await until('the refusal has arrived', () => received.endsWith('}'));
    expect(received).to.match(/^HTTP\/1.1 503 /);
    expect(JSON.parse(received.slice(received.indexOf('\r\n\r\n') + 4))).to.have.nested.include({
      type: 'error',
      'error.type': 'api_error',
      'error.code': 'shutting_down',
    });
    const last = eventsOf(await stream.text()).at(-1);
    expect(last).to.have.nested.include({ type: 'error', 'error.code': 'server_shutdown' });
    await stopped;
  });
});
