import { expect } from 'chai';
import fc from 'fast-check';
import type { Observation, ObservationError, ObservationInput } from 'mortise/sdk';
import { rounds } from 'mortise/sdk/testing';

import { derive, readObservation } from '../observation/read-observation.js';
import { type RouteFacts, routeObservation } from '../observation/route-observation.js';

const now = Date.parse('2026-11-21T10:00:00.000Z');
const base: ObservationInput = { source_name: 'test:face', payload: { text: 'hi' } };

type Route = (facts: RouteFacts) => string | ObservationError;
const asGiven: Route = ({ key }) => key ?? 'default';

function read(input: Partial<ObservationInput> = {}, route = asGiven): Observation {
  const result = readObservation({ ...base, ...input }, now, route);
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  return result.observation;
}

function errors(input: Partial<Record<keyof ObservationInput, unknown>>): string[] {
  const result = readObservation({ ...base, ...input } as ObservationInput, now, asGiven);
  return result.ok ? [] : result.errors.map(({ path, code }) => `${path} ${code}`);
}

describe('an observation', () => {
  it('is complete, frozen, and unchanged by a JSON round trip', () => {
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

  it('is a copy that is frozen in depth, and shares nothing with its publisher', () => {
    const inner = { list: [{ n: 1 }], at: new Date(0) };
    const parts = { payload: { kind: 'set', data: inner }, metadata: { inner }, evidence: { inner } };
    const observation = read({ obs_type: 'control', actor: { actor_id: 'u', extra: { inner } }, ...parts });
    inner.list.push({ n: 2 });
    const copy = { list: [{ n: 1 }], at: '1970-01-01T00:00:00.000Z' };
    const { actor, payload, metadata, evidence } = observation;
    expect([payload.data, metadata.inner, evidence?.inner, actor?.extra?.inner]).to.deep.equal(Array(4).fill(copy));
    const frozen = (value: unknown): boolean =>
      typeof value !== 'object' || (Object.isFrozen(value) && Object.values(value ?? {}).every(frozen));
    expect(frozen(observation)).to.equal(true);
    expect(() => ((payload.data as typeof inner).list[0] = { n: 3 })).to.throw(TypeError);
    expect(Object.isFrozen(inner)).to.equal(false);
  });

  it('copies members of any name', () => {
    const payload = JSON.parse('{"text":"hi","extra":{"__proto__":{"a":[1]},"constructor":null}}') as object;
    const { extra } = read({ payload: { ...payload } }).payload as { readonly extra: object };
    expect(Object.getOwnPropertyNames(extra)).to.deep.equal(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(extra)).to.equal(Object.prototype);
  });

  it('is refused with all of its errors', () => {
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

  it('must have the required members of its type', () => {
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

  it('does not have the payload of another type', () => {
    const shapes = {
      message: { text: 'hi' },
      world_data: { schema_id: 's', data: {} },
      alert: { alert_type: 'a', data: {} },
      control: { kind: 'k', data: {} },
      schedule: { schedule_id: 's', data: {} },
    };
    for (const obs_type of [...Object.keys(shapes), 'system']) {
      for (const [other, payload] of Object.entries(shapes)) {
        const same = obs_type === other || (obs_type === 'system' && other === 'message');
        const expected = same ? [] : ['payload payload_mismatch'];
        expect(errors({ obs_type, payload }), `${obs_type} with the payload of ${other}`).to.deep.equal(expected);
      }
    }
    expect(errors({ payload: {} })).to.deep.equal([]);
    expect(errors({ payload: { text: 'hi', kind: 'greeting' } })).to.deep.equal([]);
  });

  it('may have only members of the right type', () => {
    const wrong = (obs_type: string, payload: object) => errors({ obs_type, payload });
    expect(wrong('message', { mentions: 'bob', reply_to: 7, extra: [] })).to.deep.equal([
      'payload.mentions payload_mismatch',
      'payload.reply_to payload_mismatch',
      'payload.extra payload_mismatch',
    ]);
    expect(wrong('message', { attachments: Array(33).fill({ kind: 'image' }) })).to.deep.equal([
      'payload.attachments too_long',
    ]);
    expect(wrong('system', { attachments: [{ kind: 'image' }, { kind: 'song' }] })).to.deep.equal([
      'payload.attachments.1.kind enum',
    ]);
    expect(wrong('world_data', { schema_id: 's', data: 7, validity_seconds: -1 })).to.deep.equal([
      'payload.validity_seconds payload_mismatch',
    ]);
    expect(wrong('alert', { alert_type: 'a', message: {}, data: 'x' })).to.deep.equal([
      'payload.message payload_mismatch',
      'payload.data payload_mismatch',
    ]);
    expect(wrong('control', { kind: 'k', data: [] })).to.deep.equal(['payload.data payload_mismatch']);
    expect(wrong('schedule', { schedule_id: 's', data: null })).to.deep.equal([]);
  });

  it('is refused for every other invalid member', () => {
    expect(errors({ source_name: 'x'.repeat(129) })).to.deep.equal(['source_name too_long']);
    expect(errors({ session_key: 7 })).to.deep.equal(['session_key payload_mismatch']);
    expect(errors({ session_key: 'k\n' })).to.deep.equal(['session_key too_long']);
    expect(errors({ session_key: 'k'.repeat(1_025) })).to.deep.equal(['session_key too_long']);
    expect(errors({ actor: 'bob' })).to.deep.equal(['actor payload_mismatch']);
    expect(errors({ actor: { actor_type: 'robot' } })).to.deep.equal(['actor.actor_type enum']);
    expect(errors({ actor: { actor_id: 7, display_name: 'n'.repeat(1_025) } })).to.deep.equal([
      'actor.actor_id payload_mismatch',
      'actor.display_name too_long',
    ]);
    expect(errors({ evidence: 'e' })).to.deep.equal(['evidence payload_mismatch']);
    expect(errors({ tags: Array(33).fill('t') })).to.deep.equal(['tags too_long']);
    expect(errors({ tags: ['t'.repeat(65)] })).to.deep.equal(['tags too_long']);
    expect(errors({ confidence: Number.NaN })).to.deep.equal(['confidence range']);
    expect(errors({ metadata: [] })).to.deep.equal(['metadata payload_mismatch']);
    for (const timestamp of ['2026-02-30T10:00:00Z', 'yesterday', 7]) {
      expect(errors({ timestamp })).to.deep.equal(['timestamp naive_datetime']);
    }
    expect(read({ timestamp: '2026-11-21T12:00:00+02:00' }).timestamp).to.equal('2026-11-21T10:00:00.000Z');
  });

  it('has at most 16 KiB of metadata as JSON', () => {
    const metadata = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) });
    expect(errors({ metadata: metadata(16_384) })).to.deep.equal([]);
    expect(errors({ metadata: metadata(16_385) })).to.deep.equal(['metadata too_long']);
    expect(errors({ metadata: { a: { b: 'é'.repeat(8_000) } } })).to.deep.equal([]);
    expect(errors({ metadata: { a: { b: 'é'.repeat(8_200) } } })).to.deep.equal(['metadata too_long']);
    // What is no JSON has no size that fits.
    expect(errors({ metadata: { a: 1n } })).to.deep.equal(['metadata too_long']);
  });

  it('ignores unknown members', () => {
    expect(read({ colour: 'red', obs_id: 'mine' } as Partial<ObservationInput>)).to.not.have.property('colour');
    expect(read({ obs_id: 'mine' } as Partial<ObservationInput>).obs_id).to.match(/^[0-9a-f]{32}$/);
  });

  it('is accepted or refused without a throw for any input, and survives a JSON round trip', () => {
    const members = [
      'source_name',
      'obs_type',
      'payload',
      'actor',
      'metadata',
      'tags',
      'timestamp',
      'hop',
      'confidence',
    ];
    const anything = fc.oneof(
      fc.anything({ withBigInt: true, withNullPrototype: true }),
      fc.dictionary(fc.constantFrom(...members), fc.anything({ withBigInt: true })),
      fc.record({ source_name: fc.string({ minLength: 1 }), payload: fc.object(), metadata: fc.jsonValue() }),
    );
    fc.assert(
      fc.property(anything, (input) => {
        const result = readObservation(input as ObservationInput, now, asGiven);
        if (!result.ok) expect(result.errors.length).to.be.greaterThan(0);
        else expect(Object.isFrozen(result.observation)).to.equal(true);
      }),
      { numRuns: rounds(500, 10_000), examples: [[{ source_name: { toString: 0 } }]] },
    );
    fc.assert(
      fc.property(fc.string(), fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }), (text, extra) => {
        const observation = read({ payload: { text, extra }, metadata: { extra } });
        // JSON knows no -0.
        expect(JSON.stringify(JSON.parse(JSON.stringify(observation)))).to.equal(JSON.stringify(observation));
      }),
    );
  });

  it('carries quality flags', () => {
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

  it('passes its trace on, one hop further', () => {
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
    hasChannel: (name: string) => name === 'console',
  };
  const routed = (input: Partial<ObservationInput>, mode: 'user' | 'default' = 'user') =>
    read(input, (facts) => routeObservation(facts, { ...routing, mode }));
  const route = (...input: Parameters<typeof routed>) => routed(...input).session_key;

  it('keeps a key of a known channel, and turns any other into a console session', () => {
    expect(route({ session_key: 'console:u:s' })).to.equal('console:u:s');
    expect(route({ session_key: 'ws:u:s' })).to.equal('ws:u:s');
    expect(route({ session_key: 'sms:u:s', actor: { actor_id: 'a' } })).to.equal('console:a:sms:u:s');
    expect(route({ session_key: 'dm' })).to.equal('console:unknown:dm');
  });

  it('routes messages without a session to one of their user: its own, or the one named default', () => {
    expect(route({ actor: { actor_id: 'a:b%' } })).to.equal('console:a:b%:user:a%3Ab%25');
    expect(route({ actor: { actor_id: 'a' } }, 'default')).to.equal('console:a:default');
    expect(route({})).to.equal('console:unknown:default');
  });

  it("routes the platform's observations to the system session, and records the key they carried", () => {
    const alert = routed({ obs_type: 'alert', session_key: 'console:u:s', payload: { alert_type: 'x' } });
    expect(alert).to.deep.include({
      session_key: 'system',
      metadata: { origin_session_key: 'console:u:s' },
    });
    expect(route({ obs_type: 'world_data', payload: { schema_id: 'x' } })).to.equal('system');
    const fanout = { obs_type: 'system', source_name: 'core:fanout', session_key: 'console:u:s' } as const;
    expect(route(fanout)).to.equal('console:u:s');
  });
});
