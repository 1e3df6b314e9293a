import { expect } from 'chai';
import { fakeModel, says, slowly } from 'mortise/contracts/agent/testing';
import { type Frame, kinds, type SocketClient } from 'mortise/contracts/realtime/testing';
import { MortiseError } from 'mortise/sdk';
import { eachDatabase, type TestPlugin, until } from 'mortise/sdk/testing';
import { openPlatform, type Platform } from './platform.js';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A method of a plugin, as third parties would write it. */
const clock: TestPlugin = {
  manifest: {
    key: 'clock',
    contributes: {
      'socket-method': [
        { key: 'clock.add', facts: { paramsSchema: { type: 'object', properties: { n: { type: 'integer' } } } } },
        { key: 'chat.clock', facts: { paramsSchema: { type: 'object' } } },
      ],
    },
  },
  definition: {
    key: 'clock',
    register(host) {
      const facts = { paramsSchema: { type: 'object', properties: { n: { type: 'integer' } } } };
      host.contribute('socket-method', 'clock.add', {
        ...facts,
        async handle({ n }, { principal }) {
          if (n === 0) throw new MortiseError('CLOCK_EMPTY', 'nothing to add');
          if (n === 13) throw new Error('secret words');
          return { sum: Number(n) + 1, who: principal.id };
        },
      });
      host.contribute('socket-method', 'chat.clock', {
        paramsSchema: { type: 'object' },
        handle: async () => ({ never: true }),
      });
    },
  },
};

describe('requests of the socket', () => {
  eachDatabase(
    (engine) => {
      let platform: Platform;
      let client: SocketClient;

      before(async () => {
        const model = fakeModel((_, __, signal) => slowly(20, Array(200).fill('x'), signal));
        platform = await openPlatform(engine, { model, extra: [clock], env: { MORTISE_WS_MAX_IN_FLIGHT: '3' } });
        client = await platform.connect();
      });

      after(async function stop() {
        await platform?.stop();
      });

      /** The frame that comes back for a raw one. */
      async function reply(raw: string | Buffer): Promise<Frame> {
        const before = client.frames.length;
        client.raw(raw);
        await until('an answer', () => client.frames.length > before);
        const frame = client.frames[before];
        if (!frame) throw new Error('no frame');
        return frame;
      }

      it('are refused with PARSE_ERROR when they are malformed, with their id if they have one', async () => {
        const refused: [string | Buffer, string, string][] = [
          ['not valid json {{{', 'unknown', 'Invalid JSON'],
          ['[]', 'unknown', 'Invalid RPC request: frame must be an object'],
          ['42', 'unknown', 'Invalid RPC request: frame must be an object'],
          ['{}', 'unknown', 'Invalid RPC request: method'],
          [Buffer.from('{}'), 'unknown', 'Invalid RPC request: frame must be text'],
          ['{"id":7,"method":"x"}', 'unknown', 'Invalid RPC request: id'],
          ['{"id":"a","type":"foo","method":"x"}', 'a', 'Invalid RPC request: type'],
          ['{"id":"a","method":"x","params":null}', 'a', 'Invalid RPC request: params'],
          ['{"id":"a","method":"  "}', 'a', 'Invalid RPC request: method'],
          [`{"id":"${'a'.repeat(129)}","method":"x"}`, 'a'.repeat(129), 'Invalid RPC request: id'],
        ];
        for (const [raw, id, message] of refused) {
          const frame = await reply(raw);
          expect([frame.type, frame.id, frame.error?.code, frame.error?.message]).to.deep.equal([
            'error',
            id,
            'PARSE_ERROR',
            message,
          ]);
          expect(frame.error?.correlation_id).to.match(/^corr-[0-9a-f]{16}$/);
        }
        const plain = await reply('{"id":"b","method":"chat.history","version":7,"params":{"unknown":true}}');
        expect([plain.type, plain.id, plain.data]).to.deep.equal(['response', 'b', { messages: [] }]);
      });

      it('are refused with METHOD_NOT_FOUND when the method is unknown', async () => {
        const [frame] = await client.ask('chat.nonexistent', {}, 'm-1');
        expect([frame?.id, frame?.error?.code]).to.deep.equal(['m-1', 'METHOD_NOT_FOUND']);
        expect((await client.ask('constructor'))[0]?.error?.code).to.equal('METHOD_NOT_FOUND');
        const anonymous = await reply('{"method":"x"}');
        expect(anonymous.id).to.match(uuid);
        expect(anonymous.error?.message).to.equal('Unknown method: x');
      });

      it('are refused with INVALID_PARAMS and the name of a wrong parameter', async () => {
        const refused: [string, object, string][] = [
          ['chat.send', {}, 'content is required'],
          ['chat.send', { content: 5 }, 'content must be a string'],
          ['chat.send', { content: 'x'.repeat(200_001) }, 'content must have at most 200000 characters'],
          ['chat.send', { content: 'a\u0000b' }, 'content must not have NUL characters'],
          ['chat.send', { content: 'a\ud800b' }, 'content must not have lone surrogates'],
          ['chat.send', { content: 'x', session_id: '\ud800x' }, 'session_id must not have lone surrogates'],
          ['chat.history', { session_id: '\ud801x' }, 'session_id must not have lone surrogates'],
          ['session.list', { user_id: 'u\udfff' }, 'user_id must not have lone surrogates'],
          ['session.watch', { session_id: '\ud801x' }, 'session_id must not have lone surrogates'],
          [
            'chat.send',
            { content: 'x', idempotency_key: 'ü' },
            'idempotency_key must have 1 to 128 visible ASCII characters',
          ],
          ['chat.send', { content: 'x', events: ['nothing'] }, 'events must be a list of: tool_result, usage'],
          ['chat.send', { content: 'x', biz_params: [] }, 'biz_params must be an object'],
          ['chat.send', { content: 'x', biz_params: { max_steps: 0 } }, 'max_steps must be an integer >= 1'],
          [
            'chat.send',
            { content: 'x', attachments: [{ type: 'text' }] },
            'attachments must be objects with a type other than text',
          ],
          ['chat.history', { session_id: 7 }, 'session_id must be a string'],
          ['chat.history', { session_id: 'x'.repeat(257) }, 'session_id must have 1 to 256 characters'],
          ['chat.history', { user_id: 'a\nb' }, 'user_id must not have control characters'],
          [
            'chat.history',
            { channel: 'No Channel' },
            'channel must be a name of lower-case letters, digits, "-" and "_"',
          ],
          ['chat.history', { limit: 0 }, 'limit must be an integer from 1 to 1000'],
          ['chat.cancel', {}, 'request_id or session_id is required'],
          ['session.list', { cursor: 'nonsense' }, 'cursor is not valid'],
          ['clock.add', { n: 'one' }, '/n must be a whole number'],
        ];
        for (const [method, params, rule] of refused) {
          const [frame] = await client.ask(method, params);
          expect([frame?.error?.code, frame?.error?.message]).to.deep.equal([
            'INVALID_PARAMS',
            `Invalid params: ${rule}`,
          ]);
        }
        expect((await platform.rows()).length).to.equal(0);
      });

      it('fail with the code of HTTP in upper case where the socket has none of its own', async () => {
        const [frame] = await client.ask('chat.send', { content: 'x', channel: 'nowhere' });
        expect(frame?.error?.code).to.equal('CHANNEL_NOT_SUPPORTED');
        const [attached] = await client.ask('chat.send', { content: 'x', attachments: [{ type: 'image', url: 'a' }] });
        expect(attached?.error?.code).to.equal('PROVIDER_NOT_SUPPORTED');
      });

      it('call methods of plugins, with their own codes and without their secrets', async () => {
        expect(await client.answer('clock.add', { n: 1 })).to.deep.equal({ sum: 2, who: 'local' });
        const [coded] = await client.ask('clock.add', { n: 0 });
        expect([coded?.error?.code, coded?.error?.message]).to.deep.equal(['CLOCK_EMPTY', 'nothing to add']);
        const [fault] = await client.ask('clock.add', { n: 13 });
        expect([fault?.error?.code, fault?.error?.message]).to.deep.equal([
          'INTERNAL_ERROR',
          'An internal error occurred',
        ]);
        expect(kinds(await client.ask('chat.clock'))).to.deep.equal(['METHOD_NOT_FOUND']);
      });

      it('are limited in number per socket, but can always be cancelled', async () => {
        const ids = ['a', 'b', 'c'].map((name) => client.request('chat.send', { content: 'x', session_id: name }));
        expect(kinds(await client.ask('chat.history'))).to.deep.equal(['RATE_LIMITED']);
        const again = client.request('chat.history', {}, ids[0]);
        await until('the refusal', () => client.of(again).some(({ type }) => type === 'error'));
        expect(client.of(again).find(({ type }) => type === 'error')?.error?.message).to.equal(
          'Invalid params: id belongs to a request in progress',
        );
        for (const id of ids) expect((await client.answer('chat.cancel', { request_id: id })).cancelled).to.equal(true);
        expect((await client.answer('chat.history', { session_id: 'a' })).messages[0]?.content).to.equal('x');
      });

      it('close the socket when a frame is larger than 4 MiB', async () => {
        const other = await platform.connect();
        other.raw('x'.repeat(4 * 1024 * 1024 + 1));
        await until('the end', () => other.closed !== undefined);
        expect(other.closed?.code).to.equal(1009);
      });
    },
    { keepRows: true },
  );

  describe('of a list of sessions', () => {
    eachDatabase((engine) => {
      let platform: Platform;

      afterEach(async function stop() {
        await platform?.stop();
      });

      it('return pages, last used first, with the state of each session', async () => {
        const model = fakeModel(({ messages }, _, signal) =>
          messages.at(-1)?.content === 'wait' ? slowly(30_000, ['x'], signal) : says('ok'),
        );
        platform = await openPlatform(engine, { model });
        const client = await platform.connect();
        for (const name of ['one', 'two', 'three']) {
          await client.ask('chat.send', { content: `about ${name}`, session_id: name });
        }
        await client.ask('chat.send', { content: 'x', session_id: 'of another', user_id: 'somebody' });
        const running = client.request('chat.send', { content: 'wait', session_id: 'one' });
        await until('the turn', () => model.requests.length === 5);
        const first = await client.answer('session.list', { limit: 2 });
        const second = await client.answer('session.list', { limit: 2, cursor: first.next_cursor });
        const all = [...first.sessions, ...second.sessions];
        expect(all.map((s) => [s.session_id, s.title, s.message_count, s.busy])).to.deep.equal([
          ['one', 'about one', 3, true],
          ['three', 'about three', 2, false],
          ['two', 'about two', 2, false],
        ]);
        expect(Object.keys(all[0] ?? {})).to.deep.equal([
          'session_id',
          'title',
          'created_at',
          'updated_at',
          'message_count',
          'busy',
        ]);
        expect(second.next_cursor).to.equal(null);
        await client.answer('chat.cancel', { request_id: running });
      });
    });
  });
});
