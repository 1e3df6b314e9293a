import { expect } from 'chai';
import type { Observation, ObservationInput } from 'mortise/sdk';
import { derive, readObservation, withSessionKey } from '../read-observation.js';
import { routeObservation } from '../route-observation.js';

const now = Date.parse('2026-11-21T10:00:00.000Z');
const base: ObservationInput = { source_name: 'test:face', payload: { text: 'hi' } };

function read(input: Partial<ObservationInput> = {}): Observation {
  const result = readObservation({ ...base, ...input }, now);
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  return result.observation;
}

function errors(input: Partial<Record<keyof ObservationInput, unknown>>): string[] {
  const result = readObservation({ ...base, ...input } as ObservationInput, now);
  return result.ok ? [] : result.errors.map(({ path, code }) => `${path} ${code}`);
}

describe('an observation', () => {
  it('is complete, frozen, and the same after a trip through JSON', () => {
    const observation = read({ tags: ['b', 'a'], actor: { actor_id: 'u' }, metadata: { a: 1 } });
    expect(observation).to.deep.include({
      obs_type: 'message',
      source_kind: 'external',
      timestamp: '2026-11-21T10:00:00.000Z',
      actor: { actor_type: 'unknown', actor_id: 'u' },
      tags: ['a', 'b'],
      hop: 0,
      parent_obs_id: null,
    });
    expect(observation.obs_id).to.match(/^[0-9a-f]{32}$/);
    expect(observation.correlation_id).to.match(/^corr-[0-9a-f]{16}$/);
    expect(JSON.parse(JSON.stringify(observation))).to.deep.equal(observation);
    const { actor, payload, metadata, tags, quality_flags } = observation;
    for (const part of [observation, actor, payload, metadata, tags, quality_flags]) {
      expect(Object.isFrozen(part)).to.equal(true);
    }
  });

  it('is refused with all that is wrong with it', () => {
    const wrong = {
      source_name: ' ',
      obs_type: 'gossip',
      timestamp: '2026-11-21T10:00:00',
      confidence: 2,
      metadata: { a: 'x'.repeat(17_000) },
      payload: 'text',
    };
    expect(errors(wrong)).to.deep.equal([
      'obs_type enum',
      'source_name required',
      'timestamp naive_datetime',
      'confidence range',
      'metadata too_long',
      'payload payload_mismatch',
    ]);
  });

  it('needs what its type needs', () => {
    for (const [obs_type, name] of [
      ['world_data', 'schema_id'],
      ['alert', 'alert_type'],
      ['control', 'kind'],
      ['schedule', 'schedule_id'],
    ] as const) {
      expect(errors({ obs_type, payload: {} })).to.deep.equal([`payload.${name} required`]);
      expect(errors({ obs_type, payload: { [name]: ' ' } })).to.deep.equal([`payload.${name} required`]);
      expect(errors({ obs_type, payload: { [name]: 7 } })).to.deep.equal([`payload.${name} payload_mismatch`]);
      expect(errors({ obs_type, payload: { [name]: 'x' } })).to.deep.equal([]);
    }
    for (const obs_type of ['message', 'system'] as const) {
      expect(errors({ obs_type, payload: { text: 7 } })).to.deep.equal(['payload.text payload_mismatch']);
    }
    const awful = { obs_type: 'alert', payload: { alert_type: 'x', severity: 'awful' } };
    expect(errors(awful)).to.deep.equal(['payload.severity enum']);
    expect(read({ obs_type: 'alert', payload: { alert_type: 'x' } }).payload).to.include({ severity: 'medium' });
    expect(errors({ session_key: 'system' })).to.deep.equal(['session_key reserved']);
  });

  it('says what is doubtful about it', () => {
    const flags = (input: Partial<ObservationInput>) =>
      read({ session_key: 'k', actor: { actor_id: 'u' }, ...input }).quality_flags;
    expect(flags({})).to.deep.equal([]);
    expect(flags({ payload: { text: '  ' } })).to.deep.equal(['EMPTY_CONTENT']);
    expect(flags({ payload: { text: '' }, ingress: 'api' })).to.deep.equal([]);
    expect(flags({ payload: { extra: { tool_call: { name: 'x' } } } })).to.deep.equal([]);
    expect(flags({ payload: { attachments: [{ kind: 'image' }] } })).to.deep.equal([]);
    expect(flags({ payload: { attachments: [{}] } })).to.deep.equal(['UNSUPPORTED']);
    expect(flags({ session_key: ' ', actor: {} })).to.deep.equal(['MISSING_IDENTITY', 'MISSING_SESSION']);
    expect(flags({ confidence: 0.1, quality_flags: ['TRUNCATED', 'DUPLICATE'] })).to.deep.equal([
      'LOW_CONFIDENCE',
      'TRUNCATED',
    ]);
  });

  it('hands its trace on, one hop further', () => {
    const parent = read({ session_key: 'k', trace_id: 'a'.repeat(32), hop: 2 });
    const child = read(derive(parent, base));
    expect(child).to.include({ trace_id: parent.trace_id, correlation_id: parent.correlation_id, session_key: 'k' });
    expect(child).to.include({ hop: 3, parent_obs_id: parent.obs_id });
  });
});

describe('routing', () => {
  const routing = {
    sessions: {
      key: ({ channel, userId, sessionId }: { channel: string; userId: string; sessionId: string }) =>
        `${channel}:${userId}:${sessionId}`,
      parseKey: (key: string) => {
        const [channel = '', userId = '', sessionId = ''] = key.split(':');
        return sessionId === '' ? undefined : { channel, userId, sessionId };
      },
    },
    channels: () => ['console'],
  };
  const route = (input: Partial<ObservationInput>, mode: 'user' | 'default' = 'user') =>
    routeObservation(read(input), { ...routing, mode });

  it('keeps a key that names a session of a known channel, and makes any other a console session', () => {
    expect(route({ session_key: 'console:u:s' })).to.equal('console:u:s');
    expect(route({ session_key: 'ws:u:s' })).to.equal('ws:u:s');
    expect(route({ session_key: 'sms:u:s', actor: { actor_id: 'a' } })).to.equal('console:a:sms:u:s');
    expect(route({ session_key: 'dm' })).to.equal('console:unknown:dm');
  });

  it('gives messages without a session to one per user, or to one for all', () => {
    expect(route({ actor: { actor_id: 'a:b%' } })).to.equal('console:a:b%:user:a%3Ab%25');
    expect(route({ actor: { actor_id: 'a' } }, 'default')).to.equal('console:a:default');
    expect(route({})).to.equal('console:unknown:default');
  });

  it('gives the platform its own session, and remembers the key that was meant', () => {
    const alert = read({ obs_type: 'alert', session_key: 'console:u:s', payload: { alert_type: 'x' } });
    const key = routeObservation(alert, { ...routing, mode: 'user' });
    expect(key).to.equal('system');
    expect(withSessionKey(alert, key)).to.deep.include({
      obs_id: alert.obs_id,
      session_key: 'system',
      metadata: { origin_session_key: 'console:u:s' },
    });
    expect(route({ obs_type: 'world_data', payload: { schema_id: 'x' } })).to.equal('system');
    const fanout = { obs_type: 'system', source_name: 'core:fanout', session_key: 'console:u:s' } as const;
    expect(route(fanout)).to.equal('console:u:s');
  });
});
