import { expect } from 'chai';
import type { GateAction, GateOutcome, GateService } from 'mortise/contracts/gate';
import type { Observation, ObservationInput } from 'mortise/sdk';
import { until } from 'mortise/sdk/testing';
import { message, patient, type TestOptions, testConversation } from './fixture.js';

/** A gate that says what the test wants said. */
function gateOf(action: GateAction, more: Partial<GateOutcome> = {}, ingest: GateService['ingest'] = () => undefined) {
  const gate: GateService = {
    handle: (observation, { sessionKey }) => ({
      decision: {
        action,
        reason: 'test',
        reasons: ['test'],
        scene: 'dialogue',
        session_key: sessionKey,
        trace_id: observation.trace_id,
      },
      emit: [],
      ingest: [],
      ...more,
    }),
    ingest,
  };
  return () => gate;
}

const broken = (): never => {
  throw new TypeError('canary');
};

const fromAgent = (text: string): ObservationInput => ({ ...message(text), source_name: 'agent:speaker' });

describe('the worker of a session', () => {
  const one = [{ pool: 'sink', observation: {} as Observation, decision: {} as never }] as const;
  const steps: Readonly<Record<string, TestOptions & { readonly decided?: () => void }>> = {
    egress: { enqueue: broken },
    ingest: { gate: gateOf('deliver', { ingest: one }, broken) },
    emit: { gate: gateOf('deliver', { emit: [null as unknown as ObservationInput] }) },
    decided: { decided: broken },
  };
  for (const [step, { decided, ...options }] of Object.entries(steps)) {
    it(`handles its message though "${step}" fails, records the fault and continues`, async () => {
      const handled: unknown[] = [];
      const { conversation, alerts } = testConversation({
        ...options,
        handle: async ({ payload }) => handled.push(payload.text),
      });
      const settled = await conversation.intake.submit(message('hi'), { wait: patient, decided });
      expect(settled.outcome).to.equal('handled');
      const state = conversation.live.state('console:u1:s1');
      expect(state).to.include({ processed_total: 1, error_total: 1 });
      expect(state?.recent_obs[0]?.error).to.equal(`${step}: TypeError`);
      await conversation.intake.submit(message('next'), { wait: patient });
      expect(handled).to.deep.equal(['hi', 'next']);
      expect(alerts.every(({ code }) => code === 'worker_error')).to.equal(true);
    });
  }

  it('puts a sunk observation into its pool though an emit fails', async () => {
    const pooled: unknown[] = [];
    const emit = [null as unknown as ObservationInput];
    const gate = gateOf('sink', { emit, ingest: one }, (items) => pooled.push(...items));
    const { conversation } = testConversation({ gate });
    expect(await conversation.intake.submit(message('hi'), { wait: patient })).to.include({ outcome: 'refused' });
    expect(pooled).to.have.length(1);
  });

  it("sends an agent's message before the gate decides: drop lists stop work, not output", async () => {
    const sent: unknown[] = [];
    const { conversation } = testConversation({
      gate: gateOf('drop'),
      enqueue: ({ payload }) => sent.push(payload.text),
    });
    conversation.intake.publish(fromAgent('a reply'));
    await until('the reply', () => sent.length === 1);
    expect(sent).to.deep.equal(['a reply']);
    expect(conversation.live.state('console:u1:s1')?.recent_obs[0]).to.include({ action: 'drop', reason: 'test' });
  });

  it('remembers its newest twenty observations, oldest first, and how long it has been idle', async () => {
    let now = 1_000_000;
    const { conversation } = testConversation({ now: () => now });
    expect(conversation.live.state('system')?.idleSeconds()).to.equal(null);
    for (let index = 0; index < 25; index += 1) {
      now += 1;
      await conversation.intake.submit(message(`m${index}`), { wait: patient });
    }
    now += 1_500;
    const state = conversation.live.state('console:u1:s1');
    expect(state?.recent_obs.map(({ at }) => at - 1_000_000)).to.deep.equal(
      Array.from({ length: 20 }, (_, index) => index + 6),
    );
    expect(state?.recent_obs[0]).to.have.all.keys('obs_id', 'obs_type', 'at', 'action', 'reason');
    expect(state).to.include({ processed_total: 25, last_active_at: 1_000_025 });
    expect(state?.idleSeconds()).to.equal(1.5);
  });

  it('refuses in this order: closed, cooling down, invalid, full', async () => {
    const { conversation, cooldowns } = testConversation({ limits: { busCapacity: 1 }, held: true });
    const invalid = { ...message('x'), confidence: 7 };
    expect(conversation.intake.publish(message('one'))).to.include({ ok: true });
    expect(conversation.intake.publish(invalid)).to.include({ reason: 'invalid' });
    expect(conversation.intake.publish(message('two'))).to.include({ reason: 'queue_full' });
    cooldowns.start({ adapter: 'test:face', until: Number.POSITIVE_INFINITY, reason: 'test' });
    expect(conversation.intake.publish(invalid)).to.include({ reason: 'adapter_cooldown' });
    // What the platform says of the adapter is not refused because of it.
    const pain = { obs_type: 'alert', source_name: 'test:face', source_kind: 'internal' } as const;
    expect(conversation.intake.publish({ ...pain, payload: { alert_type: 'pain' } })).to.include({ ok: true });
    void conversation.close(0);
    expect(conversation.intake.publish(invalid)).to.include({ reason: 'closed' });
    expect(conversation.stats().dropped).to.deep.equal({ invalid: 1, queue_full: 1, adapter_cooldown: 1, closed: 1 });
  });
});
