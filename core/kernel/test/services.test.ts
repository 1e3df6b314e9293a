import { expect } from 'chai';
import type { StartHost } from '../../sdk/plugin.js';
import { until } from '../../sdk/testing/until.js';
import { currentPlugin } from '../attribution.js';
import { wrapService } from '../wrap-members.js';
import { type MadeKernel, makeKernel, plugin } from './kernel-fixture.js';

class Counter {
  #count = 0;
  readonly unit = 'calls';

  get count(): number {
    return this.#count;
  }

  add(by: number): number {
    this.#count += by;
    return this.#count;
  }
}

describe('a service', () => {
  let made: MadeKernel | undefined;
  afterEach(() => made?.stop());

  it('is attributed to its provider, including the timers it starts', async () => {
    const seen: [string, string | undefined][] = [];
    const look = (where: string) => seen.push([where, currentPlugin()]);
    const audit = {
      write: async () => {
        look('in the service');
        setTimeout(() => look('in its timer'), 1);
        await null;
        look('after its await');
      },
    };
    made = makeKernel(
      [
        plugin({ key: 'provider', provides: ['audit'] }, { register: (host) => host.provide('audit', audit as never) }),
        plugin(
          { key: 'user', requires: ['provider'] },
          {
            start: async (host: StartHost) => {
              await (host.use('audit') as unknown as typeof audit).write();
              look('in the user');
            },
          },
        ),
      ],
      ['provider', 'user'],
    );
    await made.kernel.boot();
    await until(() => seen.length === 4);
    expect(seen).to.deep.equal([
      ['in the service', 'provider'],
      ['after its await', 'provider'],
      ['in the user', 'user'],
      ['in its timer', 'provider'],
    ]);
  });

  it('keeps its members, getters and prototype', () => {
    const service = wrapService('it', new Counter()) as Counter;
    expect([service.add(2), service.add(1), service.count, service.unit]).to.deep.equal([2, 3, 3, 'calls']);
    expect(service).to.be.instanceOf(Counter);
  });

  it('attributes the functions of its members to the provider as well, including their timers', async () => {
    class Rows {
      readonly #rows = ['one'];
      whose(): string {
        return `${currentPlugin()} ${this.#rows.length}`;
      }
      later(): Promise<string | undefined> {
        return new Promise((resolve) => setTimeout(() => resolve(currentPlugin()), 1));
      }
    }
    const list = ['data'];
    const made = { rows: new Rows(), plain: { whose: () => currentPlugin() }, list, map: new Map([[1, 2]]) };
    const service = wrapService('it', made) as typeof made;
    expect([service.rows.whose(), service.plain.whose()]).to.deep.equal(['it 1', 'it']);
    expect(await service.rows.later()).to.equal('it');
    expect([service.list, service.map.get(1)]).to.deep.equal([list, 2]);
    expect(service.list).to.equal(list);
  });

  it('may be a frozen object or a function', () => {
    const frozen = wrapService('it', Object.freeze({ whose: () => currentPlugin() })) as { whose(): string };
    const called = wrapService('it', (text: string) => `${currentPlugin()} ${text}`) as (text: string) => string;
    expect([frozen.whose(), called('says')]).to.deep.equal(['it', 'it says']);
  });

  it('cannot be changed by a user for others', () => {
    const service = wrapService('it', new Counter()) as { add: unknown };
    expect(() => {
      service.add = () => 0;
    }).to.throw(TypeError);
  });
});
