import { expect } from 'chai';
import { echoPlugin, type MadeKernel, makeKernel } from '../../kernel/test/kernel-fixture.js';

describe('a required plugin', () => {
  let made: MadeKernel;
  afterEach(() => made.stop());

  async function boot(required: string): Promise<void> {
    const plugins = [echoPlugin('base'), echoPlugin('upper', { requires: ['base'] }), echoPlugin('aside')];
    const keys = plugins.map(({ manifest }) => manifest.key);
    made = makeKernel(plugins, keys);
    await made.want(({ plugins: wanted }) => ({
      plugins: { ...wanted, [required]: { enabled: true, required: true } },
    }));
    await made.kernel.boot();
  }

  const refusal = async (key: string, cascade = false): Promise<Record<string, unknown>> => {
    const before = made.desired.current;
    const error: unknown = await made.control.disable(key, { cascade }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(made.desired.current).to.equal(before);
    for (const one of ['base', 'upper', 'aside']) expect(made.state(one)).to.equal('active');
    return error as Record<string, unknown>;
  };

  it('cannot be disabled, and keeps running', async () => {
    await boot('aside');
    const { since } = made.kernel.plugins.record('aside') ?? {};
    const error = await refusal('aside');
    expect(error).to.include({ code: 'plugin_required', status: 409 });
    expect(error.details).to.deep.equal({ key: 'aside', required: 'aside', dependants: [] });
    expect(error.hint).to.contain('plugins.json');
    expect(await refusal('aside', true)).to.include({ code: 'plugin_required' });
    expect(made.kernel.plugins.record('aside')?.since).to.equal(since);
  });

  it('cannot be disabled through its dependencies either', async () => {
    await boot('upper');
    const refused = await refusal('base');
    expect(refused).to.include({ code: 'plugin_has_dependants' });
    expect(refused.hint, 'no advice that would be refused').not.to.contain('--cascade');
    const error = await refusal('base', true);
    expect([error.code, error.details]).to.deep.equal([
      'plugin_required',
      { key: 'base', required: 'upper', dependants: ['upper'] },
    ]);
  });

  it('is blocked in the plan in the same way', async () => {
    await boot('aside');
    const plan = await made.control.plan([
      { key: 'aside', enabled: false },
      { key: 'upper', enabled: false },
    ]);
    expect([plan.stops, plan.blocked.map(({ key, code }) => [key, code])]).to.deep.equal([
      ['upper'],
      [['aside', 'plugin_required']],
    ]);
  });

  it('can be restarted, and stops when the file disables it', async () => {
    await boot('aside');
    expect((await made.control.restart('aside')).state).to.equal('active');
    await made.want(({ plugins }) => ({ plugins: { ...plugins, aside: { enabled: true } } }));
    expect((await made.control.disable('aside')).state).to.equal('disabled');
    await made.want(({ plugins }) => ({ plugins: { ...plugins, upper: { enabled: false, required: true } } }));
    expect(made.state('upper')).to.equal('disabled');
    expect((await made.control.disable('upper')).desired).to.equal('disabled');
  });
});
