import { expect } from 'chai';
import { PluginProblem } from '../../messages/plugin-problem.js';
import { problem } from '../../messages/plugin-problems.js';
import { MortiseError } from '../../sdk/errors.js';
import type { StartHost } from '../../sdk/plugin.js';
import { until } from '../../sdk/testing/until.js';
import type { Suspect } from '../deps.js';
import { echoPlugin, knownSecret, type MadeKernel, makeKernel, plugin } from './kernel-fixture.js';

describe('a plugin that fails repeatedly', () => {
  let made: MadeKernel;
  let now = 0;
  afterEach(() => made.stop());

  async function boot(...plugins: Parameters<typeof makeKernel>[0]): Promise<void> {
    now = 1_000_000;
    made = makeKernel(
      plugins,
      plugins.map((one) => one.manifest.key),
      { clock: { now: () => now, monotonic: () => performance.now() } },
    );
    await made.kernel.boot();
  }

  const fail = (times: number, key = 'bad') => {
    for (let count = 0; count < times; count += 1)
      made.kernel.fault(key, 'uncaught_error', new Error(`failure ${count}`));
  };
  const settled = () => made.kernel.serial(async () => undefined);

  it('is quarantined at the fifth fault within a minute, and its dependants are stopped', async () => {
    await boot(echoPlugin('bad'), echoPlugin('needs-it', { requires: ['bad'] }), echoPlugin('other'));
    const { since } = made.kernel.plugins.record('other') ?? {};
    fail(4);
    await settled();
    expect(made.state('bad')).to.equal('active');
    fail(1);
    await until(() => made.state('needs-it') === 'blocked dependency_not_active');
    expect(made.state('bad')).to.equal('quarantined repeated_faults');
    expect(made.control.list().find((row) => row.key === 'bad')?.message).to.include('the last time: failure 0.');
    expect(made.kernel.points.keys('tool')).to.deep.equal(['other']);
    expect(made.kernel.plugins.record('other')?.since).to.equal(since);
  });

  it('keeps running when it is required', async () => {
    await boot(echoPlugin('bad'), echoPlugin('needs-it', { requires: ['bad'] }));
    await made.want(({ plugins }) => ({ plugins: { ...plugins, bad: { enabled: true, required: true } } }));
    fail(20);
    await settled();
    expect([made.state('bad'), made.state('needs-it')]).to.deep.equal(['active', 'active']);
    expect(made.kernel.plugins.record('bad')?.lastFault?.code).to.equal('uncaught_error');
  });

  it('shows no secret of its errors in rows, details and findings', async () => {
    const wrong = `connect postgres://bob:hunter2@db with ${knownSecret}`;
    const factory = plugin({ key: 'factory' });
    const health = async () => ({ ok: false, detail: wrong });
    const throws = (): never => {
      throw new Error(wrong);
    };
    await boot({ ...factory, definition: throws }, plugin({ key: 'starts' }, { start: throws }), {
      ...plugin({ key: 'bad' }, { health }),
    });
    made.kernel.fault('bad', 'uncaught_error', new Error(wrong));
    expect([made.state('factory'), made.state('starts')]).to.deep.equal([
      'failed export_invalid',
      'failed start_failed',
    ]);
    const shown = JSON.stringify([
      made.control.list(),
      await made.control.doctor(),
      await Promise.all(['factory', 'starts', 'bad'].map((key) => made.control.inspect(key))),
    ]);
    expect(shown.match(/connect postgres:\/\/bob:\[REDACTED\]@db with \[REDACTED\]/g)).to.have.length.above(6);
    expect(shown).not.to.include(knownSecret).and.not.to.include('hunter2');
  });

  it('is counted once for each refusal of the host', async () => {
    await boot(echoPlugin('bad'));
    for (let count = 0; count < 4; count += 1) {
      const refused = new PluginProblem(problem('exit_attempt'));
      for (const code of ['exit_attempt', 'callback_failed', 'uncaught_error']) made.kernel.fault('bad', code, refused);
    }
    await settled();
    expect([made.state('bad'), made.kernel.plugins.record('bad')?.lastFault?.code]).to.deep.equal([
      'active',
      'exit_attempt',
    ]);
  });

  it('keeps running when the faults are far apart', async () => {
    await boot(echoPlugin('bad'));
    for (let count = 0; count < 12; count += 1) {
      fail(1);
      now += 15_001;
    }
    await settled();
    expect(made.state('bad')).to.equal('active');
  });

  it('starts again when it is released, with a clean record', async () => {
    await boot(echoPlugin('bad'), echoPlugin('needs-it', { requires: ['bad'] }));
    fail(5);
    await until(() => made.state('bad').startsWith('quarantined'));
    expect((await made.control.release('bad')).state).to.equal('active');
    expect(made.state('needs-it')).to.equal('active');
    fail(4);
    await settled();
    expect(made.state('bad')).to.equal('active');
  });

  it('stays in quarantine while others are toggled', async () => {
    await boot(echoPlugin('bad'), echoPlugin('other'));
    fail(5);
    await until(() => made.state('bad').startsWith('quarantined'));
    await made.control.disable('other');
    await made.control.enable('other');
    expect(made.state('bad')).to.equal('quarantined repeated_faults');
  });

  it('leaves quarantine when it is disabled', async () => {
    await boot(echoPlugin('bad'));
    fail(5);
    await until(() => made.state('bad').startsWith('quarantined'));
    expect((await made.control.disable('bad')).state).to.equal('disabled');
    expect((await made.control.enable('bad')).state).to.equal('active');
  });

  it('has no faults from coded errors of its callbacks', async () => {
    let tick: () => void = () => undefined;
    await boot(
      plugin(
        { key: 'bad' },
        {
          start: (host: StartHost) => {
            tick = () => host.emit('shutdown', { deadline: 0 });
            host.on('shutdown', () => {
              throw new MortiseError('upstream_dead', 'The upstream is dead.');
            });
          },
        },
      ),
    );
    for (let count = 0; count < 8; count += 1) tick();
    await settled();
    expect(made.state('bad')).to.equal('active');
    expect(made.kernel.plugins.record('bad')?.lastFault).to.equal(null);
  });

  it('does not flood the log and the alerts', async () => {
    await boot(echoPlugin('bad'));
    let alerts = 0;
    made.kernel.events.on('alert', () => {
      alerts += 1;
    });
    fail(5_000);
    await until(() => made.state('bad').startsWith('quarantined'));
    expect(made.lines.filter((line) => line.startsWith('a plugin failed')).length).to.be.at.most(20);
    expect(alerts).to.equal(5);
  });

  it('is stopped even when its alert listener fails', async () => {
    await boot(
      plugin(
        { key: 'bad' },
        {
          start: (host: StartHost) => {
            host.on('alert', () => {
              throw new Error('not again');
            });
          },
        },
      ),
    );
    made.kernel.events.emit('alert', { source: 'test:it', severity: 'low', code: 'x', message: 'X.' });
    await until(() => made.state('bad') === 'quarantined repeated_faults');
  });

  it('fails alone at its start, and is retried only by a restart', async () => {
    let starts = 0;
    await boot(
      echoPlugin('bad', {
        start: () => {
          starts += 1;
          if (starts === 1) throw new Error('cold');
        },
      }),
      echoPlugin('other'),
    );
    expect([made.state('bad'), made.state('other')]).to.deep.equal(['failed start_failed', 'active']);
    await made.control.disable('other');
    expect(starts).to.equal(1);
    expect((await made.control.restart('bad')).state).to.equal('active');
  });
});

describe('a plugin that the boot journal names', () => {
  let made: MadeKernel;
  afterEach(() => made.stop());

  const suspected = (suspect: Suspect, required: boolean) => {
    const suspects = new Map([['bad', suspect]]);
    made = makeKernel([echoPlugin('bad'), echoPlugin('other')], ['bad', 'other'], {
      suspect: (key) => suspects.get(key),
      clearSuspect: (key) => void suspects.delete(key),
    });
    if (required)
      return made.want(({ plugins }) => ({ plugins: { ...plugins, bad: { enabled: true, required: true } } }));
    return undefined;
  };

  it('is not started until it is released', async () => {
    await suspected({ code: 'boot_crash', detail: 'start', sure: true }, false);
    await made.kernel.boot();
    expect([made.state('bad'), made.state('other')]).to.deep.equal(['quarantined boot_crash', 'active']);
    expect((await made.control.release('bad')).state).to.equal('active');
    await made.control.restart('bad');
    expect(made.state('bad')).to.equal('active');
  });

  it('is started when it is required and not the only suspect', async () => {
    await suspected({ code: 'boot_crash', detail: 'start', sure: false }, true);
    await made.kernel.boot();
    expect(made.state('bad')).to.equal('active');
  });

  it('is not started, required or not, when it is the only suspect', async () => {
    await suspected({ code: 'boot_crash', detail: 'start', sure: true }, true);
    await made.kernel.boot();
    expect(made.state('bad')).to.equal('quarantined boot_crash');
    expect(made.control.waiting()).to.deep.equal([{ key: 'bad', state: 'quarantined', code: 'boot_crash' }]);
  });
});

describe('safe mode', () => {
  it('starts required plugins only', async () => {
    const made = makeKernel([echoPlugin('needed'), echoPlugin('extra')], ['extra'], { safeMode: true });
    await made.want(({ plugins }) => ({ plugins: { ...plugins, needed: { enabled: true, required: true } } }));
    await made.kernel.boot();
    expect([made.state('needed'), made.state('extra')]).to.deep.equal(['active', 'blocked safe_mode']);
    await made.stop();
  });
});
