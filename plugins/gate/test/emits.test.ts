import { expect } from 'chai';
import { listener } from 'mortise/contracts/conversation/testing';
import type { GateStage, Observation, ObservationInput } from 'mortise/sdk';
import {
  contributing,
  createTestHost,
  localPrincipal,
  type TestHost,
  type TestPlugin,
  until,
} from 'mortise/sdk/testing';

const seen: Observation[] = [];

/** Handles messages instead of the agent, and records alerts. */
const handler = listener(seen, ['message', 'alert', 'world_data'], async () => 'handled');

/** A plugin whose stage does something with every message of a person. */
function staged(key: string, apply: GateStage['apply']): TestPlugin {
  return contributing(
    'gate-stage',
    key,
    { slot: 'feature', order: 1 },
    {
      apply: (work, ctx) => {
        if (work.observation.obs_type === 'message') apply(work, ctx);
      },
    },
  );
}

const unreadable = Object.defineProperty({}, 'obs_type', {
  enumerable: true,
  get: () => {
    throw new Error('canary');
  },
});

const good: ObservationInput = {
  obs_type: 'world_data',
  source_name: 'probe',
  payload: { schema_id: 'probe', data: {} },
};

describe('an observation emitted by a stage', () => {
  let host: TestHost;

  afterEach(async function stop() {
    await host.stop();
  });

  const submit = (text: string) =>
    host.service('conversation').submit(
      {
        source_name: 'test',
        ingress: 'adapter',
        session_key: 'console:u1:s1',
        actor: { actor_type: 'user', actor_id: 'u1' },
        payload: { text },
      },
      { wait: { limit: 16, timeoutMs: 5_000 }, principal: localPrincipal },
    );

  for (const [what, wrong] of [
    ['null', null],
    ['no observation', { source_name: '', payload: { text: 'secret-word' } }],
    ['an object that cannot be read', unreadable],
  ] as const) {
    it(`that is ${what} counts as a fault of the stage's plugin, and affects nothing else`, async () => {
      seen.length = 0;
      const bad = staged('bad-stage', (work) => {
        work.emit(wrong as unknown as ObservationInput);
        work.emit(good);
      });
      const sound = staged('sound-stage', (work) => work.emit({ ...good, source_name: 'sound' }));
      host = await createTestHost({ plugins: ['gate', 'conversation'], extra: [handler, bad, sound] });
      expect(await submit('hi')).to.include({ outcome: 'handled' });
      const again = await submit('again');
      expect(again).to.include({ outcome: 'handled' });
      const alerts = () => seen.filter(({ obs_type }) => obs_type === 'alert').map(({ payload }) => payload);
      await until('the alert', () => alerts().length > 0);

      // Two messages, two good ones for each of them, and the alert.
      expect(host.service('conversation').stats()).to.include({ accepted: 2 + 2 * 2 + 1 });
      const { stages } = (await (await host.fetch('/gate/status')).json()) as {
        readonly stages: readonly { readonly key: string; readonly failures: number; readonly state: string }[];
      };
      const failures = (key: string) => stages.find((one) => one.key === key)?.failures;
      expect([failures('bad-stage'), failures('sound-stage')]).to.deep.equal([2, 0]);
      const errors = async (key: string) => (await host.control.inspect(key)).contributions[0]?.errors;
      expect([await errors('bad-stage'), await errors('sound-stage')]).to.deep.equal([2, 0]);
      expect(await host.app.metrics.render()).to.match(
        /mortise_gate_emit_invalid_total\{stage="bad-stage",plugin="bad-stage"\} 2/,
      );
      // Logged once per stage.
      expect(alerts()).to.have.length(1);
      expect(alerts()[0]).to.deep.include({
        alert_type: 'stage_emit_invalid',
        data: { stage: 'bad-stage', plugin: 'bad-stage' },
      });
      const lines = host.logs.filter((line) =>
        line.includes('an invalid observation of a gate stage was not published'),
      );
      expect(lines).to.have.length(1);
      expect(JSON.parse(lines[0] ?? '{}')).to.include({ stage: 'bad-stage' });
      expect(host.logs.join('\n')).to.not.contain('secret-word').and.not.contain('canary');
      expect(host.service('conversation').session(again.observation?.session_key ?? '')).to.include({
        error_total: 2,
      });
    });
  }

  it('counts towards a limit per stage, not shared with other stages', async () => {
    const many = staged('a-many', (work) => {
      for (let count = 0; count < 16; count += 1) work.emit(good);
    });
    const sound = staged('b-sound', (work) => work.emit({ ...good, source_name: 'sound' }));
    host = await createTestHost({ plugins: ['gate', 'conversation'], extra: [handler, many, sound] });
    expect(await submit('hi')).to.include({ outcome: 'handled' });
    expect(host.service('conversation').stats()).to.include({ published: 1 + 16 + 1 });
  });

  it('appears in the explanation, also when it is invalid', async () => {
    const bad = staged('bad-stage', (work) => work.emit(null as unknown as ObservationInput));
    host = await createTestHost({ plugins: ['gate', 'conversation'], extra: [handler, bad] });
    const answer = await host.post('/gate/explain', { source_name: 'test', payload: { text: 'hi' } });
    const { decision } = (await answer.json()) as { readonly decision: object };
    expect(decision).to.include({ action: 'deliver' });
    expect(await submit('hi')).to.include({ outcome: 'handled' });
  });
});
