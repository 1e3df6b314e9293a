import { expect } from 'chai';
import type { SubmitTurnOptions, TurnAnswer, TurnService } from 'mortise/contracts/agent';
import type { CallContext, RouteResponse } from 'mortise/sdk';
import { contributing, createTestHost, oneDatabase, type TestHost, type TestPlugin } from 'mortise/sdk/testing';

type Json = Readonly<Record<string, unknown>>;

const optionsOf: Readonly<Record<string, SubmitTurnOptions>> = {
  channel: { source: 'channel:console', ingress: 'channel' },
  cron: { source: 'cron:nightly', ingress: 'cron' },
};

/** How such an entry point reports an answer: a channel to its platform, a schedule in its history. */
function reported(answer: TurnAnswer): Json {
  if (answer.kind === 'turn') {
    const { result } = answer;
    if (result.kind === 'replayed') return { accepted: false, reason: 'duplicate' };
    return result.kind === 'completed' ? { accepted: true, reply: result.reply } : {};
  }
  const { code, status, message, details } = answer.error;
  return { accepted: false, reason: code, gate: details, run: `status=${status} code=${code} message=${message}` };
}

/** Entry points of other plugins, such as a channel with inbound events or a schedule. */
const entryPoints: TestPlugin = {
  manifest: {
    key: 'entry-points',
    requires: ['agent'],
    permissions: {
      routes: [{ name: 'entry-points', kind: 'http', method: 'POST', path: '/test/entry-points/:entry', auth: 'key' }],
    },
  },
  definition: {
    key: 'entry-points',
    register: () => undefined,
    start(host) {
      const turns = host.use('turns');
      host.contribute('route', 'entry-points', {
        handle: ({ params, body }, ctx) => through(turns, optionsOf[params.entry ?? ''] ?? never(), body as Json, ctx),
      });
    },
  },
};

function never(): never {
  throw new Error('There is no such entry point.');
}

async function through(
  turns: TurnService,
  entry: SubmitTurnOptions,
  { text, tool, message }: Json,
  ctx: CallContext,
): Promise<RouteResponse> {
  const asked = {
    session: { channel: 'console', userId: 'u1', sessionId: 's1' },
    input: [{ role: 'user', content: String(text) }],
    business: tool === undefined ? {} : { tool },
  } as const;
  // The message id of the chat platform.
  const known = message === undefined ? {} : { idempotency: { key: String(message), bodySha256: String(message) } };
  return { body: reported(await turns.submit(await turns.admit(asked, ctx), { ...entry, ...known }, ctx)) };
}

const echo = contributing(
  'tool',
  'say',
  {
    summary: 'Says it.',
    audience: ['agent'],
    inputSchema: {
      type: 'object',
      required: ['items'],
      properties: { items: { type: 'array', items: { type: 'object' } } },
    },
  },
  { run: async ({ items }) => ({ text: `said ${JSON.stringify(items)}` }) },
  'tool-say',
);

describe('entry points of other plugins', () => {
  oneDatabase((engine) => {
    let host: TestHost;

    afterEach(async function stop() {
      await host.stop();
    });

    async function start(overrides: Json = {}): Promise<void> {
      host = await createTestHost({
        plugins: ['agent', 'gate', 'channel-console', 'provider-demo'],
        database: engine.env,
        config: { gate: { version: 1, overrides } },
        extra: [entryPoints, echo],
      });
    }

    const say = async (entry: string, body: Json) =>
      (await (await host.post(`/test/entry-points/${entry}`, body)).json()) as Json;

    it('get the answer of a turn', async () => {
      await start();
      expect(await say('channel', { text: 'hi' })).to.deep.equal({ accepted: true, reply: 'Echo: hi' });
      expect(await say('cron', { text: 'report' })).to.deep.include({ accepted: true });
    });

    it('report refusals of the gate, each in its own form', async () => {
      await start({ drop_sessions: ['console:u1:s1'] });
      const reason = 'override=drop_session';
      const refused = await say('channel', { text: 'hi' });
      expect(refused).to.deep.include({ accepted: false, reason: 'gate_dropped' });
      expect(refused.gate).to.include({ action: 'drop', reason, scene: 'dialogue' });
      expect(refused.gate).to.have.all.keys('action', 'reason', 'reasons', 'scene', 'obs_id', 'trace_id');
      expect((await say('cron', { text: 'hi' })).run).to.equal(
        `status=403 code=gate_dropped message=The message was refused by the gate: ${reason}`,
      );
    });

    it('report sunk messages', async () => {
      await start({ emergency_mode: true });
      const reason = 'override=emergency';
      const sunk = await say('channel', { text: 'hi' });
      expect(sunk).to.deep.include({ accepted: false, reason: 'gate_sunk' });
      expect(sunk.gate).to.include({ action: 'sink', reason });
      expect((await say('cron', { text: 'hi' })).run).to.equal(
        `status=202 code=gate_sunk message=The message was put aside by the gate: ${reason}`,
      );
    });

    it('deliver every repeated text of a schedule, and those of a channel once', async () => {
      await start();
      for (const _ of [1, 2]) expect(await say('cron', { text: 'the same' })).to.include({ accepted: true });
      expect(await say('channel', { text: 'other' })).to.include({ accepted: true });
      expect((await say('channel', { text: 'other' })).gate).to.include({ reason: 'dedup_hit' });
    });

    it('run a message once that its platform delivers twice, also concurrently', async () => {
      await start();
      expect(await say('channel', { text: 'hi', message: 'm-1' })).to.deep.equal({ accepted: true, reply: 'Echo: hi' });
      expect(await say('channel', { text: 'hi', message: 'm-1' })).to.deep.equal({
        accepted: false,
        reason: 'duplicate',
      });
      const both = await Promise.all([1, 2].map(() => say('cron', { text: 'ho', message: 'm-2' })));
      const refused = both.filter(({ accepted }) => accepted !== true);
      expect(refused).to.have.length(1);
      // After the first has completed, or while it still runs.
      expect(refused[0]?.reason).to.be.oneOf(['duplicate', 'turn_in_progress']);
      const session = { channel: 'console', userId: 'u1', sessionId: 's1' };
      const { messages } = await host.service('sessions').display({ session });
      expect(messages.map(({ content }) => content)).to.deep.equal(['hi', 'Echo: hi', 'ho', 'Echo: hi ho']);
    });

    it('call a tool without a text, which the gate does not drop as blank', async () => {
      await start();
      const tool = { name: 'say', input: { items: [{ a: 1 }] } };
      expect(await say('channel', { text: '', tool })).to.deep.include({ accepted: true });
      expect((await say('channel', { text: '' })).gate).to.include({ reason: 'empty_content' });
      const direct = await host.post('/agent/process', {
        session_id: 's2',
        user_id: 'u1',
        channel: 'console',
        input: [],
        biz_params: { tool },
      });
      expect([direct.status, direct.headers.get('x-gate-action')]).to.deep.equal([200, 'deliver']);
      expect(((await direct.json()) as { reply: string }).reply).to.contain('said [{"a":1}]');
    });
  });
});
