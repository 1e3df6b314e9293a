import { expect } from 'chai';
import { errorOf, eventsOf, fakeModel } from 'mortise/contracts/agent/testing';
import type { GenerateEvent } from 'mortise/sdk';
import { eachDatabase } from 'mortise/sdk/testing';
import { type Gateway, openGateway, turnsOf } from './gateway.js';

const delta = (text: string): GenerateEvent => ({ type: 'content_delta', text });
const done: GenerateEvent = { type: 'done', responseId: 'r1' };
const calls: GenerateEvent = {
  type: 'tool_calls_complete',
  toolCalls: [{ id: 'c1', name: 'missing', arguments: '{}' }],
};
const usage: GenerateEvent = { type: 'usage', inputTokens: 3, outputTokens: 4 };

describe('the end of an answer', () => {
  eachDatabase((engine) => {
    let gateway: Gateway;

    afterEach(async function stop() {
      await gateway.host.stop();
    });

    async function answering(events: readonly GenerateEvent[], capabilities = {}): Promise<void> {
      const model = fakeModel(async function* () {
        yield* events;
      }, capabilities);
      gateway = await openGateway(engine, { model });
    }

    const cut: readonly [string, readonly GenerateEvent[], object][] = [
      ['streamed text', [delta('half an ans')], {}],
      ['text in one piece', [delta('half an ans')], { stream: false }],
      ['tool calls', [calls, usage], {}],
      ['no output', [], {}],
    ];
    for (const [which, events, capabilities] of cut) {
      it(`needs a done event: ${which} without one fails`, async () => {
        await answering(events, capabilities);
        expect(await errorOf(await gateway.process('hi'))).to.deep.equal({
          status: 502,
          code: 'provider_request_failed',
          message: 'provider stream request failed',
          details: { cause: 'incomplete_stream' },
        });
        expect((await turnsOf(gateway.host))[0]).to.deep.include({ status: 'failed', steps: 1 });
      });
    }

    it('is its done event: after it only the usage counts', async () => {
      await answering([delta('all'), done, delta(' and more'), calls, usage, { type: 'done', responseId: 'r2' }]);
      const events = await eventsOf(await gateway.process('hi', { stream: true }));
      expect(events.flatMap((event) => (event as { delta?: string }).delta ?? [])).to.deep.equal(['all']);
      const { reply, meta } = events.at(-2) as { reply: string; meta: object };
      expect(reply).to.equal('all');
      expect(meta).to.deep.include({ provider_response_id: 'r1', usage: { input_tokens: 3, output_tokens: 4 } });
    });
  });
});
