import { expect } from 'chai';
import { echoPlugin, type MadeKernel, makeKernel } from '../../kernel/test/kernel-fixture.js';

describe('a restart', () => {
  let made: MadeKernel;
  afterEach(() => made.stop());

  it('restarts the plugin and its dependants only', async () => {
    const notes: string[] = [];
    made = makeKernel(
      [
        echoPlugin('base', { notes }),
        echoPlugin('it', { requires: ['base'], notes }),
        echoPlugin('near', { requires: ['it'], notes }),
        echoPlugin('far', { requires: ['near'], notes }),
        echoPlugin('beside', { requires: ['base'], notes }),
      ],
      ['base', 'it', 'near', 'far', 'beside'],
    );
    await made.kernel.boot();
    notes.length = 0;
    await made.control.restart('it');
    expect(notes).to.deep.equal(['stop far', 'stop near', 'stop it', 'start it', 'start near', 'start far']);
  });

  it('passes the reason to each plugin', async () => {
    const reasons: string[] = [];
    const noting = (key: string, requires: readonly string[]) => {
      const made = echoPlugin(key, { requires });
      const definition = made.definition as () => object;
      return {
        ...made,
        definition: () => ({ ...definition(), stop: (reason: string) => void reasons.push(`${key} ${reason}`) }),
      };
    };
    made = makeKernel([noting('it', []), noting('near', ['it'])], ['it', 'near']);
    await made.kernel.boot();
    await made.control.restart('it');
    await made.control.disable('it', { cascade: true });
    await made.control.enable('it');
    await made.kernel.shutdown(Date.now() + 1_000);
    expect(reasons).to.deep.equal(['near dependency', 'it restart', 'near disabled', 'it disabled', 'it shutdown']);
  });
});

describe('a plugin with an old key in plugins.json', () => {
  let made: MadeKernel;
  afterEach(() => made.stop());

  it('is found by its old key, and has one row', async () => {
    made = makeKernel(
      [echoPlugin('new-name'), echoPlugin('needs-old', { requires: ['old-name'] })],
      ['old-name', 'needs-old'],
    );
    await made.want(() => ({ renamed: { 'old-name': 'new-name' } }));
    await made.kernel.boot();
    expect(made.control.list().map((row) => [row.key, row.state])).to.deep.equal([
      ['needs-old', 'active'],
      ['new-name', 'active'],
    ]);
    expect((await made.control.inspect('old-name')).key).to.equal('new-name');
    expect(made.kernel.plugins.dependants('new-name')).to.deep.equal(['needs-old']);
  });

  it('can be disabled and enabled by either key, and keeps its other properties in the file', async () => {
    made = makeKernel([echoPlugin('new-name')], []);
    await made.want(() => ({
      renamed: { 'old-name': 'new-name' },
      plugins: { 'old-name': { enabled: true, required: false } },
    }));
    await made.kernel.boot();
    await made.control.disable('new-name');
    expect(made.state('new-name')).to.equal('disabled');
    expect(made.desired.current.plugins).to.deep.equal({ 'new-name': { enabled: false, required: false } });
    await made.control.enable('old-name');
    expect(made.state('new-name')).to.equal('active');
  });

  it('may be spelled with _ in place of -', async () => {
    made = makeKernel([echoPlugin('web-search'), echoPlugin('x', { requires: ['web_search'] })], ['web_search', 'x']);
    await made.kernel.boot();
    expect([made.state('web-search'), made.state('x')]).to.deep.equal(['active', 'active']);
    await made.control.disable('web_search', { cascade: true });
    expect([made.state('web-search'), made.state('x')]).to.deep.equal(['disabled', 'disabled']);
  });
});

describe('a contested key', () => {
  const contested = (key: string) => {
    const made = echoPlugin('contested');
    const definition = made.definition as () => object;
    return { manifest: { ...made.manifest, key }, definition: () => ({ ...definition(), key }) };
  };

  it('goes to the plugin that it is bound to, while the process runs', async () => {
    const made = makeKernel([contested('one'), contested('two')], ['one', 'two']);
    await made.kernel.boot();
    expect([made.state('one'), made.state('two')]).to.deep.equal(['blocked key_conflict', 'blocked key_conflict']);
    await made.want(() => ({ bindings: { 'tool:contested': 'two' } }));
    expect([made.state('one'), made.state('two')]).to.deep.equal(['blocked key_bound_elsewhere', 'active']);
    await made.want(() => ({ bindings: { 'tool:contested': 'one' } }));
    expect([made.state('one'), made.state('two')]).to.deep.equal(['active', 'blocked key_bound_elsewhere']);
    expect(made.kernel.registry.find('tool', 'contested')?.plugin).to.equal('one');
    await made.stop();
  });

  it('stays with its owner: another claimant is not enabled, and nothing is written', async () => {
    const made = makeKernel([contested('one'), contested('two')], ['one']);
    await made.kernel.boot();
    const { revision } = made.desired.current;
    const planned = await made.control.plan([{ key: 'two', enabled: true }]);
    expect([planned.starts, planned.stops, planned.blocked.map(({ key, code }) => `${key} ${code}`)]).to.deep.equal([
      [],
      [],
      ['two key_conflict'],
    ]);
    const error = await made.control.enable('two').catch((caught: unknown) => caught);
    expect(error).to.include({ code: 'key_conflict', status: 409 });
    expect(error).to.have.deep.property('details', { key: 'two', claim: 'tool:contested', owner: 'one' });
    expect((error as { hint: string }).hint).to.include('"bindings": {"tool:contested": "two"}');
    expect([made.state('one'), made.state('two'), made.desired.current.revision]).to.deep.equal([
      'active',
      'disabled',
      revision,
    ]);
    await made.control.disable('one');
    expect((await made.control.enable('two')).state).to.equal('active');
    await made.stop();
  });

  it('moves to another plugin in one step when the plan disables its owner', async () => {
    const made = makeKernel([contested('one'), contested('two')], ['one']);
    await made.kernel.boot();
    const planned = await made.control.plan([
      { key: 'one', enabled: false },
      { key: 'two', enabled: true },
    ]);
    expect([planned.starts, planned.stops, planned.blocked]).to.deep.equal([['two'], ['one'], []]);
    await made.stop();
  });
});
