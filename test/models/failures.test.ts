import { expect } from 'chai';
import { errorOf, eventsOf } from 'mortise/contracts/agent/testing';
import { createGate, openAi } from 'mortise/contracts/provider-openai/testing';
import { kinds } from 'mortise/contracts/realtime/testing';
import { oneDatabase } from 'mortise/sdk/testing';
import { httpSession, type ModelPlatform, openModelPlatform } from './platform.js';

const soon = { 'retry-after': '0' };

describe('an API that fails', () => {
  oneDatabase((engine) => {
    let platform: ModelPlatform;

    before(async () => {
      platform = await openModelPlatform(engine);
    });

    afterEach(async () => {
      platform.upstream.clear();
      const chats = (await (await platform.host.fetch('/chats')).json()) as { id: string }[];
      await platform.host.post(
        '/chats/batch-delete',
        chats.map(({ id }) => id).filter((id) => id !== 'chat-default'),
      );
    });

    after(async function stop() {
      await platform.stop();
    });

    it('is called three times after a temporary failure, which each entry point reports in its own form', async () => {
      platform.upstream.always(openAi.fails(429, {}, soon));
      const frames = await platform.send('hi');
      expect(platform.asked()).to.have.length(3);
      expect(kinds(frames)).to.deep.equal(['LLM_ERROR']);
      expect(frames[0]?.error?.message).to.equal('LLM call failed after 3 attempts: provider returned status 429');
      expect(await errorOf(await platform.process('hi'))).to.deep.include({
        status: 502,
        code: 'provider_request_failed',
        message: 'provider returned status 429',
      });
      expect(platform.asked()).to.have.length(6);
      expect((await platform.rows()).map(({ role, content }) => [role, content])).to.deep.equal([['user', 'hi']]);
    });

    it('is called once after a permanent failure', async () => {
      for (const status of [400, 401, 403, 404]) {
        platform.upstream.clear();
        platform.upstream.always(openAi.fails(status, {}, soon));
        const [frame] = await platform.send('hi');
        expect(frame?.error).to.deep.include({
          code: 'LLM_ERROR',
          message: `LLM API error: ${status} provider returned status ${status}`,
        });
        expect(platform.asked(), String(status)).to.have.length(1);
      }
    });

    it('is an error without a stream, and an event within one, and hides its turn from the chat', async () => {
      platform.upstream.always(openAi.fails(500, {}, soon));
      expect(await errorOf(await platform.process('hi'))).to.include({
        status: 502,
        message: 'provider returned status 500',
      });
      const response = await platform.process('hi', { stream: true });
      expect(response.status).to.equal(200);
      const events = (await eventsOf(response)) as { type: string; meta?: object }[];
      expect(events.map((event) => event.type ?? event)).to.deep.equal(['step_started', 'error', '[DONE]']);
      expect(events[1]?.meta).to.include({
        code: 'provider_request_failed',
        message: 'provider returned status 500',
      });
      const [chat] = (await (await platform.host.fetch('/chats?user_id=u1')).json()) as { id: string }[];
      const shown = async (query: string) =>
        ((await (await platform.host.fetch(`/chats/${chat?.id}${query}`)).json()) as { messages: object[] }).messages;
      expect(await shown('')).to.deep.equal([]);
      expect(await shown('?include_failed=true')).to.have.length(2);
      const turns = (await (await platform.host.fetch(`/chats/${chat?.id}/turns`)).json()) as { status: string }[];
      expect(turns.map(({ status }) => status)).to.deep.equal(['failed', 'failed']);
    });

    it('may fail once within a turn', async () => {
      platform.upstream.answer(openAi.fails(503, {}, soon), openAi.says('here'));
      expect(((await (await platform.process('hi')).json()) as { reply: string }).reply).to.equal('here');
      expect(platform.asked()).to.have.length(2);
      expect(await platform.rows(httpSession)).to.have.length(2);
    });

    it('causes an error when its answer is empty, and a placeholder when it is blank', async () => {
      platform.upstream.answer(openAi.says(''), openAi.says('  '));
      expect(await errorOf(await platform.process('hi'))).to.include({
        status: 502,
        code: 'provider_invalid_reply',
        message: 'provider response has empty content',
      });
      expect(((await (await platform.process('hi')).json()) as { reply: string }).reply).to.equal('(empty reply)');
    });

    it('leaves the text received before its connection broke, also for the next turn', async () => {
      const gate = createGate();
      platform.upstream.answer(
        openAi.streamsFrom(async function* () {
          yield openAi.chunk({ content: 'Hel' });
          await gate.opened;
          yield openAi.reset;
        }),
        openAi.says('better'),
      );
      const client = await platform.connect();
      const sent = client.request('chat.send', { content: 'hi' });
      while (client.frames.length === 0) await new Promise((resolve) => setImmediate(resolve));
      gate.open();
      const frames = await client.end(sent);
      expect(kinds(frames)).to.deep.equal(['stream_chunk', 'LLM_ERROR']);
      expect(frames[1]?.error?.message).to.equal('LLM API error: provider stream request failed');
      expect((await platform.rows()).map(({ content, status }) => [content, status])).to.deep.equal([
        ['hi', 'complete'],
        ['Hel', 'error'],
      ]);
      await client.ask('chat.send', { content: 'again' });
      expect(platform.asked()[1]?.messages.map(({ role, content }) => [role, content])).to.deep.equal([
        ['user', 'hi'],
        ['assistant', 'Hel'],
        ['user', 'again'],
      ]);
    });

    it('leaves neither its messages nor the key in the log, and no secret in an answer', async () => {
      const error = { message: `Incorrect API key provided: sk-abcdefghijklmnopqrstuv canary-of-the-api` };
      platform.upstream.always(openAi.fails(401, error));
      const body = await (await platform.process('canary-of-a-person')).text();
      expect(body).to.contain('Incorrect API key provided: [REDACTED]').and.not.contain('sk-abc');
      expect(platform.host.logs.join('\n')).to.not.match(/canary|sk-/);
    });

    it('is reported when it cannot be reached', async () => {
      const other = await openModelPlatform(engine);
      try {
        await other.upstream.stop();
        const [frame] = await other.send('hi');
        expect(frame?.error?.message).to.equal('LLM call failed after 3 attempts: provider request failed');
        expect(await errorOf(await other.process('hi'))).to.deep.include({
          code: 'provider_request_failed',
          details: { cause: 'ECONNREFUSED', attempts: 3 },
        });
      } finally {
        await other.host.stop();
      }
    });

    it('is not called without a key, and the demo model keeps answering', async () => {
      const other = await openModelPlatform(engine, { OPENAI_API_KEY: '' });
      try {
        expect(await errorOf(await other.process('hi'))).to.include({
          status: 400,
          code: 'provider_not_configured',
          message: 'provider api_key is required',
        });
        expect(other.asked()).to.deep.equal([]);
      } finally {
        await other.stop();
      }
      const demo = await openModelPlatform(engine, { MORTISE_MODEL: '', OPENAI_API_KEY: '' });
      try {
        expect(((await (await demo.process('hi')).json()) as { reply: string }).reply).to.equal('Echo: hi');
      } finally {
        await demo.stop();
      }
    });
  });
});
