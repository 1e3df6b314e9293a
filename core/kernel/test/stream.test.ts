import { expect } from 'chai';
import type { CallOptions } from '../../sdk/points.js';
import { until } from '../../sdk/testing/until.js';
import { currentPlugin } from '../attribution.js';
import { abortGraceMs } from '../lease.js';
import { type MadeKernel, makeKernel, plugin } from './kernel-fixture.js';

type Source = (signal: AbortSignal) => AsyncIterable<string>;

describe('a leased stream', () => {
  let made: MadeKernel;
  afterEach(() => made.stop());

  async function boot(source: Source, timeouts: { readonly drain?: number } = {}): Promise<void> {
    const tool = {
      summary: 'It.',
      audience: ['mcp'] as const,
      inputSchema: { type: 'object' },
      source,
      run: () => ({}),
    };
    made = makeKernel(
      [
        plugin(
          { key: 'words', contributes: { tool: ['words'] }, timeouts },
          { register: (host) => void host.contribute('tool', 'words', tool) },
        ),
      ],
      ['words'],
    );
    await made.kernel.boot();
  }

  const read = (options?: CallOptions) =>
    made.kernel.points.stream(
      'tool',
      'words',
      (tool, ctx) => (tool as unknown as { source: Source }).source(ctx.signal),
      options,
    );
  const open = () => made.kernel.plugins.record('words')?.run?.leases.inFlight;
  const stats = () => made.kernel.registry.find('tool', 'words')?.stats;
  const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

  async function* words(): AsyncGenerator<string> {
    yield 'one';
    yield 'two';
  }

  it('lasts until the plugin ends it', async () => {
    await boot(words);
    const seen: [string, number | undefined][] = [];
    for await (const word of read()) seen.push([word, open()]);
    expect(seen).to.deep.equal([
      ['one', 1],
      ['two', 1],
    ]);
    expect([open(), stats()?.errors]).to.deep.equal([0, 0]);
  });

  it('is not opened by a reader that never begins', async () => {
    await boot(words);
    read();
    expect(open()).to.equal(0);
  });

  it('is closed when the reader stops, which is not a failure', async () => {
    let closed = false;
    await boot(async function* () {
      try {
        for (;;) yield 'again';
      } finally {
        closed = true;
      }
    });
    for await (const _ of read()) break;
    await until(() => open() === 0);
    expect([closed, stats()?.calls, stats()?.errors]).to.deep.equal([true, 1, 0]);
  });

  it('ends with the error of the plugin, which is a failure', async () => {
    await boot(async function* () {
      yield 'one';
      throw new Error('lost for words');
    });
    const seen: string[] = [];
    const error = await (async () => {
      for await (const word of read()) seen.push(word);
    })().catch(String);
    expect([error, seen, open(), stats()?.errors]).to.deep.equal(['Error: lost for words', ['one'], 0, 1]);
  });

  it('ends when it cannot be opened', async () => {
    await boot(() => {
      throw new Error('not today');
    });
    expect(await read()[Symbol.asyncIterator]().next().catch(String)).to.equal('Error: not today');
    expect([open(), stats()?.errors]).to.deep.equal([0, 1]);
  });

  it('ends for the reader when its caller aborts, and for the plugin when its iterator ends', async () => {
    let resume: () => void = () => undefined;
    await boot(async function* () {
      yield 'one';
      await new Promise<void>((resolve) => (resume = resolve));
      yield 'two';
    });
    const caller = new AbortController();
    const stream = read({ signal: caller.signal })[Symbol.asyncIterator]();
    await stream.next();
    const next = stream.next().catch(codeOf);
    caller.abort();
    expect(await next).to.equal('call_aborted');
    expect(open()).to.equal(1);
    resume();
    await until(() => open() === 0);
  });

  it('does not delay the stop of a plugin while the reader is busy elsewhere', async () => {
    let closed = false;
    await boot(
      async function* () {
        try {
          for (;;) yield 'again';
        } finally {
          closed = true;
        }
      },
      { drain: 1 },
    );
    const stream = read()[Symbol.asyncIterator]();
    await stream.next();
    await made.control.disable('words');
    expect([closed, made.kernel.plugins.record('words')?.lastFault]).to.deep.equal([true, null]);
    expect(await stream.next().catch(codeOf)).to.equal('plugin_stopping');
  });

  it('does not let a plugin that ignores the abort exceed the drain limit', async () => {
    await boot(() => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) }), {
      drain: 100,
    });
    const first = read()[Symbol.asyncIterator]().next().catch(codeOf);
    const from = performance.now();
    await made.control.disable('words');
    expect(performance.now() - from).to.be.lessThan(abortGraceMs);
    expect([await first, made.kernel.plugins.record('words')?.lastFault?.code]).to.deep.equal([
      'plugin_stopping',
      'ignored_abort',
    ]);
  });

  it('reads nothing more from a plugin after an abort', async () => {
    let asked = 0;
    const next = async () => {
      asked += 1;
      return { done: false, value: 'again' } as const;
    };
    await boot(() => ({ [Symbol.asyncIterator]: () => ({ next }) }), { drain: 1 });
    const stream = read()[Symbol.asyncIterator]();
    await stream.next();
    await made.control.disable('words');
    expect(await stream.next().catch(codeOf)).to.equal('plugin_stopping');
    expect(asked).to.equal(1);
  });

  it('attributes every step to the plugin, and the reader to itself', async () => {
    const inside: (string | undefined)[] = [];
    const outside: (string | undefined)[] = [];
    await boot(async function* () {
      inside.push(currentPlugin());
      yield 'one';
      inside.push(currentPlugin());
      await null;
      inside.push(currentPlugin());
      yield 'two';
    });
    for await (const _ of read()) outside.push(currentPlugin());
    expect([inside, outside]).to.deep.equal([
      ['words', 'words', 'words'],
      [undefined, undefined],
    ]);
  });
});
