import { expect } from 'chai';
import { dataOf, openAiHost, say } from './support.js';

describe('a shutdown of the OpenAI-compatible API', () => {
  it('ends running streams with an error in the shape of each API', async () => {
    const openai = await openAiHost();
    openai.scripted.answer(async function* (_, { signal }) {
      yield { type: 'content_delta', text: 'a' };
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    });
    const chat = await openai.chat(say('hi', { stream: true }));
    const response = await openai.respond({ model: 'scripted/m', input: 'hi', stream: true });
    const stopped = openai.host.stop(300);
    expect(dataOf(await chat.text()).at(-1)).to.have.nested.include({
      'error.type': 'server_error',
      'error.code': 'server_shutdown',
    });
    expect(dataOf(await response.text()).at(-1)).to.have.nested.include({
      type: 'response.failed',
      'response.status': 'failed',
      'response.error.code': 'server_shutdown',
    });
    await stopped;
  });
});
