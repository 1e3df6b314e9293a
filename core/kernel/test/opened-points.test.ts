import { expect } from 'chai';
import type { ManifestPoint } from '../../sdk/manifest.js';
import type { Points } from '../../sdk/points.js';
import { type MadeKernel, type MadePlugin, makeKernel, plugin } from './kernel-fixture.js';

/** Points without a type in the platform. */
interface AnyPoints {
  keys(point: string): readonly string[];
  list(point: string): readonly { readonly key: string; readonly facts: object; readonly active: boolean }[];
  call<R>(point: string, key: string, run: (value: Greeter) => R): Promise<R>;
  pipeline(point: string): { readonly stages: readonly { run<R>(use: (value: Greeter) => R): R }[] };
  onChange(point: string, run: () => void): unknown;
}

interface Greeter {
  greet(name: string): string;
  readonly greeting?: string;
}

const greetings: ManifestPoint = {
  summary: 'Greets people.',
  dispatch: 'selected',
  functions: ['greet'],
  factsSchema: { type: 'object', properties: { language: { type: 'string' } } },
  failure: 'no greeting',
};

const owner = (key = 'hall', point: Partial<ManifestPoint> = {}): MadePlugin =>
  plugin({ key, opens: { greeting: { ...greetings, ...point } } });

const greeter = (
  key: string,
  value: object = { language: 'en', greet: (name: string) => `Hello ${name}` },
  manifest: object = {},
): MadePlugin =>
  plugin(
    { key, contributes: { greeting: [key] }, ...manifest },
    { register: (host) => void host.contribute('greeting' as 'tool', key, value as never) },
  );

describe('an extension point that a plugin opens', () => {
  let made: MadeKernel;
  afterEach(() => made.stop());

  const points = (): AnyPoints => made.kernel.points as Points as unknown as AnyPoints;
  const boot = async (plugins: readonly MadePlugin[], enabled?: readonly string[]): Promise<void> => {
    made = makeKernel(plugins, enabled ?? plugins.map((one) => one.manifest.key));
    await made.kernel.boot();
  };

  it('accepts contributions of other plugins, and counts each call as a lease', async () => {
    await boot([greeter('english'), owner()]);
    expect(points().keys('greeting')).to.deep.equal(['english']);
    expect(await points().call('greeting', 'english', (value) => value.greet('Ada'))).to.equal('Hello Ada');
    expect(points().list('greeting')[0]?.facts).to.deep.equal({ language: 'en' });
    const { contributions } = await made.control.inspect('english');
    expect(contributions[0]).to.include({ point: 'greeting', key: 'english', calls: 1 });
  });

  it('checks functions, data and keys of a contribution by its declaration', async () => {
    await boot([
      owner('hall', { reserved: ['nobody'] }),
      greeter('mute', { language: 'en' }),
      greeter('odd', { language: 7, greet: () => '' }),
      greeter('nobody'),
    ]);
    expect(made.state('mute')).to.equal('failed contribution_invalid');
    expect(made.state('odd')).to.equal('failed contribution_invalid');
    expect(made.state('nobody')).to.equal('blocked contribution_key');
  });

  it('may be synchronous, with the keys of any plugin private to it', async () => {
    await boot([owner('hall', { dispatch: 'synchronous', privateKeys: true }), greeter('a'), greeter('b')]);
    const [first] = points().pipeline('greeting').stages;
    expect(first?.run((value) => value.greet('Ada'))).to.equal('Hello Ada');
  });

  it('is a key conflict of two plugins until one of them is bound', async () => {
    const hint = { optional: ['hall', 'lobby'] };
    await boot([owner('hall'), owner('lobby'), greeter('english', undefined, hint)]);
    expect([made.state('hall'), made.state('lobby')]).to.deep.equal(['blocked key_conflict', 'blocked key_conflict']);
    expect(points().keys('greeting')).to.deep.equal([]);
    await made.want(() => ({ bindings: { 'point:greeting': 'lobby' } }));
    expect([made.state('hall'), made.state('lobby')]).to.deep.equal(['blocked key_bound_elsewhere', 'active']);
    expect(points().keys('greeting')).to.deep.equal(['english']);
  });

  it('blocks a plugin that opens a point of the platform, or one whose data schema cannot be used', async () => {
    await boot([
      plugin({ key: 'greedy', opens: { tool: greetings } }),
      plugin({ key: 'broken', opens: { greeting: { ...greetings, factsSchema: { type: 'nothing' } } } }),
      greeter('english', undefined, { optional: ['broken'] }),
    ]);
    expect(made.state('english')).to.equal('blocked point_unknown');
    expect([made.state('greedy'), made.state('broken')]).to.deep.equal([
      'blocked point_reserved',
      'blocked point_schema',
    ]);
  });

  it('is unknown if no installed plugin opens it, even if its owner is optional', async () => {
    await boot([greeter('english', undefined, { optional: ['hall'] })]);
    expect(made.state('english')).to.equal('blocked point_unknown');
    expect(points().keys('greeting')).to.deep.equal([]);
    expect(() => points().pipeline('greeting').stages).not.to.throw();
  });

  it('blocks its contributors while its owner is disabled, and names the owner', async () => {
    await boot([owner(), greeter('english')], ['english']);
    expect(made.state('english')).to.equal('blocked point_unknown');
    expect(made.kernel.plugins.record('english')?.problem?.hint).to.match(/^mortise plugin enable hall;/);
    await made.control.enable('hall');
    expect(made.state('english')).to.equal('active');
    await made.control.disable('hall');
    expect(made.state('english')).to.equal('blocked point_unknown');
  });

  it('reports a required owner as a dependency', async () => {
    await boot([owner(), greeter('english', undefined, { requires: ['hall'] })], ['english']);
    expect(made.state('english')).to.equal('blocked dependency_disabled');
  });

  it('hides contributions with an optional owner while it is closed, which plan and doctor report', async () => {
    await boot([owner(), greeter('english', undefined, { optional: ['hall'] })]);
    const { since } = made.kernel.plugins.record('english') ?? {};
    const seen: (readonly string[])[] = [];
    points().onChange('greeting', () => seen.push(points().keys('greeting')));
    const inert = [{ key: 'english', point: 'greeting', owner: 'hall' }];
    expect(await made.control.plan([{ key: 'hall', enabled: false }])).to.deep.include({
      stops: ['hall'],
      blocked: [],
      inert,
    });

    await made.control.disable('hall');
    expect(points().keys('greeting')).to.deep.equal([]);
    const call = points().call('greeting', 'english', (value) => value.greet('Ada'));
    expect(await call.catch((error: { code: string }) => error.code)).to.equal('contribution_unknown');
    expect((await made.control.doctor('english')).map(({ code }) => code)).to.deep.equal(['contribution_inert']);

    await made.control.enable('hall');
    expect(points().keys('greeting')).to.deep.equal(['english']);
    expect(await made.control.doctor('english')).to.deep.equal([]);
    expect(seen).to.deep.equal([[], ['english']]);
    expect(made.kernel.plugins.record('english'), 'it was never stopped').to.include({ state: 'active', since });
  });

  it('restarts its contributors when another plugin opens it with another declaration', async () => {
    const other = { functions: ['greet', 'wave'] };
    await boot(
      [owner(), owner('lobby', other), greeter('english', undefined, { optional: ['hall'] })],
      ['hall', 'english'],
    );
    expect(made.state('english')).to.equal('active');
    await made.want(({ plugins }) => ({ plugins: { ...plugins, hall: { enabled: false }, lobby: { enabled: true } } }));
    expect(made.state('english')).to.equal('failed contribution_invalid');
  });

  it('keeps its declaration while the manifest does not change', async () => {
    await boot([owner(), greeter('english', undefined, { optional: ['hall'] })]);
    const before = made.kernel.registry.declaration('greeting');
    await made.kernel.serial(() => made.kernel.reconcile());
    expect(made.kernel.registry.declaration('greeting')).to.equal(before);
  });
});
