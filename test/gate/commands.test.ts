import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTestHost, oneDatabase, type TestHost, temporaryFolder, until } from 'mortise/sdk/testing';
import { onServer } from '../../core/cli/test/run-cli.js';

type Json = Readonly<Record<string, unknown>>;

describe('the gate on the command line', () => {
  oneDatabase((engine) => {
    let host: TestHost;

    before(async () => {
      host = await createTestHost({
        plugins: ['admin', 'logbook', 'reflex', 'channel-console'],
        database: engine.env,
        config: { gate: { version: 1 } },
        // Reloaded only by a test.
        env: { MORTISE_GATE_RELOAD_MS: '0' },
      });
    });

    after(() => host.stop());

    const gate = (...args: string[]) => onServer(host, '--json', 'gate', ...args);
    const overrides = () => host.service('gate-control').snapshot().config.overrides;

    it('prints the status that the route returns', async () => {
      const { code, json } = await gate('status');
      expect(code).to.equal(0);
      const route = (await (await host.fetch('/gate/status')).json()) as Json;
      expect(Object.keys(json())).to.deep.equal(Object.keys(route));
      expect(json()).to.deep.include({ revision: route.revision, base: route.base, overrides: route.overrides });
      expect((await onServer(host, 'gate', 'status')).stdout).to.contain('Configuration: file, revision 1');
    });

    it('explains a decision', async () => {
      const { json } = await gate('explain', '--text', 'hello?', '--session', 'console:u1:s1', '--actor', 'u1');
      expect(json().decision).to.include({ action: 'deliver', score: 0.28, session_key: 'console:u1:s1' });
      const { stdout } = await onServer(host, 'gate', 'explain', '--text', '  ');
      expect(stdout).to.contain('drop: empty_content');
      expect((await gate('explain')).code).to.equal(2);
    });

    it('reads the file', async () => {
      await writeFile(join(host.configDir, 'gate.json'), '{"version":1,"bot_names":["robot"]}');
      expect((await gate('reload')).json()).to.include({ changed: true, error: null });
      await writeFile(join(host.configDir, 'gate.json'), '{"version":2}');
      const refused = await gate('reload');
      expect([refused.code, refused.json().changed]).to.deep.equal([1, false]);
      await writeFile(join(host.configDir, 'gate.json'), '{"version":1}');
      expect((await gate('reload')).code).to.equal(0);
    });

    it('sets and clears an override', async () => {
      const set = await gate('override', 'set', 'emergency_mode', 'true', '--ttl', '600', '--reason', 'drill');
      expect(set.code).to.equal(0);
      expect(set.json().obs_id).to.match(/^[0-9a-f]{32}$/);
      await until('the change', () => overrides().emergency_mode);
      const { stdout } = await onServer(host, 'gate', 'status');
      expect(stdout).to.match(/Override \(admin\): emergency_mode = true, until \d{4}-/);
      expect((await gate('override', 'clear', 'emergency_mode')).code).to.equal(0);
      await until('the end', () => !overrides().emergency_mode);
      const wrong = await gate('override', 'set', 'emergancy_mode', 'true');
      expect(wrong.code).to.equal(1);
      expect(wrong.error()).to.include({ code: 'invalid_override' });
      expect((await gate('override', 'set', 'emergency_mode', 'yes')).code).to.equal(2);
      expect((await gate('override', 'set', 'emergency_mode')).code).to.equal(2);
    });

    it('publishes a message, lists what was not delivered and releases it', async () => {
      const published = await onServer(host, '--json', 'observe', '--text', 'hello', '--session', 'console:u1:s1');
      expect(published.json()).to.deep.include({ status: 'accepted' });
      expect(published.json().decision).to.include({ action: 'deliver' });
      await gate('override', 'set', 'drop_sessions', '["console:u1:s1"]');
      await until('the change', () => overrides().drop_sessions.length === 1);
      const dropped = await onServer(host, '--json', 'observe', '--text', 'again', '--session', 'console:u1:s1');
      const { obs_id: obsId } = dropped.json<{ obs_id: string }>();
      expect(dropped.json().decision).to.include({ action: 'drop', reason: 'override=drop_session' });
      const pool = (await gate('pools', 'drop', '--limit', '1')).json<{ items: Json[] }>();
      expect(pool.items[0]).to.include({ obs_id: obsId, preview: 'again', released: false });
      expect((await onServer(host, 'gate', 'pools', 'drop')).stdout).to.contain('override=drop_session');
      expect((await gate('release', 'drop', obsId)).json()).to.include({ released_from: obsId });
      const twice = await gate('release', 'drop', obsId);
      expect([twice.code, twice.error().code]).to.deep.equal([1, 'already_released']);
      expect((await gate('pools', 'none')).error().code).to.equal('not_found');
      expect((await gate('pools')).code).to.equal(2);
    });

    it('publishes the observations of a file', async () => {
      const file = join(temporaryFolder('observe'), 'events.json');
      const event = (source_name: string) => ({ source_name, payload: { text: `from ${source_name}` } });
      await writeFile(file, JSON.stringify({ observations: [event('shop'), event('agent:x')] }));
      const { code, json } = await onServer(host, '--json', 'observe', '--file', file);
      expect([code, json().accepted, json().rejected]).to.deep.equal([1, 1, 1]);
      await writeFile(file, '{');
      const broken = await onServer(host, '--json', 'observe', '--file', file);
      expect([broken.code, broken.error().code]).to.deep.equal([1, 'invalid_json']);
      expect((await onServer(host, 'observe', '--file', file, '--text', 'x')).code).to.equal(2);
      expect((await onServer(host, 'observe')).code).to.equal(2);
    });
  });
});
