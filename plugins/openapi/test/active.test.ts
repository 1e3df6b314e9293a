import { expect } from 'chai';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

describe('the description of a running server', () => {
  let host: TestHost;

  before(async () => {
    host = await createTestHost({ plugins: ['openapi', 'envs'] });
  });
  after(() => host.stop());

  it('contains the routes of the plugins that are active at the moment', async () => {
    const paths = async () => {
      const response = await host.fetch('/openapi.json');
      return Object.keys(((await response.json()) as { readonly paths: object }).paths);
    };
    expect(await paths()).to.include.members(['/healthz', '/openapi.json', '/envs']);
    await host.control.disable('envs');
    expect(await paths())
      .to.include('/healthz')
      .and.not.include('/envs');
    await host.control.enable('envs');
    expect(await paths()).to.include('/envs');
  });
});
