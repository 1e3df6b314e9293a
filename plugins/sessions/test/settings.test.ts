import { expect } from 'chai';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

const variable = 'MORTISE_SESSION_CLAIM_TTL_SECONDS';

describe('the TTL of a lease', () => {
  let host: TestHost;

  afterEach(() => host?.stop());

  const start = async (value: string): Promise<void> => {
    host = await createTestHost({ plugins: ['sessions'], env: { [variable]: value }, listen: false });
  };
  const row = () => host.control.list().find(({ key }) => key === 'sessions');

  for (const value of ['0', '-1', '3601', 'soon']) {
    it(`cannot be ${value}: the plugin is blocked and names the variable to fix, and the host runs`, async () => {
      await start(value);
      expect(row()).to.include({ state: 'blocked', code: 'invalid_config' });
      expect(row()?.message).to.include(variable);
    });
  }

  it('is a minute by default', async () => {
    host = await createTestHost({ plugins: ['sessions'], listen: false });
    const { config } = await host.control.inspect('sessions');
    expect(config.find(({ name }) => name === 'sessions.claimTtlSeconds')).to.include({ value: 60, source: 'default' });
  });

  for (const value of ['0.5', '3600']) {
    it(`can be ${value}`, async () => {
      await start(value);
      expect(row()?.state).to.equal('active');
    });
  }
});
