import { expect } from 'chai';
import {
  contributing,
  createTestHost,
  eachDatabase,
  rounds,
  type TestHost,
  type TestHostOptions,
  type TestPlugin,
  temporaryFolder,
  until,
} from 'mortise/sdk/testing';

type Json = Readonly<Record<string, unknown>>;

/** Time limit of a test with many sessions, milliseconds. */
const timeoutMs = 60_000;

const capabilities = { stream: true, toolCall: false, attachments: false, reasoning: false };

/** A model that holds answers to some texts until the test releases them, and records its requests in order. */
class HeldModel {
  readonly asked: string[] = [];
  readonly answered: string[] = [];
  readonly #held = new Map<string, Promise<void>>();

  hold(text: string): () => void {
    let release: () => void = () => undefined;
    this.#held.set(text, new Promise((resolve) => (release = resolve)));
    return release;
  }

  get plugin(): TestPlugin {
    const model = this;
    return contributing(
      'provider',
      'held',
      { capabilities },
      {
        async *generate({ messages }) {
          const text = String(messages.findLast(({ role }) => role === 'user')?.content);
          model.asked.push(text);
          await model.#held.get(text);
          model.answered.push(text);
          yield { type: 'content_delta', text: `heard ${text}` };
          yield { type: 'done' };
        },
      },
      'held-model',
    );
  }
}

/** An egress adapter that records what it sends. */
const terminal = (sent: string[]): TestPlugin =>
  contributing(
    'egress',
    'terminal',
    { default: true },
    {
      send: async ({ payload }) => void sent.push(String(payload.text)),
    },
  );

describe('many concurrent sessions', function () {
  this.timeout(120_000);

  eachDatabase((engine) => {
    let host: TestHost | undefined;
    let model: HeldModel;
    let sent: string[];

    afterEach(async function stop() {
      await host?.stop();
      host = undefined;
    });

    async function start(options: TestHostOptions = {}): Promise<TestHost> {
      model = new HeldModel();
      sent = [];
      host = await createTestHost({
        plugins: ['agent', 'gate', 'channel-console'],
        database: engine.env,
        config: { agent: { model: 'held/held-1' } },
        ...options,
        extra: [model.plugin, terminal(sent)],
      });
      return host;
    }

    const messageFor = (session: number, text: string) => ({
      source_name: 'load',
      session_key: `console:u${session}:s`,
      actor: { actor_type: 'user', actor_id: `u${session}` },
      payload: { text },
    });
    const observe = async (to: TestHost, observations: readonly object[]) => {
      const response = await to.post('/observations', { observations });
      return (await response.json()) as { readonly accepted: number; readonly results: readonly Json[] };
    };
    const ask = (to: TestHost, text: string) =>
      to.post('/agent/process', {
        session_id: 's1',
        user_id: 'u1',
        channel: 'console',
        input: [{ role: 'user', type: 'message', content: [{ type: 'text', text }] }],
      });

    it('have their messages answered in order, and a slow one delays no other', async () => {
      const to = await start();
      const sessions = rounds(200, 1_000);
      const release = model.hold('s0 m0');
      for (const round of [0, 1]) {
        for (let from = 0; from < sessions; from += 100) {
          const batch = Array.from({ length: 100 }, (_, index) =>
            messageFor(from + index, `s${from + index} m${round}`),
          );
          expect(await observe(to, batch)).to.include({ accepted: 100 });
        }
      }
      await until('all but the slow one', () => model.answered.length === 2 * (sessions - 1), timeoutMs);
      expect(model.asked).to.include('s0 m0').and.to.not.include('s0 m1');
      release();
      await until('the slow one', () => model.answered.length === 2 * sessions, timeoutMs);
      const at = new Map(model.asked.map((text, index) => [text, index]));
      expect(at.size).to.equal(2 * sessions);
      for (let session = 0; session < sessions; session += 1) {
        const [first, second] = [at.get(`s${session} m0`), at.get(`s${session} m1`)];
        expect(Number(first)).to.be.lessThan(Number(second));
      }
    });

    it('get an immediate refusal from a full inbox, and answers to all accepted messages', async () => {
      const to = await start({ env: { MORTISE_SESSION_INBOX_CAPACITY: '1' } });
      const release = model.hold('one');
      const first = ask(to, 'one');
      await until('the first', () => model.asked.length === 1, timeoutMs);
      const second = ask(to, 'two');
      await until('the second', () => to.service('conversation').stats().queued === 1, timeoutMs);
      const third = await ask(to, 'three');
      expect([third.status, third.headers.get('retry-after')]).to.deep.equal([429, '1']);
      expect(((await third.json()) as { error: Json }).error).to.include({ code: 'session_busy' });
      const event = await to.post('/observations', messageFor(1, 'four'));
      expect(event.status).to.equal(202);
      const refused = await to.post('/observations', { ...messageFor(1, 'five'), session_key: 'console:u1:s1' });
      expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '1']);
      release();
      expect([(await first).status, (await second).status]).to.deep.equal([200, 200]);
      await until('the event', () => model.answered.length === 3, timeoutMs);
      expect(model.answered).to.have.members(['one', 'two', 'four']);
    });

    it('lose no accepted message when the process stops', async () => {
      const dataDir = temporaryFolder('drain');
      const to = await start({ dataDir });
      const release = model.hold('s0 m0');
      const all = Array.from({ length: 60 }, (_, index) =>
        messageFor(index % 10, `s${index % 10} m${Math.floor(index / 10)}`),
      );
      const answered = ask(to, 'with a caller');
      expect(await observe(to, all)).to.include({ accepted: 60 });
      const stopped = to.stop(60_000);
      release();
      await stopped;
      expect((await answered).status).to.equal(200);
      expect(model.answered).to.have.length(61);
      expect(sent).to.have.members(all.map(({ payload }) => `heard ${payload.text}`));
      const after = await start({ dataDir });
      const turns = await after.app.database
        .forPlugin('test', ['realtime'])
        .statement<{ n: number }>(`select count(*) as n from {realtime.turns} where status = 'completed'`);
      expect(turns.rows[0]?.n).to.equal(61);
      await after.stop();
    });

    it('have accepted messages logged that miss the stop limit', async () => {
      const to = await start();
      const release = model.hold('m0');
      const { results } = await observe(
        to,
        [0, 1, 2].map((n) => messageFor(1, `m${n}`)),
      );
      await until('the turn', () => model.asked.length === 1, timeoutMs);
      const stopped = to.stop(1_000);
      await until('the line', () => to.logs.some((one) => one.includes('not handled before the stop')), timeoutMs);
      release();
      await stopped;
      host = undefined;
      const [first, ...others] = results.map(({ obs_id }) => obs_id);
      const lines = to.logs.filter((one) => one.includes('not handled before the stop'));
      expect(lines).to.have.length(1);
      expect(JSON.parse(lines[0] ?? '{}')).to.deep.include({
        level: 'warn',
        obs_ids: others,
        interrupted_obs_ids: [first],
      });
    });
  });
});
