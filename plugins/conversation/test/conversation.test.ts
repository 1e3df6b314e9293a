import { AsyncResource } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { GateOutcome, GateService } from 'mortise/contracts/gate';
import type { Observation } from 'mortise/sdk';
import { until } from 'mortise/sdk/testing';
import { message, patient, testConversation } from './fixture.js';

const textOf = (observation: Observation): string => String(observation.payload.text);

describe('conversation', () => {
  it('handles the observations of a session in order, each to its end', async () => {
    const seen: string[] = [];
    const { conversation } = testConversation({
      handle: async (observation) => {
        seen.push(`begin ${textOf(observation)}`);
        await sleep(5);
        seen.push(`end ${textOf(observation)}`);
      },
    });
    await Promise.all(['a', 'b', 'c'].map((text) => conversation.intake.submit(message(text), { wait: patient })));
    expect(seen).to.deep.equal(['begin a', 'end a', 'begin b', 'end b', 'begin c', 'end c']);
  });

  it('does not let a slow session delay another', async () => {
    let finish: () => void = () => undefined;
    const { conversation } = testConversation({
      handle: async (observation) => {
        if (textOf(observation) === 'slow') await new Promise<void>((resolve) => (finish = resolve));
        return textOf(observation);
      },
    });
    const slow = conversation.intake.submit(message('slow', 's1'), { wait: patient });
    expect(await conversation.intake.submit(message('quick', 's2'), { wait: patient })).to.include({ value: 'quick' });
    finish();
    expect(await slow).to.include({ outcome: 'handled' });
  });

  it('continues with the next observation when one fails, and raises an alert', async () => {
    const { conversation, alerts } = testConversation({
      handle: async (observation) => {
        if (textOf(observation) === 'm0') throw new Error('secret words');
        return textOf(observation);
      },
    });
    const settled = await Promise.all(
      ['m0', 'm1', 'm2'].map((text) => conversation.intake.submit(message(text), { wait: patient })),
    );
    expect(settled.map(({ outcome }) => outcome)).to.deep.equal(['error', 'handled', 'handled']);
    const state = conversation.live.state('console:u1:s1');
    expect(state).to.include({ processed_total: 3, error_total: 1 });
    expect(state?.recent_obs[0]).to.include({ action: 'deliver', reason: 'gate_off', error: 'handler: Error' });
    expect(alerts).to.deep.equal([{ code: 'worker_error', session: 'console:u1:s1' }]);
    expect(JSON.stringify(state)).to.not.contain('secret words');
  });

  it('refuses the newest observation when the bus is full, and reserves places for the platform', async () => {
    const { conversation, dispatch } = testConversation({ limits: { busCapacity: 1 }, held: true });
    expect(conversation.intake.publish(message('one'))).to.include({ ok: true });
    expect(conversation.intake.publish(message('two'))).to.deep.equal({
      ok: false,
      dropped: true,
      reason: 'queue_full',
    });
    const alert = { obs_type: 'alert', source_name: 'plugin:x', payload: { alert_type: 'pain' } } as const;
    expect(conversation.intake.publish(alert)).to.include({ ok: true });
    expect(conversation.stats()).to.deep.include({ published: 3, accepted: 2, depth: 2, dropped: { queue_full: 1 } });
    dispatch();
    const { accepted, consumed, depth } = conversation.stats();
    expect(accepted).to.equal(consumed + depth);
  });

  it('lets a caller wait for room, and reports backpressure when there was none', async () => {
    const { conversation, dispatch } = testConversation({ limits: { busCapacity: 1 }, held: true });
    conversation.intake.publish(message('one'));
    const waiting = conversation.intake.publishOrWait(message('two'));
    dispatch();
    expect(await waiting).to.include({ ok: true });
    const startedAt = performance.now();
    expect(await conversation.intake.submit(message('three'), { wait: patient })).to.include({
      outcome: 'backpressure',
    });
    expect(performance.now() - startedAt).to.be.at.least(950);
  });

  it('refuses a turn beyond the queue of its session, but not of another', async () => {
    let finish: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { conversation } = testConversation({ handle: () => held });
    const wait = { limit: 2, timeoutMs: 5_000 };
    const first = [1, 2, 3].map((n) => conversation.intake.submit(message(`${n}`), { wait }));
    await until('the queue', () => conversation.live.busy('console:u1:s1'));
    expect(await conversation.intake.submit(message('4'), { wait })).to.include({ outcome: 'queue_full' });
    const other = conversation.intake.submit(message('5', 's2'), { wait });
    finish();
    const outcomes = (await Promise.all([...first, other])).map(({ outcome }) => outcome);
    expect(outcomes).to.deep.equal(Array(4).fill('handled'));
  });

  it('enforces the queue limit also for a synchronous burst', async () => {
    const { conversation } = testConversation({ handle: () => sleep(20) });
    const wait = { limit: 2, timeoutMs: 5_000 };
    const settled = await Promise.all(
      Array.from({ length: 6 }, (_, n) => conversation.intake.submit(message(`${n}`), { wait })),
    );
    expect(settled.filter(({ outcome }) => outcome === 'handled')).to.have.length(3);
    expect(settled.filter(({ outcome }) => outcome === 'queue_full')).to.have.length(3);
  });

  it('refuses what does not fit into the inbox of a session, with an alert', async () => {
    const { conversation, alerts } = testConversation({ limits: { inboxCapacity: 1 }, handle: () => sleep(20) });
    const settled = await Promise.all(
      Array.from({ length: 4 }, (_, n) => conversation.intake.submit(message(`${n}`), { wait: patient })),
    );
    expect(settled.filter(({ outcome }) => outcome === 'queue_full')).to.have.length(2);
    expect(conversation.stats().inbox_dropped).to.equal(2);
    expect(alerts[0]).to.deep.equal({ code: 'inbox_overflow', session: 'console:u1:s1' });
  });

  it('refuses a producer at once when an inbox is full, and handles everything it has accepted', async () => {
    let finish: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const handled: string[] = [];
    const { conversation, alerts } = testConversation({
      limits: { inboxCapacity: 2 },
      handle: async (observation) => {
        await held;
        handled.push(textOf(observation));
      },
    });
    const answers = ['a', 'b', 'c', 'd', 'e'].map((text) => conversation.intake.publish(message(text)).ok);
    expect(answers).to.deep.equal([true, true, true, false, false]);
    expect(conversation.intake.publish(message('f', 's2'))).to.include({ ok: true });
    expect(alerts.map(({ code }) => code)).to.deep.equal(['inbox_overflow', 'inbox_overflow']);
    // Agents' messages have reserved places.
    const reply = { ...message('reply'), source_name: 'agent:speaker' };
    expect(conversation.intake.publish(reply)).to.include({ ok: true });
    finish();
    await until('all', () => handled.length === 4 && conversation.stats().running === 0);
    expect(handled.filter((text) => text !== 'f')).to.deep.equal(['a', 'b', 'c']);
    expect(conversation.stats()).to.include({ inbox_dropped: 2, queued: 0 });
    expect(conversation.live.state('console:u1:s1')?.processed_total).to.equal(4);
  });

  it('answers at once when the caller does not wait for a busy session', async () => {
    const { conversation } = testConversation({ handle: () => sleep(50) });
    const wait = { limit: 0, timeoutMs: 0 };
    const first = conversation.intake.submit(message('one'), { wait });
    await until('the turn', () => conversation.live.busy('console:u1:s1'));
    expect(await conversation.intake.submit(message('two'), { wait })).to.include({ outcome: 'busy' });
    expect(await first).to.include({ outcome: 'handled' });
    expect(await conversation.intake.submit(message('three'), { wait })).to.include({ outcome: 'handled' });
  });

  it('removes a request that waited too long without handling it', async () => {
    const handled: string[] = [];
    const { conversation } = testConversation({
      handle: async (observation) => {
        handled.push(textOf(observation));
        await sleep(120);
      },
    });
    const first = conversation.intake.submit(message('one'), { wait: patient });
    const second = conversation.intake.submit(message('two'), { wait: { limit: 16, timeoutMs: 30 } });
    expect(await second).to.include({ outcome: 'queue_timeout' });
    await first;
    await conversation.intake.submit(message('three'), { wait: patient });
    expect(handled).to.deep.equal(['one', 'three']);
  });

  it('counts only the wait, not the handling', async () => {
    const { conversation } = testConversation({ handle: () => sleep(1_500, 'slow but sure') });
    const settled = await conversation.intake.submit(message('one'), { wait: { limit: 16, timeoutMs: 1_000 } });
    expect(settled).to.include({ outcome: 'handled', value: 'slow but sure' });
  });

  it('removes the request of a caller that leaves while queued, and aborts the handler when it leaves later', async () => {
    const handled: string[] = [];
    let reason: unknown;
    const { conversation } = testConversation({
      handle: async (observation, { signal }) => {
        handled.push(textOf(observation));
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            setTimeout(resolve, 20);
          });
        });
        handled.push('let go');
        return 'partial';
      },
    });
    const [running, queued] = [new AbortController(), new AbortController()];
    const first = conversation.intake.submit(message('one'), { wait: patient, signal: running.signal });
    const second = conversation.intake.submit(message('two'), { wait: patient, signal: queued.signal });
    await until('the first', () => handled.length === 1);
    queued.abort();
    expect(await second).to.include({ outcome: 'cancelled' });
    running.abort();
    // The worker waits for the real end of the handler: what it stores belongs to this turn.
    expect(await first).to.include({ outcome: 'handled', value: 'partial' });
    expect(handled).to.deep.equal(['one', 'let go']);
    expect(reason).to.include({ code: 'call_aborted' });
  });

  it('refuses a submit to its own session from inside a turn', async () => {
    const outcomes: string[] = [];
    const { conversation } = testConversation({
      handle: async (observation) => {
        const next: Record<string, [text: string, session: string] | undefined> = {
          self: ['x', 's1'],
          down: ['up', 's2'],
          up: ['x', 's1'],
        };
        const target = next[textOf(observation)];
        if (!target) return;
        const settled = await conversation.intake.submit(message(...target), { wait: patient });
        outcomes.push(`${textOf(observation)}: ${settled.outcome}`);
      },
    });
    await conversation.intake.submit(message('self'), { wait: patient });
    await conversation.intake.submit(message('down'), { wait: patient });
    expect(outcomes).to.deep.equal(['self: busy', 'up: busy', 'down: handled']);
  });

  it('detects a cycle of sessions that wait for each other', async () => {
    const outcomes: string[] = [];
    const { conversation } = testConversation({
      handle: async (observation) => {
        const target = textOf(observation);
        if (target === 'leaf') return;
        await sleep(20);
        outcomes.push((await conversation.intake.submit(message('leaf', target), { wait: patient })).outcome);
      },
    });
    await Promise.all([
      conversation.intake.submit(message('s2', 's1'), { wait: patient }),
      conversation.intake.submit(message('s1', 's2'), { wait: patient }),
    ]);
    expect(outcomes.toSorted()).to.deep.equal(['busy', 'handled']);
  });

  it('limits turns over all sessions, but not nested turns', async () => {
    let running = 0;
    let most = 0;
    const { conversation } = testConversation({
      limits: { concurrentTurns: 1 },
      handle: async (observation) => {
        if (textOf(observation) === 'inner') return;
        running += 1;
        most = Math.max(most, running);
        await conversation.intake.submit(message('inner', `${textOf(observation)}-inner`), { wait: patient });
        await sleep(5);
        running -= 1;
      },
    });
    const settled = await Promise.all(
      ['a', 'b', 'c'].map((text) => conversation.intake.submit(message(text, text), { wait: patient })),
    );
    expect(settled.map(({ outcome }) => outcome)).to.deep.equal(['handled', 'handled', 'handled']);
    expect(most).to.equal(1);
  });

  it('lets a turn time out while it waits for a slot, without blocking its session', async () => {
    const { conversation } = testConversation({
      limits: { concurrentTurns: 1 },
      handle: (observation) => sleep(textOf(observation) === 'slow' ? 150 : 0),
    });
    const slow = conversation.intake.submit(message('slow', 's1'), { wait: patient });
    const late = conversation.intake.submit(message('late', 's2'), { wait: { limit: 16, timeoutMs: 30 } });
    expect(await late).to.include({ outcome: 'queue_timeout' });
    await slow;
    expect(await conversation.intake.submit(message('again', 's2'), { wait: patient })).to.include({
      outcome: 'handled',
    });
  });

  it("starts no turn for an agent's own message", async () => {
    let turns = 0;
    const { conversation } = testConversation({
      handle: async (observation, ctx) => {
        turns += 1;
        const reply = { source_name: 'agent:speaker', actor: { actor_id: 'agent' }, payload: { text: 'reply' } };
        const published = ctx.publish(reply);
        expect(published.ok && published.observation).to.include({ hop: 1, parent_obs_id: observation.obs_id });
      },
    });
    const settled = await conversation.intake.submit(message('hi'), { wait: patient });
    expect(settled).to.include({ outcome: 'handled' });
    await until('the reply', () => conversation.live.state('console:u1:s1')?.processed_total === 2);
    expect(turns).to.equal(1);
    expect(conversation.live.busy('console:u1:s1')).to.equal(false);
  });

  it('starts a turn for an allowed agent in another session, but not in its own', async () => {
    const turns: string[] = [];
    const { conversation } = testConversation({
      loopAllowed: ['agent:planner'],
      handle: async (observation, ctx) => {
        turns.push(textOf(observation));
        if (textOf(observation) !== 'hi') return;
        const says = (source_name: string, text: string, session?: string): void => {
          const target = session === undefined ? {} : { session_key: session };
          ctx.publish({ source_name, payload: { text }, ...target });
        };
        says('agent:planner', 'to another', 'console:u1:s2');
        says('agent:planner', 'to itself');
        says('agent:other', 'not allowed', 'console:u1:s2');
      },
    });
    await conversation.intake.submit(message('hi'), { wait: patient });
    await until('all of it', () => conversation.live.state('console:u1:s2')?.processed_total === 2);
    await until('the rest', () => conversation.live.state('console:u1:s1')?.processed_total === 2);
    expect(turns).to.deep.equal(['hi', 'to another']);
  });

  it('asks the gate first, and handles nothing that it drops or sinks', async () => {
    let handled = 0;
    const ingested: string[] = [];
    const gate: GateService = {
      handle: (observation, { sessionKey }): GateOutcome => {
        if (textOf(observation) === 'fault') throw new Error('gate');
        const action = textOf(observation) as 'drop' | 'sink' | 'deliver';
        const decision = {
          action,
          reason: 'test',
          reasons: ['test'],
          scene: 'dialogue',
          session_key: sessionKey,
          trace_id: observation.trace_id,
        };
        return { decision, emit: [], ingest: action === 'deliver' ? [] : [{ pool: action, observation, decision }] };
      },
      ingest: (items) => ingested.push(...items.map(({ pool }) => pool)),
    };
    const { conversation, alerts } = testConversation({
      gate: () => gate,
      handle: async () => {
        handled += 1;
      },
    });
    const submit = (text: string) => conversation.intake.submit(message(text), { wait: patient });
    expect(await submit('drop')).to.include({ outcome: 'refused' });
    expect((await submit('sink')).decision).to.include({ action: 'sink', reason: 'test' });
    expect((await submit('fault')).decision).to.include({ action: 'drop', reason: 'gate_error' });
    expect(await submit('deliver')).to.include({ outcome: 'handled' });
    expect([handled, ingested]).to.deep.equal([1, ['drop', 'sink']]);
    expect(alerts.map(({ code }) => code)).to.deep.equal(['worker_error']);
  });

  it('handles what it accepted before it closes, and accepts nothing new', async () => {
    const handled: string[] = [];
    const { conversation } = testConversation({
      handle: async (observation) => {
        await sleep(10);
        handled.push(textOf(observation));
      },
    });
    for (const text of ['a', 'b', 'c']) conversation.intake.publish(message(text));
    const closing = conversation.close(5_000);
    expect(conversation.intake.publish(message('d'))).to.include({ ok: false, reason: 'closed' });
    expect(await conversation.intake.submit(message('e'), { wait: patient })).to.include({ outcome: 'closed' });
    await closing;
    expect(handled).to.deep.equal(['a', 'b', 'c']);
  });

  it('accepts what a running turn publishes and submits while it closes', async () => {
    const sent: string[] = [];
    const { conversation } = testConversation({
      enqueue: (observation) => void sent.push(textOf(observation)),
      handle: async (observation, ctx) => {
        if (textOf(observation) === 'asked') return 'an answer';
        await sleep(10);
        const asked = await conversation.intake.submit(message('asked', 's2'), { wait: patient });
        const reply = { source_name: 'agent:speaker', actor: { actor_type: 'system', actor_id: 'agent' } } as const;
        return ctx.publish({ ...reply, payload: { text: `${textOf(observation)}: ${asked.value}` } });
      },
    });
    for (const text of ['a', 'b']) conversation.intake.publish(message(text));
    const closing = conversation.close(5_000);
    expect(conversation.intake.publish(message('from outside'))).to.include({ ok: false, reason: 'closed' });
    await closing;
    expect(sent.filter((text) => text.includes(':'))).to.deep.equal(['a: an answer', 'b: an answer']);
    expect(conversation.stats()).to.deep.include({ accepted: 6, consumed: 6, depth: 0, dropped: { closed: 1 } });
  });

  it('aborts what still runs at the end of the time limit, and reports what was not handled', async () => {
    let reason: unknown;
    const { conversation, unhandled } = testConversation({
      handle: (_, { signal }) =>
        new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            resolve();
          });
        }),
    });
    const running = conversation.intake.submit(message('a'), { wait: patient });
    const queued = conversation.intake.submit(message('b'), { wait: patient });
    await until('the turn', () => conversation.live.busy('console:u1:s1'));
    const published = conversation.intake.publish(message('c', 's2'));
    await until('the other turn', () => conversation.live.busy('console:u1:s2'));
    await conversation.close(30);
    const idsOf = (some: readonly Observation[] | undefined) => some?.map(({ obs_id }) => obs_id);
    expect(unhandled).to.have.length(1);
    expect(idsOf(unhandled[0]?.queued)).to.deep.equal([(await queued).observation?.obs_id]);
    expect(idsOf(unhandled[0]?.begun)).to.deep.equal([
      (await running).observation?.obs_id,
      published.ok && published.observation.obs_id,
    ]);
    expect(await running).to.include({ outcome: 'handled' });
    expect(await queued).to.include({ outcome: 'cancelled' });
    expect((reason as { cause?: unknown }).cause).to.include({ code: 'server_shutdown' });
  });

  it("sends an agent's message that is queued behind a turn that does not end in time", async () => {
    const sent: string[] = [];
    const { conversation, unhandled } = testConversation({
      enqueue: (observation) => void sent.push(textOf(observation)),
      handle: async (observation, ctx) => {
        if (textOf(observation) === 'endless') {
          await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()));
        } else ctx.publish({ source_name: 'agent:speaker', payload: { text: 'said' } });
      },
    });
    conversation.intake.publish(message('quick'));
    conversation.intake.publish(message('endless'));
    await until('the turn', () => sent.includes('endless'));
    await conversation.close(30);
    expect(sent).to.deep.equal(['quick', 'endless', 'said']);
    expect(unhandled.map(({ queued, begun }) => [queued.length, begun.length])).to.deep.equal([[0, 1]]);
  });

  it('yields to timers and sockets while a stage keeps feeding the bus', async () => {
    let passed = 0;
    let turned = false;
    const feeder = {
      handle: ({ session_key }: Observation): GateOutcome => {
        passed += 1;
        // Bounded, so that a failure does not run for ever.
        const emit = turned || passed > 50_000 ? [] : [{ ...message('again'), session_key }];
        const decision = { action: 'drop', reason: 'test', reasons: ['test'], scene: 'dialogue' } as const;
        return { decision: { ...decision, session_key: session_key ?? '', trace_id: '' }, emit, ingest: [] };
      },
      ingest: () => undefined,
    } as unknown as GateService;
    const { conversation } = testConversation({ gate: () => feeder });
    conversation.intake.publish(message('once'));
    await new Promise<void>((resolve) => setTimeout(resolve, 1));
    turned = true;
    await until('the end', () => conversation.stats().depth === 0);
    expect(passed).to.be.within(2, 50_000);
  });

  it('removes idle sessions, never the system session and never one with work', async () => {
    let now = 1_000_000;
    let finish: () => void = () => undefined;
    const { conversation } = testConversation({
      now: () => now,
      handle: (observation) =>
        textOf(observation) === 'stay'
          ? new Promise<void>((resolve) => {
              finish = resolve;
            })
          : Promise.resolve(),
    });
    await conversation.intake.submit(message('go', 's1'), { wait: patient });
    const staying = conversation.intake.submit(message('stay', 's2'), { wait: patient });
    await until('the work', () => conversation.live.busy('console:u1:s2'));
    now += 600_000;
    expect(conversation.live.collect(600_000, 1)).to.have.length(1);
    expect(conversation.live.state('console:u1:s1')).to.equal(undefined);
    expect(conversation.live.state('system')).to.not.equal(undefined);
    expect(conversation.live.state('console:u1:s2')).to.include({ processed_total: 1 });
    finish();
    await staying;
    await conversation.intake.submit(message('again', 's1'), { wait: patient });
    expect(conversation.live.state('console:u1:s1')).to.include({ processed_total: 1 });
  });

  it('removes no session whose turn waits for a slot', async () => {
    let now = 1_000_000;
    let finish: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { conversation } = testConversation({
      now: () => now,
      limits: { concurrentTurns: 1 },
      handle: () => held,
    });
    const first = conversation.intake.submit(message('first', 's1'), { wait: patient });
    await until('the work', () => conversation.live.busy('console:u1:s1'));
    const behind = [
      conversation.intake.submit(message('behind it', 's1'), { wait: patient }),
      conversation.intake.submit(message('elsewhere', 's2'), { wait: patient }),
    ];
    await until('the others', () => conversation.stats().queued > 0 && conversation.live.busy('console:u1:s2'));
    now += 600_000;
    expect(conversation.live.collect(600_000, 1)).to.deep.equal([]);
    finish();
    const settled = await Promise.all([first, ...behind]);
    expect(settled.map(({ outcome }) => outcome)).to.deep.equal(['handled', 'handled', 'handled']);
  });

  it('uses one AsyncLocalStorage however many conversations were created', async () => {
    // Every AsyncLocalStorage in use adds a property to each new async resource.
    const carried = () => Object.getOwnPropertySymbols(new AsyncResource('probe')).length;
    await testConversation().conversation.intake.submit(message('one'), { wait: patient });
    const before = carried();
    for (let n = 0; n < 3; n += 1)
      await testConversation().conversation.intake.submit(message('one'), { wait: patient });
    expect(carried()).to.equal(before);
  });
});
