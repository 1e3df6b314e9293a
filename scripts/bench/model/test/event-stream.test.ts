import { once } from 'node:events';
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { readEventStream, turnText } from '../event-stream.js';

describe('a stream that a benchmark reads', () => {
  it('fails with the reported error, and stops measuring', async () => {
    const server = createServer((_, answer) => {
      answer.write('data: {"type":"content","delta":"Re: "}\n\n');
      answer.write('data: {"type":"error","meta":{"code":"session_fenced"}}\n\ndata: [DONE]\n\n');
      answer.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const agent = new Agent();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const texts: string[] = [];
    const read = readEventStream({ agent, url, body: {}, textOf: turnText, onText: (text) => texts.push(text) });
    const message = await read.then(
      () => 'nothing',
      (error: Error) => error.message,
    );
    expect(message).to.equal('session_fenced');
    expect(texts).to.deep.equal(['Re: ']);
    agent.destroy();
    server.close();
  });
});
